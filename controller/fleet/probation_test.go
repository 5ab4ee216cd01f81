package fleet

import (
	"strings"
	"testing"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/schema"
)

// flapping is an engine that comes and goes.
type flapping struct {
	*Fleet
	now    time.Time
	events *events.Log
}

func newFlapping() *flapping {
	f := &flapping{now: clock}
	now := func() time.Time { return f.now }
	f.events = events.New(quiet(), now)
	f.Fleet = New(nil, quiet(), f.events, now)
	return f
}

// comeAndGo has the engine there for a second, and away for one.
func (f *flapping) comeAndGo(times int) {
	for range times {
		f.Connected("se-one", &enginev1.Hello{Status: running})
		f.now = f.now.Add(time.Second)
		f.Disconnected("se-one", "gone")
		f.now = f.now.Add(time.Second)
	}
	f.Connected("se-one", &enginev1.Hello{Status: running})
}

func (f *flapping) proof() time.Duration {
	proven := f.Facts()["se-one"].ProvenAt
	if proven.IsZero() {
		return 0
	}
	return proven.Sub(f.now)
}

func TestEngineThatFailsAgainAndAgainHasToStayLongerEachTime(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		0: 0, 2: 0, 3: time.Minute, 4: 2 * time.Minute, 5: 4 * time.Minute, 6: 8 * time.Minute, 100: 8 * time.Minute,
	} {
		f := newFlapping()
		f.comeAndGo(failures)
		if got := f.proof(); got != want {
			t.Errorf("after %d failures it has to stay for %v, want %v", failures, got, want)
		}
	}
}

func TestOldFailuresAreForgotten(t *testing.T) {
	f := newFlapping()
	f.comeAndGo(5)
	f.now = f.now.Add(failureAge)
	f.Disconnected("se-one", "gone")
	f.comeAndGo(1)
	if got := f.proof(); got != 0 {
		t.Errorf("it has to stay for %v", got)
	}
}

func TestWhyAnEngineGetsNothingNewIsSaidUntilItDoes(t *testing.T) {
	f := newFlapping()
	f.comeAndGo(3)
	said := "failed 3 times within 10m0s: gets no virtual service that others serve before "
	shown := func() string { return strings.Join(reasonsOf(f.Engine("se-one")), "") }
	if !strings.Contains(shown(), said) {
		t.Errorf("shown is %q", shown())
	}
	if last := f.events.Entries()[0]; !strings.Contains(last.Message, "serves; "+said) {
		t.Errorf("told is %v", last)
	}
	f.now = f.now.Add(time.Minute)
	if shown() != "" {
		t.Errorf("it has stayed, and shown is %q", shown())
	}
}

func reasonsOf(runtime schema.Object) []string {
	var reasons []string
	for _, reason := range runtime["oper_status"].(schema.Object)["reason"].([]any) {
		reasons = append(reasons, reason.(string))
	}
	return reasons
}
