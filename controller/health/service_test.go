package health

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// poolOf returns a monitored pool with a number of enabled servers.
func poolOf(servers int) *model.Pool {
	pool := &model.Pool{
		Pool:           kinds.Pool{Enabled: true, Servers: make([]kinds.Server, servers)},
		HealthMonitors: []*model.HealthMonitor{{}},
	}
	for i := range servers {
		pool.Members = append(pool.Members, model.Member{ID: fmt.Sprint("s", i), Server: kinds.Server{Enabled: true}})
	}
	return pool
}

func TestServerIsAsTheBestOfItsEnginesSeesIt(t *testing.T) {
	pool, at := poolOf(1), time.Unix(1000, 0)
	up := Seen{Engine: "one", State: Up, Told: true, Since: at}
	down := Seen{Engine: "two", State: Down, Reason: "refused", Told: true, Since: at.Add(time.Second)}
	silent := Seen{Engine: "three"}
	for _, known := range []struct {
		seen    []Seen
		want    State
		reason  string
		checked int
	}{
		{nil, Unknown, "no engine uses it", 0},
		{[]Seen{silent}, Initializing, "no engine has checked it yet", 0},
		{[]Seen{silent, down}, Down, "refused", 1},
		{[]Seen{up, silent, down}, Up, "", 2},
		{[]Seen{down, up}, Up, "", 2},
	} {
		server := OfServer(pool, &pool.Members[0], known.seen)
		if server.State != known.want || server.Reason != known.reason || len(server.Checked) != known.checked {
			t.Errorf("want %+v, got %+v", known, server)
		}
		if known.checked == 2 && !server.Since.Equal(down.Since) {
			t.Errorf("its state is of %v, and not of the last verdict", server.Since)
		}
	}
}

func TestPoolIsUpWithOneServerAndSaysWhatTheOthersLack(t *testing.T) {
	up, down := Server{State: Up}, Server{State: Down, Reason: "refused"}
	none := poolOf(2)
	none.Members[0].Enabled, none.Members[1].Enabled = false, false
	disabled := poolOf(2)
	disabled.Enabled = false
	for _, known := range []struct {
		pool    *model.Pool
		isUsed  bool
		servers []Server
		want    string
	}{
		{poolOf(2), true, []Server{up, down}, "{1 [server s1: refused]}"},
		{poolOf(2), true, []Server{down, down}, "{2 [server s0: refused server s1: refused]}"},
		{poolOf(0), true, nil, "{2 [it has no server]}"},
		{none, true, []Server{up, up}, "{2 [none of its servers is enabled]}"},
		{poolOf(2), false, []Server{up, up}, "{5 [no virtual service that is served uses it]}"},
		{disabled, true, []Server{up, up}, "{3 [enabled is false]}"},
	} {
		if got := fmt.Sprint(OfPool(known.pool, known.isUsed, known.servers).Status); got != known.want {
			t.Errorf("want %s, got %s", known.want, got)
		}
	}
}

func TestVirtualServiceSaysTheFirstThingThatKeepsItDown(t *testing.T) {
	vs := &model.VirtualService{VirtualService: kinds.VirtualService{Enabled: true, TrafficEnabled: true},
		Pool: poolOf(1)}
	vs.Pool.Name = "web-pool"
	poolState := Down
	facts := ServiceFacts{
		Lack:      &place.Unplaced{Wanted: 2, Placed: 1, Why: "no engine is left"},
		Pool:      func(*model.Pool) Pool { return Pool{Status: status(poolState, "server s0: refused")} },
		Findings:  func() []string { return []string{"vsvip_ref: has no address"} },
		NotServed: func() []string { return []string{"engine one is away"} },
	}
	for _, step := range []struct {
		then func()
		want string
	}{
		{func() {}, "{6 [no engine is left]}"},
		{func() { facts.Assigned = 1 }, "{2 [cannot be served as it is configured vsvip_ref: has no address]}"},
		{func() { facts.Planned = true }, "{2 [engine one is away]}"},
		{func() { facts.Serving = 1 }, "{2 [pool web-pool is not up server s0: refused]}"},
		{func() { poolState = Up }, "{1 [it is on 1 of 2 engines: no engine is left]}"},
		{func() { facts.Lack = nil }, "{1 []}"},
		{func() { vs.TrafficEnabled = false }, "{3 [traffic_enabled is false]}"},
		{func() { vs.Enabled = false }, "{3 [enabled is false]}"},
	} {
		step.then()
		if got := fmt.Sprint(OfService(vs, facts)); got != step.want {
			t.Errorf("want %s, got %s", step.want, got)
		}
	}
}

func TestChildIsDisabledOrUnplacedWithItsParent(t *testing.T) {
	child, parent := &model.VirtualService{}, &model.VirtualService{}
	child.Type, child.Enabled, child.TrafficEnabled = "VS_TYPE_VH_CHILD", true, true
	parent.Name, parent.TrafficEnabled, child.Parent = "front", true, parent
	for _, known := range []struct {
		enabled bool
		want    State
		reason  string
	}{{false, Disabled, "its parent front takes no traffic"}, {true, NoResources, "its parent is on no engine"}} {
		parent.Enabled = known.enabled
		got := OfService(child, ServiceFacts{})
		if got.State != known.want || len(got.Reasons) != 1 || got.Reasons[0] != known.reason {
			t.Errorf("want %+v, got %+v", known, got)
		}
	}
}

func TestVirtualServiceIsUpAndNamesThePoolsOfRulesThatAreNot(t *testing.T) {
	api := poolOf(1)
	api.Name = "api"
	set := &model.HTTPPolicySet{Pools: []*model.Pool{api}}
	own := poolOf(1)
	for _, vs := range []*model.VirtualService{{Pool: own}, {}} {
		vs.Enabled, vs.TrafficEnabled, vs.Policies = true, true, []*model.HTTPPolicySet{set}
		facts := ServiceFacts{Assigned: 1, Serving: 1, Planned: true, Pool: func(pool *model.Pool) Pool {
			if pool == api {
				return Pool{Status: status(Down, "server s0: refused")}
			}
			return Pool{Status: status(Up)}
		}}
		const want = "{1 [pool api, which rules choose, is not up; server s0: refused]}"
		if got := fmt.Sprint(OfService(vs, facts)); got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
}

func TestVirtualServiceIsUpOnlyWithAsManyPoolsAsItWants(t *testing.T) {
	api, own := poolOf(1), poolOf(1)
	api.Name, own.Name = "api", "web"
	up := map[*model.Pool]bool{}
	vs := &model.VirtualService{Pool: own, Policies: []*model.HTTPPolicySet{{Pools: []*model.Pool{api}}}}
	vs.Enabled, vs.TrafficEnabled = true, true
	facts := ServiceFacts{Assigned: 1, Serving: 1, Planned: true, Pool: func(pool *model.Pool) Pool {
		if up[pool] {
			return Pool{Status: status(Up)}
		}
		return Pool{Status: status(Down, "server s0: refused")}
	}}
	const lost = "pool api is not up; server s0: refused"
	for _, known := range []struct {
		least uint32
		up    []*model.Pool
		want  string
	}{
		{1, []*model.Pool{own}, "{1 [pool api, which rules choose, is not up; server s0: refused]}"},
		{2, []*model.Pool{own}, "{2 [1 of 2 pools up, and min_pools_up is 2 " + lost + "]}"},
		{2, []*model.Pool{own, api}, "{1 []}"},
		{3, []*model.Pool{own, api}, "{2 [2 of 2 pools up, and min_pools_up is 3]}"},
		{1, []*model.Pool{api}, "{2 [pool web is not up server s0: refused]}"},
	} {
		clear(up)
		for _, pool := range known.up {
			up[pool] = true
		}
		vs.MinPoolsUp = known.least
		if got := fmt.Sprint(OfService(vs, facts)); got != known.want {
			t.Errorf("min_pools_up %d: want %s, got %s", known.least, known.want, got)
		}
	}
}
