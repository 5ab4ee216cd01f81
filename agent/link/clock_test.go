package link

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/state"
	"github.com/weir-lb/weir/api/engine/enrollment"
)

// shifted is a clock that is wrong until it is set right.
type shifted struct{ by atomic.Int64 }

func (s *shifted) now() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }

func TestEngineWithAWrongClockSaysSoInOneLineAndConnectsWhenItIsSetRight(t *testing.T) {
	const years = 100 * 365 * 24 * time.Hour
	for clock, by := range map[string]time.Duration{"behind": -years, "ahead": years} {
		t.Run(clock+", joining", func(t *testing.T) {
			r := newRig(t)
			r.setsItsClockRight(by, r.token(), nil, "joined as se-one", "se-one connected")
		})
		t.Run(clock+", joined", func(t *testing.T) {
			r := newRig(t)
			r.setsItsClockRight(by, nil, r.identity(0), "se-one connected")
		})
	}
}

func (r *rig) setsItsClockRight(by time.Duration, token *enrollment.Token, identity *state.Identity, then ...string) {
	r.Helper()
	defer r.serve()()
	log := said{slog.NewTextHandler(io.Discard, nil), make(chan string, 100)}
	l := New(Config{
		Address: r.address, Name: "one", Token: token, Identity: identity, Engine: &engine{diary: r.diary},
		Log: slog.New(log),
	})
	var clock shifted
	clock.by.Store(int64(by))
	asked := make(chan struct{}, 100)
	l.now = func() time.Time {
		select {
		case asked <- struct{}{}:
		default:
		}
		return clock.now()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	line := <-log.lines
	if !strings.HasPrefix(line, "the controller's certificate is not good by this engine's clock, but from 20") ||
		!strings.Contains(line, "set the clock right") {
		r.Errorf("said %q", line)
	}
	for len(asked) > 0 { // by the attempts so far
		<-asked
	}
	for range 3 { // attempts that all fail alike
		<-asked
	}
	clock.by.Store(0)
	r.expect(then...)
	cancel()
	if err := <-ended; err != nil {
		r.Errorf("gave up: %v", err)
	}
	if len(log.lines) > 0 {
		r.Errorf("said as well %q", <-log.lines)
	}
}
