package e2e

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/tests/accept"
)

// callHealth makes a call of gRPC to the virtual service "web".
func (s *stage) callHealth(timeout time.Duration) error {
	s.Helper()
	conn, err := grpc.NewClient(fmt.Sprintf("passthrough:///%s:%d", vip, plainPort),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
	s.must(err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	_, err = healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
	return err
}

func TestClientOfGRPCGetsAStatusWhereOthersGetAPage(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go accept.On(gone, func(*net.TCPConn) {})
	s := setUp(t, gone.Addr().String())
	speakHTTP2(s)
	s.must(gone.Close())
	err = s.callHealth(eventTimeout)
	if status.Code(err) != codes.Unavailable || status.Convert(err).Message() != "server_refused" {
		t.Errorf("no server: %v", err)
	}
	mute := accept.Each(t, func(conn *net.TCPConn) { <-s.ctx.Done() }).String()
	s.change("pool", "web", func(o client.Object) {
		o["servers"], o["server_timeout"] = serverList([]string{mute}), 1000
	})
	s.eventually("the server's timeout is a deadline", func() error {
		err := s.callHealth(eventTimeout)
		if status.Code(err) != codes.DeadlineExceeded || status.Convert(err).Message() != "server_response_timeout" {
			return err
		}
		return nil
	})
}

func TestHealthMonitorOfGRPCFollowsAServersHealthService(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	states, server := health.NewServer(), grpc.NewServer()
	states.SetServingStatus("shop", healthv1.HealthCheckResponse_SERVING)
	healthv1.RegisterHealthServer(server, states)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	s := setUp(t, listener.Addr().String())
	s.create("healthmonitor", client.Object{"name": "shop", "type": "HEALTH_MONITOR_WEIR_GRPC", "send_interval": 1,
		"receive_timeout": 1, "weir_grpc_monitor": map[string]any{"service": "shop"}})
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
