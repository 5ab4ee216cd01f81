package health

import (
	"testing"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

const (
	unsaid   = enginev1.DataplaneState_DATAPLANE_STATE_UNSPECIFIED
	starting = enginev1.DataplaneState_DATAPLANE_STATE_STARTING
	running  = enginev1.DataplaneState_DATAPLANE_STATE_RUNNING
	backing  = enginev1.DataplaneState_DATAPLANE_STATE_BACKING_OFF
)

var allEngineStates = []Engine{Unheard, Starting, Serving, Halted, Away}

func TestEngineThatRunsItsDataPlaneServesWhateverItDidBefore(t *testing.T) {
	for _, before := range allEngineStates {
		if after := before.Connected(running); after != Serving {
			t.Errorf("%d: %d", before, after)
		}
	}
}

func TestDataPlaneStartsForTheFirstTimeOnlyOnce(t *testing.T) {
	want := map[Engine]Engine{Unheard: Starting, Starting: Starting, Serving: Halted, Halted: Halted, Away: Halted}
	for before, want := range want {
		for _, dataplane := range []enginev1.DataplaneState{starting, unsaid} {
			if after := before.Connected(dataplane); after != want {
				t.Errorf("%d: %d, want %d", before, after, want)
			}
		}
		if after := before.Connected(backing); after != Halted {
			t.Errorf("%d: one that backs off is %d", before, after)
		}
	}
}

func TestOnlyAnEngineWithASessionReports(t *testing.T) {
	for _, before := range allEngineStates {
		after := before.Reported(running)
		if before.IsConnected() && after != Serving || !before.IsConnected() && after != before {
			t.Errorf("%d: %d", before, after)
		}
	}
}

func TestSessionThatNeverWasDoesNotEnd(t *testing.T) {
	for _, before := range allEngineStates {
		want := Away
		if before == Unheard {
			want = Unheard
		}
		if after := before.Disconnected(); after != want || after.IsConnected() {
			t.Errorf("%d: %d", before, after)
		}
	}
}

func TestEngineGoesDownOnceUntilItComesUp(t *testing.T) {
	for _, step := range []struct {
		from, to Engine
		want     Turn
	}{
		{Unheard, Starting, NoTurn}, {Unheard, Serving, CameUp}, {Unheard, Halted, WentDown},
		{Starting, Serving, CameUp}, {Starting, Away, WentDown},
		{Serving, Serving, NoTurn}, {Serving, Halted, WentDown}, {Serving, Away, WentDown},
		{Halted, Away, NoTurn}, {Away, Halted, NoTurn}, {Halted, Serving, CameUp}, {Away, Serving, CameUp},
	} {
		if got := step.from.TurnTo(step.to); got != step.want {
			t.Errorf("from %d to %d: %d, want %d", step.from, step.to, got, step.want)
		}
	}
}
