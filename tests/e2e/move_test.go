package e2e

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/topology"
)

// post asks for something of the virtual service, and does not wait.
func (f *fabric) post(verb string, order client.Object) {
	f.Helper()
	vs, err := f.controller.Session.ByName(f.ctx, "virtualservice", "web")
	f.must(err)
	f.must(f.controller.Session.Post(f.ctx, fmt.Sprintf("virtualservice/%v/%s", vs["uuid"], verb), order, nil))
}

// untilSeated waits until the engines of the virtual service are these, with their roles, and nothing is under way.
func (f *fabric) untilSeated(want ...string) {
	f.Helper()
	f.eventually(fmt.Sprintf("its engines are %q", want), func() error {
		var seated []string
		for _, seat := range f.seats() {
			if seat["role"] == "standby" || seat["state"] == "serving" && seat["advertised"] == true {
				seated = append(seated, fmt.Sprintf("%v %v", seat["name"], seat["role"]))
			} else {
				seated = append(seated, fmt.Sprintf("%v %v, %v", seat["name"], seat["role"], seat["state"]))
			}
		}
		if !slices.Equal(seated, want) {
			return fmt.Errorf("%q", seated)
		}
		return nil
	})
}

// others are the engines that are not this one.
func (f *fabric) others(engine string) []string {
	return slices.DeleteFunc(f.engineNames(f.site.Topology.Engines.Count), func(name string) bool {
		return name == engine
	})
}

func TestVirtualServiceMovesWithoutAFailedRequestByOrderAndWhenItsEngineIsDisabled(t *testing.T) {
	behindEachRouter(t, func(t *testing.T, behind func(*topology.Topology)) {
		f := setUpFabric(t, 3, behind)
		f.narrow()
		was := fmt.Sprint(f.seats()[0]["name"])
		first, second := f.others(was)[0], f.others(was)[1]
		before := f.story()
		f.losesNothing(func() {
			f.post("migrate", client.Object{"to_se_ref": client.Ref("serviceengine", first)})
			f.untilSeated(first + " primary")
			f.untilHops(first)
			f.change("serviceengine", was, func(o client.Object) {
				o["enable_state"] = "SE_STATE_DISABLED"
			}) // so that there is one left
			f.change("serviceengine", first, func(o client.Object) { o["enable_state"] = "SE_STATE_DISABLED" })
			f.untilSeated(second + " primary")
			f.untilHops(second)
			f.change("serviceengine", first, func(o client.Object) { o["enable_state"] = "SE_STATE_ENABLED" })
			f.post("scaleout", client.Object{"to_se_ref": client.Ref("serviceengine", first)})
			f.untilSeated(second+" primary", first+" secondary")
			f.post("switchover", client.Object{})
			f.untilSeated(first+" primary", second+" secondary")
			f.untilHops(slices.Sorted(slices.Values([]string{first, second}))...)
		})
		f.untilStory(before, []string{"VS_MIGRATE_COMPLETE web: " + was, "VS_MIGRATE_COMPLETE web: " + first,
			"SE_ENABLE_STATE_CHANGED " + first,
			"VS_SCALEOUT_COMPLETE web: " + first, fmt.Sprintf(
				"VS_SWITCHOVER web: %s is the primary after %s", first, second)})
	})
}

func TestVirtualServiceIsElsewhereSoonWhenItsOnlyEngineIsKilled(t *testing.T) {
	behindEachRouter(t, func(t *testing.T, behind func(*topology.Topology)) {
		f := setUpFabric(t, 2, behind)
		f.change("serviceenginegroup", "Default-Group", func(group client.Object) {
			group["aggressive_failure_detection"] = true
		})
		f.narrow()
		was := fmt.Sprint(f.seats()[0]["name"])
		now := f.others(was)[0]
		before := f.story()
		f.must(f.namespace(was).Kill())
		killed := time.Now()
		f.untilHops(now)
		t.Logf("the router sends clients to another engine %v after the only one was killed", time.Since(killed))
		f.spread(secureURL, 50)
		f.untilApplied("applied on 1 of 2 engines") // the dead one may be back with what it had
		f.untilStory(before, []string{"SE_DOWN " + was + ": ",
			fmt.Sprintf("VS_ADD_SE web: %s is to serve it (failover)", now),
			fmt.Sprintf("VS_SWITCHOVER web: %s is the primary after %s", now, was)})
		before = f.story()
		f.must(f.site.Restart(f.ctx, was))
		f.untilSeated(now + " primary") // and not back again
		f.untilApplied("applied on 1 of 1 engines")
		f.untilHops(now)
		f.untilStory(before, []string{"SE_UP " + was + ": serves", "VS_REMOVED_SE web: " + was})
	})
}

func (f *fabric) untilApplied(want string) {
	f.Helper()
	f.eventually(want, func() error {
		applied, _ := f.runtime("virtualservice", "web")["applied"].(map[string]any)
		if applied["text"] != want {
			return errors.New(fmt.Sprint(applied))
		}
		return nil
	})
}

func TestStandbyTakesTheActiveOnesPlaceByOrderAndWhenItIsKilled(t *testing.T) {
	behindEachRouter(t, func(t *testing.T, behind func(*topology.Topology)) {
		f := bareFabric(t, 2, behind)
		f.change("serviceenginegroup", "Default-Group", func(group client.Object) {
			group["ha_mode"], group["aggressive_failure_detection"] = "HA_MODE_LEGACY_ACTIVE_STANDBY", true
		})
		_, err := f.site.Serve(f.ctx, "web", anycast, anycast6)
		f.must(err)
		f.eventually("one serves and one stands by", func() error {
			if seats := f.seats(); len(seats) != 2 || seats[1]["role"] != "standby" || seats[0]["advertised"] != true {
				return errors.New(fmt.Sprint(seats))
			}
			return nil
		})
		active, standby := fmt.Sprint(f.seats()[0]["name"]), fmt.Sprint(f.seats()[1]["name"])
		f.untilHops(active)
		before := f.story()
		f.losesNothing(func() {
			f.post("switchover", client.Object{})
			f.untilSeated(standby+" primary", active+" standby")
			f.untilHops(standby)
		})

		f.must(f.namespace(standby).Kill())
		f.untilHops(active)
		f.spread(secureURL, 50)
		f.must(f.site.Restart(f.ctx, standby))
		f.untilSeated(active+" primary", standby+" standby")
		f.untilHops(active)
		f.untilStory(before, []string{fmt.Sprintf("VS_SWITCHOVER web: %s is the primary after %s", standby, active),
			"SE_DOWN " + standby + ": ",
			fmt.Sprintf("VS_SWITCHOVER web: %s is the primary after %s", active, standby), "VS_ADD_SE web: " + standby +
				" is to stand by for it"})
	})
}
