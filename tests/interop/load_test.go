package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/ports"
	"github.com/weir-lb/weir/tests/built"
)

// What the bench measures rests on a load generator and a server of our own, which share code. Here each of them works
// with programs that share none.

// raw passes messages of gRPC on as the bytes that they are.
type raw struct{}

func (raw) Name() string                  { return "raw" }
func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = bytes.Clone(data)
	return nil
}

// echoCalls is a server of grpc-go that sends each message back.
func echoCalls(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(
		func(_ any, stream grpc.ServerStream) error {
			var message []byte
			if err := stream.RecvMsg(&message); err != nil {
				return err
			}
			return stream.SendMsg(&message)
		}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

// echoBodies is a server of net/http that sends each body back, and speaks HTTP/2 over TLS and without.
func echoBodies(t *testing.T, secure bool) (url string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			http.Error(w, r.Proto, http.StatusHTTPVersionNotSupported)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	server.EnableHTTP2 = secure
	if secure {
		server.StartTLS()
	} else {
		server.Config.Protocols = new(http.Protocols)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
	}
	t.Cleanup(server.Close)
	return server.URL
}

func TestLoadWorksWithServersOfOthers(t *testing.T) {
	load := filepath.Join(built.Programs(t), "weir-load")
	http2 := "--http2 --method POST --connections 4 --streams 25 --requests-per-connection 0"
	for name, flags := range map[string]string{
		"HTTP/2 of Go": http2 + " --url " + echoBodies(t, false) + "/a --body-bytes 300 --answer-bytes 300",
		"large bodies": http2 + " --url " + echoBodies(t, false) + "/a --body-bytes 300000 --answer-bytes 300000",
		"ALPN":         http2 + " --url " + echoBodies(t, true) + "/a --body-bytes 300 --answer-bytes 300",
		"one request on each connection": "--http2 --tls 1.3 --method POST --url " + echoBodies(t, true) +
			"/a --body-bytes 30 --answer-bytes 30",
		"grpc-go": "--grpc --connections 4 --streams 16 --requests-per-connection 0 --url http://" + echoCalls(t) +
			"/a.Service/Method --body-bytes 128 --answer-bytes 128",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), load,
				append(strings.Fields(flags), "--count", "500", "--json")...).CombinedOutput()
			var report lab.LoadReport
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err != nil || report.Requests != 500 || report.ErrorTotal != 0 {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// startOrigin runs weir-origin.
func startOrigin(t *testing.T) (address string) {
	t.Helper()
	port, err := ports.Free("127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	address = fmt.Sprintf("127.0.0.1:%d", port)
	origin := exec.CommandContext(t.Context(), filepath.Join(built.Programs(t), "weir-origin"),
		"--listen", address, "--object-bytes", "1000")
	if err := origin.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = origin.Wait()
	}()
	t.Cleanup(func() {
		_ = origin.Process.Kill()
		<-ended
	})
	for peers.Accepts(t.Context(), address) != nil {
		select {
		case <-ended:
			t.Fatalf("weir-origin does not listen: %v", origin.ProcessState)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return address
}

func TestOriginWorksWithClientsOfOthers(t *testing.T) {
	address := startOrigin(t)
	for _, version := range []string{"--http1.1", "--http2-prior-knowledge"} {
		out, err := exec.CommandContext(t.Context(), "curl", "--silent", "--show-error", "--fail", version,
			"--write-out", "%{http_version} %{size_download}", "--output", "/dev/null", "http://"+address+"/a").Output()
		want := map[string]string{"--http1.1": "1.1 1000", "--http2-prior-knowledge": "2 1000"}[version]
		if err != nil || string(out) != want {
			t.Errorf("curl %s: %v: %q, want %q", version, err, out, want)
		}
	}
	out, err := exec.CommandContext(t.Context(), "h2load", "-n", "2000", "-c", "4", "-m", "30",
		"http://"+address+"/a").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2000 succeeded, 0 failed") {
		t.Errorf("h2load: %v: %s", err, out)
	}
}

func TestOriginAnswersCallsOfGrpcGo(t *testing.T) {
	conn, err := grpc.NewClient(startOrigin(t), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, size := range []int{0, 128, 1_000_000} {
		request, answer := bytes.Repeat([]byte("m"), size), []byte(nil)
		err := conn.Invoke(context.Background(), "/a.Service/Method", &request, &answer)
		if err != nil || !bytes.Equal(request, answer) {
			t.Errorf("%d bytes: %d came back: %v", size, len(answer), err)
		}
	}
}
