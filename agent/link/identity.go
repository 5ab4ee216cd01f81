package link

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-lb/weir/agent/state"
	"github.com/weir-lb/weir/api/engine/enrollment"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// RefusedError says that joining cannot succeed by trying again.
type RefusedError struct {
	Controller string
	Reason     string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("controller %s does not let this engine join: %s", e.Controller, e.Reason)
}

// join trades the token for an identity. After an error that is not a RefusedError, it is worth trying again.
func join(ctx context.Context, address string, token enrollment.Token, name string, now func() time.Time) (
	*state.Identity, error) {
	connection, err := dial(ctx, address, joinTLS(token.Fingerprint, now))
	if err != nil {
		if errors.Is(err, errStranger) {
			return nil, &RefusedError{address, errStranger.Error()}
		}
		return nil, err
	}
	defer connection.Close()
	key, csr, err := request(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := enginev1.NewEnrollmentClient(connection).Join(ctx, &enginev1.JoinRequest{
		Token: token.String(), CsrDer: csr, Name: name,
	})
	switch status.Code(err) {
	case codes.OK:
		return accept(answer.GetEngineUuid(), key, answer.GetCertificateDer(), answer.GetCaDer())
	case codes.Unauthenticated, codes.InvalidArgument, codes.PermissionDenied, codes.AlreadyExists,
		codes.FailedPrecondition:
		return nil, &RefusedError{address, status.Convert(err).Message()}
	default:
		return nil, plain(err)
	}
}

// renew gets a new certificate, for a new key, on a connection of the old one.
func renew(ctx context.Context, connection grpc.ClientConnInterface, old *state.Identity) (*state.Identity, error) {
	key, csr, err := request(old.EngineUUID)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := enginev1.NewFleetClient(connection).Renew(ctx, &enginev1.RenewRequest{CsrDer: csr})
	if err != nil {
		return nil, plain(err)
	}
	return accept(old.EngineUUID, key, answer.GetCertificateDer(), answer.GetCaDer())
}

// renewal is when a new certificate is due: early enough that renewal can fail for a third of the certificate's life.
func renewal(certificate *x509.Certificate) time.Time {
	life := certificate.NotAfter.Sub(certificate.NotBefore)
	return certificate.NotAfter.Add(-life / 3)
}

func request(name string) (crypto.Signer, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating the engine's key: %w", err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}
	csr, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		return nil, nil, fmt.Errorf("requesting a certificate: %w", err)
	}
	return key, csr, nil
}

// accept checks that what the controller sent is of use before anything is replaced by it.
func accept(engine string, key crypto.Signer, certificateDER []byte, authoritiesDER [][]byte) (*state.Identity, error) {
	certificate, err := x509.ParseCertificate(certificateDER)
	if err != nil {
		return nil, fmt.Errorf("the controller sent a bad certificate: %w", err)
	}
	if public, ok := key.Public().(*ecdsa.PublicKey); !ok || !public.Equal(certificate.PublicKey) {
		return nil, errors.New("the controller sent a certificate for another key")
	}
	identity := &state.Identity{EngineUUID: engine, Key: key, Certificate: certificate}
	for _, der := range authoritiesDER {
		authority, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("the controller sent a bad CA certificate: %w", err)
		}
		identity.Authorities = append(identity.Authorities, authority)
	}
	if len(identity.Authorities) == 0 {
		return nil, errors.New("the controller sent no CA certificate")
	}
	return identity, nil
}
