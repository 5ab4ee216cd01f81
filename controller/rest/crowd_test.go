package rest

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/port"
)

// patience is how long a test waits for an answer.
const patience = 10 * time.Second

// from dials from an address of this machine.
func (s *serving) from(address string) net.Conn {
	s.t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: patience}
	connection, err := dialer.Dial("tcp", s.address)
	s.must(err)
	s.t.Cleanup(func() { connection.Close() })
	return connection
}

func (s *serving) secure(address string) net.Conn {
	s.t.Helper()
	connection := tls.Client(s.from(address), &tls.Config{InsecureSkipVerify: true})
	s.must(connection.SetDeadline(time.Now().Add(patience)))
	s.must(connection.Handshake())
	return connection
}

// ask sends a request and reads its answer.
func (s *serving) ask(connection net.Conn, request string) *http.Response {
	s.t.Helper()
	s.must(connection.SetDeadline(time.Now().Add(patience)))
	_, err := fmt.Fprint(connection, request)
	s.must(err)
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	s.must(err)
	_, err = io.Copy(io.Discard, answer.Body)
	s.must(err)
	return answer
}

const healthRequest = "GET /healthz HTTP/1.1\r\nHost: weir\r\n\r\n"

// crowds are ways to hold a connection without using it.
var crowds = map[string]func(s *serving){
	"handshakes that never begin": func(s *serving) { s.from("127.0.0.1") },
	"heads that never end": func(s *serving) {
		_, err := fmt.Fprint(s.secure("127.0.0.1"), strings.TrimSuffix(healthRequest, "\r\n"))
		s.must(err)
	},
	"bodies that never end": func(s *serving) {
		_, err := fmt.Fprint(s.secure("127.0.0.1"), "POST /login HTTP/1.1\r\nHost: weir\r\nContent-Length: 9\r\n\r\n{")
		s.must(err)
	},
	"idle connections": func(s *serving) { s.ask(s.secure("127.0.0.1"), healthRequest) },
}

func TestCrowdOfOneHostKeepsNobodyFromTheAPI(t *testing.T) {
	for name, join := range crowds {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.api.connections = port.Bounds{Places: 24, Share: 6}
			h.api.events = events.New(slog.New(slog.DiscardHandler), time.Now)
			s := h.serve()
			stays := s.secure("127.0.0.2")
			s.ask(stays, healthRequest)
			for range h.api.connections.Places + 10 {
				join(s)
			}
			for _, host := range []string{"127.0.0.3", "127.0.0.1"} {
				if answer := s.ask(s.secure(host), healthRequest); answer.StatusCode != http.StatusOK {
					t.Errorf("%s got %s", host, answer.Status)
				}
			}
			if answer := s.ask(stays, healthRequest); answer.StatusCode != http.StatusOK {
				t.Errorf("who was there before got %s", answer.Status)
			}
			if told := h.api.events.Entries(); len(told) != 1 || told[0].ID != "CONTROLLER_CONNECTIONS_SHORT" {
				t.Errorf("told %v", told)
			}
		})
	}
}

func TestSessionKeepsItsConnectionAmongStrangers(t *testing.T) {
	h := newHouse(t)
	h.api.connections = port.Bounds{Places: 8, Share: 2}
	s := h.serve()
	var sent strings.Builder
	h.must(s.authorised(h.login(), "GET", "/api/pool", "").Write(&sent))
	request := sent.String()
	session := s.secure("127.0.0.1")
	if answer := s.ask(session, request); answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
	for i := range 20 {
		s.ask(s.secure(fmt.Sprintf("127.0.1.%d", i+1)), healthRequest)
	}
	if answer := s.ask(session, request); answer.StatusCode != http.StatusOK {
		t.Errorf("got %s", answer.Status)
	}
}

func TestRequestAtWorkKeepsItsConnection(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprintf("HTTP/%d", version), func(t *testing.T) {
			h := newHouse(t)
			h.api.connections = port.Bounds{Places: 2, Share: 1}
			entered, leave := make(chan struct{}), make(chan struct{})
			h.api.tokens = slowTokens{entered, leave}
			s := h.serve()
			request := s.authorised(h.login(), "POST", "/api/securetoken-generate", "{}")
			transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
				ForceAttemptHTTP2: version == 2}
			answered := make(chan string, 1)
			go func() {
				answer, err := transport.RoundTrip(request)
				if err != nil {
					answered <- err.Error()
					return
				}
				answer.Body.Close()
				answered <- fmt.Sprint(answer.ProtoMajor, answer.StatusCode)
			}()
			<-entered
			for range 5 {
				s.ask(s.secure("127.0.0.1"), healthRequest)
			}
			close(leave)
			if got := <-answered; got != fmt.Sprint(version, http.StatusOK) {
				t.Errorf("got %s", got)
			}
		})
	}
}
