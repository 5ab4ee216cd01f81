// Package link holds the stream with the agent of each engine. Plans go to the agent and Reports come back, over mutual
// TLS.
//
// session.go is the protocol, and pure; conversation.go connects it with a stream; desk.go is what stays about an
// engine between sessions; server.go is the socket; newcomers.go separates connections without an engine's certificate,
// and enrollment.go issues certificates. An engine that is slow or gone never delays another one.
package link

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/intake"
	"github.com/weir-lb/weir/controller/membership"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/port"
)

const (
	// directivesMax is the most directives of a session that are unsent: a Welcome and one Plan.
	directivesMax = 2
	// reportBytesMax fits the samples of some thousand virtual services.
	reportBytesMax = 16 << 20
	// callsMax is the most calls at a time on one connection: a Session, a Renew, and one of each that is ending.
	// Telemetry has a connection of its own.
	callsMax         = 4
	headerBytesMax   = 16 << 10
	handshakeTimeout = 10 * time.Second
	// Keepalive closes a connection later than missed heartbeats end its session. So a session that ends because its
	// agent is cut off or hangs has another reason than one whose connection was closed.
	keepaliveInterval = 5 * time.Second
	keepaliveTimeout  = heartbeatsMissed * HeartbeatInterval
)

// A connection is unknown until its TLS handshake is complete. Then it is a connection of an engine or of a newcomer.
// Each class has its own places, so no class can take the places of another. If the places of unknown connections or
// newcomers are full, the controller closes a waiting connection for each new one: first of an address above its share,
// then the one that has waited longest. It closes no connection of an engine: if these places are full, it closes the
// new connection, and the engine dials again.
var (
	unknownBounds   = port.Bounds{Places: 512, Share: 64}
	newcomersBounds = port.Bounds{Places: 256, Share: 32}
	enginesBounds   = port.Bounds{Places: 4096, Share: 4096}
)

// Each class may use at most this part (1/n) of the file descriptors of this process.
const (
	strangersPart = 8
	enginesPart   = 2
)

var errSuperseded = errors.New("another session of this engine has begun")

// Members are the engines that have joined.
type Members interface {
	// Join registers an engine. No connected engine may have the name.
	Join(ctx context.Context, name string) (membership.Joined, error)
	// Check returns an error if an engine may not connect with a certificate of a Join.
	Check(uuid, join string) error
	// Exists returns false after an operator has deleted the engine. Its certificate is worthless then.
	Exists(uuid string) bool
}

// Engines receives the reports of agents. The calls for one engine do not overlap. No call may block.
type Engines interface {
	// Connected returns the number of the greeting, for Publish.
	Connected(uuid string, hello *enginev1.Hello) uint64
	Reported(uuid string, report *enginev1.Report)
	Applied(uuid string, plan *enginev1.Plan, warnings []*dataplanev1.Finding)
	Refused(uuid string, plan *enginev1.Plan, errors []*dataplanev1.Finding)
	// Missed is called before Disconnected if this number of heartbeats in a row did not arrive.
	Missed(uuid string, heartbeats int)
	Disconnected(uuid string, reason string)
}

// Server is the controller's end of the link.
type Server struct {
	enginev1.UnimplementedEnrollmentServer
	enginev1.UnimplementedFleetServer

	authority *pki.Authority
	tokens    *pki.Tokens
	members   Members
	engines   Engines
	events    *events.Log
	log       *slog.Logger

	intake *intake.Intake // takes records of requests; nil: nobody does

	mu      sync.Mutex
	desks   map[string]*desk                    // by engine uuid; at most one for each engine
	streams map[string]*context.CancelCauseFunc // of records, by engine uuid
}

// NewServer returns a link that does nothing until Serve is called. events may be nil.
func NewServer(authority *pki.Authority, tokens *pki.Tokens, members Members, engines Engines, events *events.Log,
	log *slog.Logger) *Server {
	return &Server{
		authority: authority, tokens: tokens, members: members, engines: engines, events: events, log: log,
		desks: map[string]*desk{}, streams: map[string]*context.CancelCauseFunc{},
	}
}

// Serve answers agents on listener until ctx ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	certificate, err := s.authority.ServerCertificate(time.Now())
	if err != nil {
		return err
	}
	secure := credentials.NewTLS(&tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{certificate},
		ClientCAs:    s.authority.Pool(),
		ClientAuth:   tls.VerifyClientCertIfGiven, // Join comes without a certificate; all other calls require one
	})
	name := "engine port " + listener.Addr().String()
	unknown := port.NewRoom(name+", TLS handshakes", unknownBounds.Within(strangersPart), s.events)
	engines := port.NewRoom(name+", engines", enginesBounds.Within(enginesPart), s.events)
	newcomers := newNewcomers(listener.Addr(), port.NewRoom(name+", newcomers",
		newcomersBounds.Within(strangersPart), s.events))
	serving, ctx := errgroup.WithContext(ctx)
	serving.Go(func() error {
		return s.answer(ctx, newcomers, append(limits(joinBytesMax, 1), grpc.Creds(inside{secure})))
	})
	serving.Go(func() error {
		options := append(limits(reportBytesMax, callsMax), grpc.Creds(door{secure, engines, newcomers}))
		return s.answer(ctx, port.Listen(listener, unknown), options)
	})
	if err := serving.Wait(); err != nil {
		return fmt.Errorf("engine link on %s: %w", listener.Addr(), err)
	}
	return nil
}

func (s *Server) answer(ctx context.Context, listener net.Listener, options []grpc.ServerOption) error {
	server := grpc.NewServer(options...)
	enginev1.RegisterEnrollmentServer(server, s)
	enginev1.RegisterFleetServer(server, s)
	// A graceful stop would not end: sessions never end by themselves. Agents dial again.
	defer context.AfterFunc(ctx, server.Stop)()
	if err := server.Serve(listener); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// limits bounds what one connection may cost.
func limits(messageBytes int, calls uint32) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(messageBytes),
		grpc.MaxConcurrentStreams(calls),
		grpc.MaxHeaderListSize(headerBytesMax),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	}
}

// Publish sets the Plan of each engine. known is the last greeting that the decision knew of. An engine that connected
// later gets no Plan from it: that engine may be the last one that serves a virtual service, which the Plan would take
// from it. Publish also ends the sessions of deleted engines.
func (s *Server) Publish(plans map[string]*enginev1.Plan, known uint64) {
	for uuid, plan := range plans {
		s.retarget(uuid, plan, known)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for uuid, desk := range s.desks {
		// An engine that joined after these Plans were made exists already. It gets its Plan next time.
		if _, planned := plans[uuid]; !planned && !s.members.Exists(uuid) {
			desk.end(membership.ErrDeleted)
			delete(s.desks, uuid)
		}
	}
}

func (s *Server) retarget(uuid string, plan *enginev1.Plan, known uint64) {
	s.mu.Lock()
	desk := s.desk(uuid)
	s.mu.Unlock()
	desk.retarget(plan, known)
}

// Ask sends a question about a request to an engine, whose answer is a report. false: the engine has no session, or too
// many questions wait.
func (s *Server) Ask(uuid string, question *dataplanev1.Question) bool {
	s.mu.Lock()
	desk := s.desks[uuid]
	s.mu.Unlock()
	return desk != nil && desk.ask(question)
}

// Share sends an engine its shares of the rates of hot keys. false: the engine has no session, or has not taken the
// last ones.
func (s *Server) Share(uuid string, shares *dataplanev1.KeyShares) bool {
	s.mu.Lock()
	desk := s.desks[uuid]
	s.mu.Unlock()
	return desk != nil && desk.share(shares)
}

// desk returns the desk of an engine. The caller holds the lock.
func (s *Server) desk(uuid string) *desk {
	if s.desks[uuid] == nil {
		s.desks[uuid] = &desk{}
	}
	return s.desks[uuid]
}

// enter begins a visit, or returns membership.ErrDeleted. It holds the lock from the look at the engine on: if the
// engine is deleted later, Publish finds the desk and ends the visit.
func (s *Server) enter(uuid string) (*desk, *visit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.members.Exists(uuid) {
		return nil, nil, membership.ErrDeleted
	}
	desk := s.desk(uuid)
	return desk, desk.enter(), nil
}

// Session serves one agent until either side ends the stream.
func (s *Server) Session(stream grpc.BidiStreamingServer[enginev1.Report, enginev1.Directive]) error {
	uuid, _, err := s.caller(stream.Context())
	if err != nil {
		return err
	}
	desk, visit, err := s.enter(uuid)
	if err != nil {
		return statusOf(err)
	}
	conversation := &conversation{server: s, engine: uuid, desk: desk, visit: visit}
	err = conversation.run(stream)
	if desk.leave(visit, func() { s.part(uuid, err) }) {
		s.log.Info("engine disconnected", "engine", uuid, "reason", reasonOf(err))
	}
	return statusOf(err)
}

// part reports that a session has ended, and why.
func (s *Server) part(uuid string, err error) {
	if errors.Is(err, errOverdue) {
		s.engines.Missed(uuid, heartbeatsMissed)
	}
	s.engines.Disconnected(uuid, reasonOf(err))
}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "agent closed the session"
	case status.Code(err) == codes.Canceled || errors.Is(err, context.Canceled):
		return "connection to the agent lost"
	default:
		return err.Error()
	}
}

func statusOf(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, errOverdue):
		return status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, errSuperseded):
		return status.Error(codes.Aborted, err.Error())
	case errors.Is(err, membership.ErrDeleted):
		return status.Error(codes.PermissionDenied, err.Error())
	case errors.Is(err, ErrProtocol):
		return status.Error(codes.InvalidArgument, err.Error())
	default:
		return err
	}
}
