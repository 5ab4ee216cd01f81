package events_test

import (
	"testing"
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
