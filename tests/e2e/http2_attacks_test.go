package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"

	"github.com/weir-lb/weir/bench/abuse/h2"
	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/client"
)

// attacker has an address of its own.
var attacker = netip.MustParseAddrPort("127.0.0.3:0")

// floodMemory is how much the data plane may grow while it is flooded.
const floodMemory = 64 << 20

// underAttack is a stage of an HTTP/2 service whose server answers with a body of this length, and its data plane.
func underAttack(t *testing.T, bodyBytes int) (s *stage, to netip.AddrPort, pid int) {
	t.Helper()
	body := bytes.Repeat([]byte{'w'}, bodyBytes)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = new(bytes.Buffer).ReadFrom(r.Body)
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	s = setUp(t, strings.TrimPrefix(server.URL, "http://"))
	speakHTTP2(s)
	pid, err := s.engine.DataplanePID(s.ctx)
	s.must(err)
	return s, netip.MustParseAddrPort(plainAddress), pid
}

func (s *stage) memory(pid int) int64 {
	s.Helper()
	used, err := meter.Private(pid)
	s.must(err)
	return used
}

// serves asks as another client does.
func (s *stage) serves(during string) {
	s.Helper()
	if status, err := getOnce(plainURL("/")); err != nil || status != http.StatusOK {
		s.Errorf("%s: another client got %d, %v", during, status, err)
	}
}

func TestEachFloodEndsItsConnectionWithItsCode(t *testing.T) {
	s, to, pid := underAttack(t, 128)
	before := s.memory(pid)
	for _, attack := range h2.Attacks {
		if attack.Holds() {
			continue
		}
		const at = 4 // at once
		var all sync.WaitGroup
		for range at {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(s.ctx, eventTimeout)
				defer cancel()
				end, err := attack.Run(ctx, attacker, to)
				if err != nil || !end.Told || end.Code != attack.Code {
					t.Errorf("%s: want %v, got %+v, %v", attack.Name, attack.Code, end, err)
				}
			})
		}
		s.serves(attack.Name)
		all.Wait()
		s.serves("after " + attack.Name)
	}
	s.counts("client_flood")
	s.counts("client_bad_request") // a breach of the standard
	if grown := s.memory(pid) - before; grown > floodMemory {
		t.Errorf("the data plane has grown by %d MiB", grown>>20)
	}
}

func TestSlowClientsOfHTTP2AreTimedOutEachStreamByItself(t *testing.T) {
	s, to, _ := underAttack(t, 128)
	s.changeApplied("web", "applicationprofile", "System-HTTP", func(o client.Object) {
		profile, _ := o["http_profile"].(map[string]any)
		profile["client_header_timeout"], profile["client_body_timeout"] = 5000, 5000
		profile["weir_min_body_rate"] = 100
	})
	for name, wanted := range map[string]struct {
		cause   string
		answers int
	}{
		"slow-head":  {"client_head_timeout", 0},
		"slow-frame": {"client_head_timeout", 0},
		"slow-body":  {"client_body_timeout", 100},
	} {
		ctx, cancel := context.WithTimeout(s.ctx, eventTimeout)
		ended := make(chan h2.End, 1)
		go func() {
			end, err := attackNamed(t, name).Run(ctx, attacker, to)
			if err != nil {
				t.Error(err)
			}
			ended <- end
		}()
		s.counts(wanted.cause)
		s.serves(name)
		if wanted.answers > 0 {
			cancel() // its connection goes on
		}
		end := <-ended
		cancel()
		if wanted.answers == 0 && end.Code != http2.ErrCodeEnhanceYourCalm {
			t.Errorf("%s: %+v", name, end)
		}
	}
}

func TestStreamsWithClosedWindowsHoldBoundedMemoryAndAreReleased(t *testing.T) {
	const connections, perStream = 4, 256 << 10
	s, to, pid := underAttack(t, 4<<20)
	before := s.memory(pid)
	ctx, leave := context.WithTimeout(s.ctx, eventTimeout)
	defer leave()
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			if _, err := attackNamed(t, "zero-window").Run(ctx, attacker, to); err != nil {
				t.Error(err)
			}
		})
	}
	s.eventually("every stream has got its server", func() error {
		if open := s.counter("requests"); open < connections*100 {
			return fmt.Errorf("%v requests", open)
		}
		return nil
	})
	s.serves("zero windows")
	grown := s.memory(pid) - before
	t.Logf("%d streams hold %d KiB each", connections*100, grown>>10/(connections*100))
	if grown > connections*100*perStream {
		t.Errorf("the data plane has grown by %d MiB", grown>>20)
	}
	leave()
	all.Wait()
	s.counts("client_aborted")
	s.serves("afterwards")
}

func attackNamed(t *testing.T, name string) h2.Attack {
	t.Helper()
	for _, attack := range h2.Attacks {
		if attack.Name == name {
			return attack
		}
	}
	t.Fatalf("there is no attack %q", name)
	return h2.Attack{}
}
