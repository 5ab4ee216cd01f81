package link

import (
	"context"
	"errors"
	"regexp"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/weir-lb/weir/api/engine/enrollment"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/membership"
	"github.com/weir-lb/weir/controller/pki"
)

// engineName matches a host name, or another name that an operator chooses.
var engineName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$`)

// Join gives an identity for a token. It checks the request first: a malformed request changes nothing. Then it uses
// the token up before anything else happens, so that nobody can try the token twice.
func (s *Server) Join(ctx context.Context, request *enginev1.JoinRequest) (*enginev1.JoinResponse, error) {
	defer work(ctx)()
	if !engineName.MatchString(request.GetName()) {
		return nil, status.Errorf(codes.InvalidArgument,
			"name %q: want a host name of 1 to 128 letters, digits, dots and dashes", request.GetName())
	}
	if _, err := pki.CheckRequest(request.GetCsrDer()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if err := s.tokens.Redeem(ctx, request.GetToken()); err != nil {
		return nil, status.Error(redeemCode(err), err.Error())
	}
	joined, err := s.members.Join(ctx, request.GetName())
	if joined.Replaces && s.events != nil {
		s.events.Add(events.Engine{UUID: joined.Engine, Name: request.GetName()}.Replaced(err))
	}
	if err != nil { // the client cannot try again: the token is used up
		return nil, status.Errorf(registerCode(err),
			"%v; the token is used up: solve the problem, then join with a new token", err)
	}
	certificate, err := s.authority.IssueEngine(request.GetCsrDer(), joined.Engine, joined.Join, time.Now())
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	s.log.Info("engine joined", "engine", joined.Engine, "name", request.GetName())
	return &enginev1.JoinResponse{
		EngineUuid:     joined.Engine,
		CertificateDer: certificate,
		CaDer:          [][]byte{s.authority.CertificateDER()},
	}, nil
}

// Renew gives a new certificate to the engine that calls it.
func (s *Server) Renew(ctx context.Context, request *enginev1.RenewRequest) (*enginev1.RenewResponse, error) {
	uuid, join, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	certificate, err := s.authority.IssueEngine(request.GetCsrDer(), uuid, join, time.Now())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	s.log.Info("engine certificate renewed", "engine", uuid)
	return &enginev1.RenewResponse{CertificateDer: certificate, CaDer: [][]byte{s.authority.CertificateDER()}}, nil
}

// caller returns the engine that the client's certificate names, and the Join that the certificate comes from.
func (s *Server) caller(ctx context.Context) (uuid, join string, err error) {
	from, _ := peer.FromContext(ctx)
	info, _ := from.AuthInfo.(credentials.TLSInfo)
	if len(info.State.VerifiedChains) == 0 {
		return "", "", status.Error(codes.Unauthenticated, "no engine certificate: join first, with a token")
	}
	subject := info.State.VerifiedChains[0][0].Subject
	if err := s.members.Check(subject.CommonName, subject.SerialNumber); err != nil {
		return "", "", status.Error(codes.PermissionDenied, err.Error())
	}
	return subject.CommonName, subject.SerialNumber, nil
}

func registerCode(err error) codes.Code {
	if errors.Is(err, membership.ErrNameTaken) {
		return codes.AlreadyExists
	}
	return codes.FailedPrecondition
}

func redeemCode(err error) codes.Code {
	if errors.Is(err, enrollment.ErrTokenFormat) || errors.Is(err, pki.ErrTokenRefused) {
		return codes.Unauthenticated
	}
	return codes.Unavailable
}
