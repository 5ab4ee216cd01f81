package events_test

import (
	"testing"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/place"
)

func TestEventsSayWhenAVirtualServiceComesUpAndGoesDown(t *testing.T) {
	l := newListener(t, "VIRTUALSERVICE")
	l.Serve("se-one")
	l.told() // it has not been up yet
	l.Judge("se-one", "10.0.0.1:80", true, "")
	l.told("VS_UP VIRTUALSERVICE web is up")
	l.told()
	l.Disconnected("se-one", "heartbeat lost")
	l.told("VS_DOWN VIRTUALSERVICE web is down: engine one is not connected: heartbeat lost; " +
		"engine two is not connected: has not connected yet")
	l.Serve("se-one")
	l.Judge("se-one", "10.0.0.1:80", false, "refused")
	l.told()
	l.Judge("se-one", "10.0.0.2:80", true, "")
	l.told("VS_UP VIRTUALSERVICE web is up")
	l.VS.Enabled = false
	l.Want(11)
	l.told("VS_DOWN VIRTUALSERVICE web is down: enabled is false")
}

// resume has both engines come back to the virtual service, which they served before the leader began.
func resume(l *listener) {
	state := l.State
	seats := fleettest.Both(l.VS)
	for i := range seats.Seats {
		seats.Seats[i].Since = fleettest.Clock.Add(-time.Hour)
	}
	state.Assignments = place.Assignments(nil).With([]place.Assignment{seats})
	l.Observe(state)
	l.look()
	for _, engine := range []string{"se-one", "se-two"} {
		l.Connected(engine, &enginev1.Hello{Status: fleettest.Running, Revision: 9})
		l.Applied(engine, l.State.Plans[engine], nil)
		l.Judge(engine, "10.0.0.1:80", true, "")
	}
}

func TestNoEventSaysThatAVirtualServiceIsUpWhichWasUpBeforeTheControllerStarted(t *testing.T) {
	l := newListener(t, "VIRTUALSERVICE")
	resume(l)
	l.told()
	l.Disconnected("se-one", "gone")
	l.Disconnected("se-two", "gone")
	l.told("VS_DOWN VIRTUALSERVICE web is down: engine one is not connected: gone; engine two is not connected: gone")
	l.serveUp("se-one")
	l.told("VS_UP VIRTUALSERVICE web is up")
}

func TestEventSaysThatAVirtualServiceIsUpWhichWasDownForLongAfterTheControllerStarted(t *testing.T) {
	l := newListener(t, "VIRTUALSERVICE")
	l.Now = l.Now.Add(2 * time.Minute)
	resume(l)
	l.told("VS_UP VIRTUALSERVICE web is up")
}
