package monitor

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/tests/accept"
)

// grpcServer is a server of gRPC, with a health service unless the server is bare.
func grpcServer(t *testing.T, states *health.Server, options ...grpc.ServerOption) net.Addr {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	if states != nil {
		healthv1.RegisterHealthServer(server, states)
	}
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return listener.Addr()
}

// lentCertificate is a certificate that nobody trusts.
func lentCertificate(t *testing.T) grpc.ServerOption {
	lender := httptest.NewUnstartedServer(nil)
	lender.StartTLS()
	t.Cleanup(lender.Close)
	return grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: lender.TLS.Certificates}))
}

func TestGRPCMonitorAsksForTheStateOfAService(t *testing.T) {
	states := health.NewServer()
	states.SetServingStatus("shop", healthv1.HealthCheckResponse_SERVING)
	states.SetServingStatus("stock", healthv1.HealthCheckResponse_NOT_SERVING)
	for secure, at := range map[bool]net.Addr{
		false: grpcServer(t, states),
		true:  grpcServer(t, states, lentCertificate(t)),
	} {
		for service, reason := range map[string]string{
			"":      "",
			"shop":  "",
			"stock": `the service "stock" is NOT_SERVING`,
			"other": `it does not know the service "other"`,
		} {
			monitor := &plan.Monitor{Type: plan.GRPC, GRPC: plan.GRPCCheck{Service: service, TLS: secure}}
			outcome := Probe(t.Context(), targetAt(at, monitor))
			if outcome.Up != (reason == "") || outcome.Reason != reason {
				t.Errorf("TLS %v, %q: %+v, want %q", secure, service, outcome, reason)
			}
		}
	}
}

func TestGRPCMonitorSpeaksTLSIfTold(t *testing.T) {
	at := grpcServer(t, health.NewServer(), lentCertificate(t))
	for _, secure := range []bool{false, true} {
		monitor := &plan.Monitor{Type: plan.GRPC, Timeout: 2 * time.Second, GRPC: plan.GRPCCheck{TLS: secure}}
		if outcome := Probe(t.Context(), targetAt(at, monitor)); outcome.Up != secure {
			t.Errorf("TLS %v: %+v", secure, outcome)
		}
	}
}

// talker is a health service that fails with a long text.
type talker struct {
	healthv1.UnimplementedHealthServer
}

func (talker) Check(context.Context, *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	return nil, status.Error(codes.Internal, "the database is gone\n"+strings.Repeat("at frame\n", 1_000))
}

func TestReasonOfAGRPCMonitorIsOneShortLineWhateverTheServerSays(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	healthv1.RegisterHealthServer(server, talker{})
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	outcome := Probe(t.Context(), targetAt(listener.Addr(), &plan.Monitor{Type: plan.GRPC}))
	if outcome.Up || outcome.Reason != "Internal: the database is gone" {
		t.Errorf("%.300q", outcome.Reason)
	}
}

func TestGRPCMonitorTellsWhatAServerIsInstead(t *testing.T) {
	for secure, bare := range map[bool]net.Addr{
		false: grpcServer(t, nil),
		true:  grpcServer(t, nil, lentCertificate(t)),
	} {
		monitor := &plan.Monitor{Type: plan.GRPC, GRPC: plan.GRPCCheck{TLS: secure}}
		if outcome := Probe(t.Context(), targetAt(bare, monitor)); outcome.Up ||
			outcome.Reason != "it has no health service (grpc.health.v1)" {
			t.Errorf("TLS %v: %+v", secure, outcome)
		}
	}
	web := accept.Each(t, says("HTTP/1.1 200 OK\r\n\r\n"))
	monitor := &plan.Monitor{Type: plan.GRPC, Timeout: 500 * time.Millisecond}
	if outcome := Probe(t.Context(), targetAt(web, monitor)); outcome.Up || outcome.Reason == "" {
		t.Errorf("%+v", outcome)
	}
	mute := accept.Each(t, func(connection *net.TCPConn) { connection.Read(make([]byte, 1)); <-t.Context().Done() })
	if outcome := Probe(t.Context(), targetAt(mute, monitor)); outcome.Up ||
		outcome.Reason != "no answer within 500 ms" {
		t.Errorf("%+v", outcome)
	}
}
