package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	interopv1 "google.golang.org/grpc/interop/grpc_testing"

	"github.com/weir-lb/weir/client"
)

// interopTarget names the address that this program calls instead of running tests, and how: "h2" over TLS, or "h2c".
const interopTarget = "WEIR_TEST_INTEROP_TARGET"

// soakCalls is how many calls each of the two soak cases makes.
const soakCalls = 10

// interopCase is a case of grpc-go's own interop client, as that program names it.
type interopCase struct {
	name string
	run  func(context.Context, interopv1.TestServiceClient, *grpc.ClientConn)
}

// usual is a case that needs only the client of the test service.
func usual(name string, run func(context.Context, interopv1.TestServiceClient, ...grpc.CallOption)) interopCase {
	return interopCase{name,
		func(ctx context.Context, client interopv1.TestServiceClient, _ *grpc.ClientConn) { run(ctx, client) }}
}

// interopCases are all cases but those that need credentials of a cloud, a resolver with several servers, or a client
// with a balancer of its own (ORCA).
func interopCases(open func() *grpc.ClientConn) []interopCase {
	return []interopCase{
		usual("empty_unary", interop.DoEmptyUnaryCall),
		usual("large_unary", interop.DoLargeUnaryCall),
		usual("client_streaming", interop.DoClientStreaming),
		usual("server_streaming", interop.DoServerStreaming),
		usual("ping_pong", interop.DoPingPong),
		usual("empty_stream", interop.DoEmptyStream),
		usual("timeout_on_sleeping_server", interop.DoTimeoutOnSleepingServer),
		usual("cancel_after_begin", interop.DoCancelAfterBegin),
		usual("cancel_after_first_response", interop.DoCancelAfterFirstResponse),
		usual("status_code_and_message", interop.DoStatusCodeAndMessage),
		usual("special_status_message", interop.DoSpecialStatusMessage),
		usual("custom_metadata", interop.DoCustomMetadata),
		{"unimplemented_method", func(ctx context.Context, _ interopv1.TestServiceClient, conn *grpc.ClientConn) {
			interop.DoUnimplementedMethod(ctx, conn)
		}},
		{"unimplemented_service", func(ctx context.Context, _ interopv1.TestServiceClient, conn *grpc.ClientConn) {
			interop.DoUnimplementedService(ctx, interopv1.NewUnimplementedServiceClient(conn))
		}},
		soak("rpc_soak", func(shared *grpc.ClientConn) (*grpc.ClientConn, func()) { return shared, func() {} }),
		soak("channel_soak", func(*grpc.ClientConn) (*grpc.ClientConn, func()) {
			conn := open()
			return conn, func() { _ = conn.Close() }
		}),
	}
}

// soak is a case that makes many large calls, on the connections that channel gives.
func soak(name string, channel func(shared *grpc.ClientConn) (*grpc.ClientConn, func())) interopCase {
	return interopCase{name, func(ctx context.Context, _ interopv1.TestServiceClient, conn *grpc.ClientConn) {
		interop.DoSoakTest(ctx, interop.SoakTestConfig{
			RequestSize: 271828, ResponseSize: 314159, Iterations: soakCalls, NumWorkers: 2,
			PerIterationMaxAcceptableLatency: eventTimeout, OverallTimeout: eventTimeout, ServerAddr: conn.Target(),
			ChannelForTest: func() (*grpc.ClientConn, func()) { return channel(conn) },
		})
	}}
}

// TestMain lets this program be the interop client: a case of grpc-go that fails ends its process.
func TestMain(m *testing.M) {
	if target := os.Getenv(interopTarget); target != "" {
		callAll(target)
		return
	}
	os.Exit(m.Run())
}

// callAll runs all cases. It names each before it runs.
func callAll(target string) {
	protocol, address, _ := strings.Cut(target, " ")
	security := insecure.NewCredentials()
	if protocol == "h2" {
		security = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}
	open := func() *grpc.ClientConn {
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(security))
		if err != nil {
			panic(err)
		}
		return conn
	}
	conn := open()
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), eventTimeout)
	defer cancel()
	for _, testCase := range interopCases(open) {
		fmt.Println(testCase.name)
		testCase.run(ctx, interopv1.NewTestServiceClient(conn), conn)
	}
	fmt.Println(allPassed)
}

// allPassed is the last line of an interop client whose cases have all passed.
const allPassed = "all passed"

// serveCalls starts a server of gRPC for a test.
func serveCalls(t *testing.T, register func(*grpc.Server), options ...grpc.ServerOption) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	register(server)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// lentCertificate is a certificate that nobody trusts.
func lentCertificate(t *testing.T) grpc.ServerOption {
	t.Helper()
	lender := httptest.NewUnstartedServer(nil)
	lender.StartTLS()
	t.Cleanup(lender.Close)
	return grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: lender.TLS.Certificates}))
}

// passCallsOn has clients and servers of the virtual service "web" speak HTTP/2.
func (s *stage) passCallsOn(secure bool) {
	s.Helper()
	speakHTTP2(s)
	s.changeApplied("web", "pool", "web", func(o client.Object) {
		o["enable_http2"] = true
		if secure {
			o["ssl_profile_ref"] = client.Ref("sslprofile", "System-Standard")
		}
	})
}

func TestInteropClientOfGRPCFindsNothing(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS to servers %v", secure), func(t *testing.T) {
			var options []grpc.ServerOption
			if secure {
				options = append(options, lentCertificate(t))
			}
			s := setUp(t, serveCalls(t, func(server *grpc.Server) {
				interopv1.RegisterTestServiceServer(server, interop.NewTestServer())
			}, options...))
			s.passCallsOn(secure)
			for _, target := range []string{"h2c " + plainAddress, "h2 " + tlsAddress} {
				s.callAll(target)
			}
		})
	}
}

// callAll runs the interop client in a process of its own.
func (s *stage) callAll(target string) {
	s.Helper()
	program, err := os.Executable()
	s.must(err)
	command := exec.CommandContext(s.ctx, program)
	command.Env = append(os.Environ(), interopTarget+"="+target)
	out, err := command.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), allPassed+"\n") {
		s.Errorf("%s: %v; the last case named failed:\n%s", target, err, out)
	}
}
