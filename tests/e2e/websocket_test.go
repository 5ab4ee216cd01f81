package e2e

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/net/http2"

	"github.com/weir-lb/weir/client"
)

// closeAsked is the code with which the chat server closes a WebSocket when a client says "bye".
const closeAsked = 4321

// chat is a server of WebSocket that returns each message. At /refuses it answers with a page.
func chat(t *testing.T) string {
	t.Helper()
	anyOrigin := func(*http.Request) bool { return true }
	upgrader := websocket.Upgrader{Subprotocols: []string{"chat"}, CheckOrigin: anyOrigin}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refuses" {
			http.Error(w, "not today", http.StatusForbidden)
			return
		}
		conn, err := upgrader.Upgrade(w, r, http.Header{"X-Client": r.Header["X-Forwarded-For"]})
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			kind, message, err := conn.ReadMessage()
			if err != nil {
				return
			}
			if string(message) == "bye" {
				reason := websocket.FormatCloseMessage(closeAsked, "as you like")
				conn.WriteControl(websocket.CloseMessage, reason, time.Now().Add(eventTimeout))
				continue
			}
			if conn.WriteMessage(kind, message) != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func dialWebSocket(url string) (*websocket.Conn, *http.Response, error) {
	dialer := websocket.Dialer{
		TLSClientConfig:  &tls.Config{InsecureSkipVerify: true}, // a test's own certificate
		Subprotocols:     []string{"chat"},
		HandshakeTimeout: eventTimeout,
	}
	conn, response, err := dialer.Dial("ws"+strings.TrimPrefix(url, "http"), nil)
	if err == nil {
		err = conn.SetReadDeadline(time.Now().Add(eventTimeout))
	}
	return conn, response, err
}

// counter is a number of the virtual service "web".
func (s *stage) counter(name string) float64 {
	counters, _ := s.runtime("virtualservice", "web")["counters"].(map[string]any)
	number, _ := counters[name].(float64)
	return number
}

func (s *stage) awaitCounter(name string, want float64) {
	s.Helper()
	s.eventually(fmt.Sprintf("%s is %v", name, want), func() error {
		if got := s.counter(name); got != want {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
}

func TestWebSocketCarriesMessagesAndCloseCodesOverPlainAndTLS(t *testing.T) {
	s := setUp(t, chat(t))
	for _, url := range []string{plainURL("/"), tlsURL("/")} {
		conn, response, err := dialWebSocket(url)
		s.must(err)
		if conn.Subprotocol() != "chat" || !strings.HasPrefix(response.Header.Get("X-Client"), "127.") {
			t.Errorf("%s: %v", url, response.Header)
		}
		s.awaitCounter("open_websockets", 1)
		for _, size := range []int{0, 1, 125, 126, 70_000, 8 << 20} {
			message := bytes.Repeat([]byte("x"), size)
			written := make(chan error, 1)
			go func() { written <- conn.WriteMessage(websocket.BinaryMessage, message) }()
			kind, got, err := conn.ReadMessage()
			s.must(err)
			s.must(<-written)
			if kind != websocket.BinaryMessage || !bytes.Equal(got, message) {
				t.Errorf("%s: %d bytes of kind %d come back for %d", url, len(got), kind, size)
			}
		}
		s.must(conn.WriteMessage(websocket.TextMessage, []byte("bye")))
		_, _, err = conn.ReadMessage()
		if closed := (*websocket.CloseError)(nil); !errors.As(err, &closed) || closed.Code != closeAsked ||
			closed.Text != "as you like" {
			t.Errorf("%s: %v", url, err)
		}
		conn.Close()
		s.awaitCounter("open_websockets", 0)
	}
	s.awaitCounter("websockets", 2)
	s.awaitCounter("responses_1xx", 2)
}

func TestServerThatRefusesWebSocketIsHeard(t *testing.T) {
	setUp(t, chat(t))
	_, response, err := dialWebSocket(plainURL("/refuses"))
	if !errors.Is(err, websocket.ErrBadHandshake) || response.StatusCode != http.StatusForbidden {
		t.Errorf("%v, %v", response, err)
	}
}

func TestWebSocketsAreDisabledByTheProfileAndOpenOnesStay(t *testing.T) {
	s := setUp(t, chat(t))
	conn, _, err := dialWebSocket(plainURL("/"))
	s.must(err)
	defer conn.Close()
	s.change("applicationprofile", "System-HTTP", func(o client.Object) {
		o["http_profile"].(map[string]any)["websockets_enabled"] = false
	})
	s.eventually("the server gets no Upgrade", func() error {
		other, response, err := dialWebSocket(plainURL("/"))
		if err == nil {
			other.Close()
			return errors.New("it switches")
		}
		// What the library answers to a request without Upgrade.
		if response == nil || response.StatusCode != http.StatusBadRequest {
			return fmt.Errorf("%v: %v", response, err)
		}
		return nil
	})
	s.must(conn.WriteMessage(websocket.TextMessage, []byte("still here")))
	if _, got, err := conn.ReadMessage(); err != nil || string(got) != "still here" {
		t.Errorf("%q, %v", got, err)
	}
}

// A client of HTTP/2 opens a tunnel by CONNECT (RFC 8441). It speaks WebSocket by hand: one frame, masked with zeroes.
func TestStreamOfHTTP2CarriesAWebSocketToAServerOfHTTP1(t *testing.T) {
	s := setUp(t, chat(t))
	speakHTTP2(s)
	transport := &http2.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	from, to := io.Pipe()
	request, err := http.NewRequestWithContext(s.ctx, http.MethodConnect, tlsURL("/"), from)
	s.must(err)
	request.Header = http.Header{":protocol": {"websocket"}, "Sec-Websocket-Version": {"13"}}
	response, err := transport.RoundTrip(request)
	s.must(err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Header.Get("Sec-Websocket-Accept") != "" {
		t.Fatalf("%v", response)
	}
	s.awaitCounter("open_websockets", 1)
	_, err = to.Write([]byte("\x81\x85\x00\x00\x00\x00hello"))
	s.must(err)
	got := make([]byte, len("\x81\x05hello"))
	if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != "\x81\x05hello" {
		t.Errorf("%q, %v", got, err)
	}
	s.must(to.Close())
	if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	s.awaitCounter("open_websockets", 0)
}
