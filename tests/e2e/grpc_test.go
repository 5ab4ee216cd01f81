package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/tests/accept"
)

// dialPlain prepares a client of gRPC for the plain port of the virtual service "web".
func (s *stage) dialPlain() *grpc.ClientConn {
	s.Helper()
	conn, err := grpc.NewClient("passthrough:///"+plainAddress,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	s.must(err)
	s.Cleanup(func() { _ = conn.Close() })
	return conn
}

// callHealth makes a call of gRPC to the virtual service "web".
func (s *stage) callHealth(timeout time.Duration) error {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	_, err := healthv1.NewHealthClient(s.dialPlain()).Check(ctx, &healthv1.HealthCheckRequest{})
	return err
}

// isStatus is nil if a call has ended with this status, whose message is the name of the cause.
func isStatus(err error, code codes.Code, cause string) error {
	if status.Code(err) != code || status.Convert(err).Message() != cause {
		return fmt.Errorf("the call ended with %w, not with %s %s", err, code, cause)
	}
	return nil
}

// onCalls has each call of a server of gRPC handled like this.
func onCalls(handle func(grpc.ServerStream) error) grpc.ServerOption {
	return grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error { return handle(stream) })
}

func TestClientOfGRPCGetsAStatusWhereOthersGetAPage(t *testing.T) {
	gone, err := net.Listen("tcp", accept.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	go accept.On(gone, func(conn *net.TCPConn) {
		_, _ = conn.Read(make([]byte, 1))
		_ = conn.CloseWrite() // and read the rest: what is not read makes an orderly end a reset
		_, _ = io.Copy(io.Discard, conn)
	})
	s := setUp(t, gone.Addr().String())
	speakHTTP2(s)
	if err := isStatus(s.callHealth(eventTimeout), codes.Unimplemented, "no_http2"); err != nil {
		t.Errorf("the pool speaks HTTP/1.1: %v", err)
	}
	s.changeApplied("web", "pool", "web", func(o client.Object) { o["enable_http2"] = true })
	if err := isStatus(s.callHealth(eventTimeout), codes.Unavailable, "server_closed"); err != nil {
		t.Errorf("the server closes what it is asked on: %v", err)
	}
	s.must(gone.Close())
	if err := isStatus(s.callHealth(eventTimeout), codes.Unavailable, "server_refused"); err != nil {
		t.Errorf("no server: %v", err)
	}
	mute := serveCalls(t, func(*grpc.Server) {}, onCalls(func(stream grpc.ServerStream) error {
		<-stream.Context().Done()
		return nil
	}))
	s.changeApplied("web", "pool", "web", func(o client.Object) {
		o["servers"], o["server_timeout"] = serverList([]string{mute}), 1000
	})
	s.eventually("the server's timeout is a deadline", func() error { // the server may not be checked yet
		return isStatus(s.callHealth(eventTimeout), codes.DeadlineExceeded, "server_response_timeout")
	})
}

// cutServer speaks gRPC by hand: it answers with one message, and then does what the path says.
func cutServer(t *testing.T) (address string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		content := "\x00\x00\x00\x00\x00"
		if r.URL.Path == "/cut/within" {
			content += "\x00\x00\x00\x00\x09abc"
		}
		_, _ = io.WriteString(w, content)
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/cut/never" {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// callMethod makes a call, expects one message, and returns how the call ends.
func (s *stage) callMethod(method string) error {
	s.Helper()
	both := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	stream, err := s.dialPlain().NewStream(s.ctx, both, method)
	s.must(err)
	if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
		return fmt.Errorf("no message has come: %w", err)
	}
	return stream.RecvMsg(&emptypb.Empty{})
}

func TestCallThatFailsAmidItsAnswerTellsItsClientWhy(t *testing.T) {
	s := setUp(t, cutServer(t))
	s.passCallsOn(false)
	s.changeApplied("web", "pool", "web", func(o client.Object) { o["server_timeout"] = 1000 })
	for method, want := range map[string]struct {
		code  codes.Code
		cause string
	}{
		"/cut/between": {codes.Internal, "server_reset"},
		"/cut/never":   {codes.DeadlineExceeded, "server_response_timeout"},
	} {
		if err := isStatus(s.callMethod(method), want.code, want.cause); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
	// No trailers, which would hide that half of a message is missing.
	if err := s.callMethod("/cut/within"); status.Code(err) != codes.Internal {
		t.Errorf("within a message: %v", err)
	}
}

func TestCancelledCallIsCancelledAtItsServer(t *testing.T) {
	left := make(chan error, 1)
	s := setUp(t, serveCalls(t, func(*grpc.Server) {}, onCalls(func(stream grpc.ServerStream) error {
		if err := stream.SendMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		<-stream.Context().Done()
		left <- stream.Context().Err()
		return nil
	})))
	s.passCallsOn(false)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	conn := s.dialPlain()
	s.eventually("the server has answered", func() error {
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/a.B/C")
		s.must(err)
		return stream.RecvMsg(&emptypb.Empty{})
	})
	cancel()
	select {
	case err := <-left:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the server's call has ended with %v", err)
		}
	case <-time.After(eventTimeout):
		t.Error("the server has not learnt that the call is cancelled")
	}
	s.eventually("the call has no place any more", func() error {
		counters, _ := s.runtime("virtualservice", "web")["counters"].(map[string]any)
		if failed := fmt.Sprint(counters["errors_client_aborted"]); failed != "1" {
			return fmt.Errorf("%s calls are counted as aborted", failed)
		}
		return nil
	})
}

func TestHealthMonitorOfGRPCFollowsAServersHealthService(t *testing.T) {
	states := health.NewServer()
	states.SetServingStatus("shop", healthv1.HealthCheckResponse_SERVING)
	s := setUp(t, serveCalls(t, func(server *grpc.Server) { healthv1.RegisterHealthServer(server, states) },
		lentCertificate(t)))
	s.create("healthmonitor", client.Object{"name": "shop", "type": "HEALTH_MONITOR_WEIR_GRPC", "send_interval": 1,
		"receive_timeout": 1, "weir_grpc_monitor": map[string]any{"service": "shop", "tls": true}})
	s.change("pool", "web", func(o client.Object) {
		o["health_monitor_refs"] = []any{client.Ref("healthmonitor", "shop")}
	})
	awaitState := func(state string) {
		t.Helper()
		s.eventually("the pool is "+state, func() error {
			if got := fmt.Sprint(s.runtime("pool", "web")["oper_status"]); !strings.Contains(got, state) {
				return fmt.Errorf("it is %s", got)
			}
			return nil
		})
	}
	awaitState("OPER_UP")
	states.SetServingStatus("shop", healthv1.HealthCheckResponse_NOT_SERVING)
	awaitState("OPER_DOWN")
	states.SetServingStatus("shop", healthv1.HealthCheckResponse_SERVING)
	awaitState("OPER_UP")
}
