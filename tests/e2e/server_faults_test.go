package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// badServer answers requests with raw bytes, chosen by the path: it does what no decent server does.
func badServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go misbehave(t, conn.(*net.TCPConn))
		}
	}()
	return listener.Addr().String()
}

func misbehave(t *testing.T, conn *net.TCPConn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		switch request.URL.Path {
		case "/good":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")
		case "/too-much":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngoodEVIL HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen")
		case "/garbage":
			fmt.Fprint(conn, "\x00\x01\x02 not http at all\r\n\r\n")
		case "/dies-in-head":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Le")
			return
		case "/dies-in-body":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this")
			return
		case "/dies-in-chunk":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n100\r\nhalf")
			return
		case "/resets":
			_ = conn.SetLinger(0)
			return
		case "/two-lengths":
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 8\r\n\r\ngood")
		case "/stalls":
			select {
			case <-t.Context().Done():
			case <-time.After(time.Minute):
			}
			return
		}
	}
}

// rawGet sends one request over a connection of its own and returns everything that comes back.
func rawGet(address, path string) (string, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: web\r\nConnection: close\r\n\r\n", path); err != nil {
		return "", err
	}
	all, err := io.ReadAll(conn)
	return string(all), err
}

func TestBadServersGiveCleanErrorsAndNothingOfOthers(t *testing.T) {
	s := setUp(t, badServer(t))
	for path, want := range map[string]string{
		"/garbage":      "HTTP/1.1 502 ",
		"/dies-in-head": "HTTP/1.1 502 ",
		"/resets":       "HTTP/1.1 502 ",
		"/two-lengths":  "HTTP/1.1 502 ",
		"/too-much":     "\r\n\r\ngood",
	} {
		got, err := rawGet(plainAddress, path)
		if err != nil || !strings.Contains(got, want) || strings.Contains(got, "EVIL") {
			t.Errorf("%s: %v\n%s", path, err, got)
		}
		if got, err := rawGet(plainAddress, "/good"); err != nil || !strings.HasSuffix(got, "\r\n\r\ngood") {
			t.Errorf("the request after %s: %v\n%s", path, err, got)
		}
	}
	for _, path := range []string{"/dies-in-body", "/dies-in-chunk"} {
		answer, err := http.Get(plainURL(path))
		s.must(err)
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
		if err == nil {
			t.Errorf("%s: the client was not told that the body was cut", path)
		}
	}
}

func TestStalledServerIsTimedOut(t *testing.T) {
	s := setUp(t, badServer(t))
	s.change("pool", "web", func(o client.Object) { o["server_timeout"] = 1000 })
	s.eventually("a stalled request ends in 504", func() error {
		got, err := rawGet(plainAddress, "/stalls")
		if err == nil && !strings.HasPrefix(got, "HTTP/1.1 504 ") {
			err = errors.New(got)
		}
		return err
	})
}

func TestRequestIsTakenToAnotherServerWhenOneRefuses(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := listener.Addr().String()
	listener.Close()
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "web", "servers": serverList([]string{refusing, badServer(t)})})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	for range 20 {
		if got, err := rawGet(plainAddress, "/good"); err != nil || !strings.HasSuffix(got, "good") {
			t.Fatalf("%v\n%s", err, got)
		}
	}
}

func TestMonitorTakesADeadServerOutAndBringsItBack(t *testing.T) {
	s := bareStage(t)
	servers := nginx(t, s.lab, 2)
	victim := badServer(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("healthmonitor", client.Object{"name": "quick", "type": "HEALTH_MONITOR_HTTP", "send_interval": 1, "receive_timeout": 1,
		"successful_checks": 1, "failed_checks": 1,
		"http_monitor": map[string]any{"http_request": "GET /garbage HTTP/1.0", "http_response_code": []any{"HTTP_2XX", "HTTP_4XX"}}})
	s.create("pool", client.Object{"name": "web", "servers": serverList(append(servers, victim)),
		"health_monitor_refs": []any{byName("healthmonitor", "quick")}})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	s.eventually("two of three servers are up, and the reason is told", func() error {
		text := fmt.Sprint(s.runtime("pool", "web"))
		if !strings.Contains(text, "num_servers_up:2") {
			return errors.New(text)
		}
		return nil
	})
	s.change("healthmonitor", "quick", func(o client.Object) {
		o["http_monitor"].(map[string]any)["http_request"] = "GET /good HTTP/1.0"
	})
	s.eventually("all three are up", func() error {
		text := fmt.Sprint(s.runtime("pool", "web"))
		if !strings.Contains(text, "num_servers_up:3") {
			return errors.New(text)
		}
		return nil
	})
}
