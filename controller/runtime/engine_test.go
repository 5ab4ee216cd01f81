package runtime

import (
	"testing"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/schema"
)

func TestEngineHasItsNewestPlanOnceItHasSaidSo(t *testing.T) {
	s := newStage(t)
	expect := func(what, engine string, want bool) {
		t.Helper()
		if got := s.Engine(engine)["applied"].(schema.Object)["current"]; got != want {
			t.Errorf("%s: current is %v", what, got)
		}
	}
	expect("no Plan, and never connected", "se-unknown", false)
	expect("never connected", "se-one", false)
	s.Serve("se-one")
	expect("applied", "se-one", true)
	s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running, Revision: 12})
	expect("has another Plan", "se-one", false)
}
