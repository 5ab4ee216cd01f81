package route

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

// notes is an Announcer that records its calls.
type notes struct {
	told []string
	fail error
}

func (n *notes) Announce(route Route) error {
	n.told = append(n.told, "+"+route.Prefix.Addr().String())
	return n.fail
}

func (n *notes) Withdraw(prefix netip.Prefix) error {
	n.told = append(n.told, "-"+prefix.Addr().String())
	return n.fail
}

func (n *notes) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(n.told, want) {
		t.Errorf("told %q, want %q", n.told, want)
	}
	n.told = nil
}

// world is a Set and what it tells the others.
type world struct {
	*Set
	log     bytes.Buffer
	applied chan uint64
	reports chan *Routing
	events  chan Event
}

func newWorld(config Config) *world {
	w := &world{applied: make(chan uint64, 10), reports: make(chan *Routing, 100), events: make(chan Event, 10)}
	config.EngineUUID = func() string { return "se-1" }
	config.Apply = func(plan *plan.Plan) { w.applied <- plan.Revision }
	config.Changed = func(report *Routing) { w.reports <- report }
	config.Happened = func(event Event) { w.events <- event }
	config.Log = slog.New(slog.NewTextHandler(&w.log, nil))
	w.Set = New(config)
	return w
}

func next[T any](t *testing.T, from chan T, wanted func(T) bool) T {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case got := <-from:
			if wanted(got) {
				return got
			}
		case <-limit:
			t.Fatalf("no such %T came", *new(T))
		}
	}
}

func routes(addresses ...string) []Route {
	var all []Route
	for _, address := range addresses {
		at := netip.MustParseAddr(address)
		all = append(all, Route{Prefix: netip.PrefixFrom(at, at.BitLen())})
	}
	return all
}

func TestTellsRoutersOnlyOfTheDifference(t *testing.T) {
	w, routers := newWorld(Config{}), &notes{}
	tell := func(wanted []Route) (withdrew bool) {
		withdrew, err := w.announce(wanted, routers)
		must(t, err)
		return withdrew
	}
	tell(routes("192.0.2.1", "192.0.2.2"))
	routers.expect(t, "+192.0.2.1", "+192.0.2.2")
	tell(routes("192.0.2.1", "192.0.2.2"))
	routers.expect(t)
	if !tell(routes("192.0.2.2", "192.0.2.3")) {
		t.Error("does not know that it withdrew a route")
	}
	routers.expect(t, "-192.0.2.1", "+192.0.2.3")
	changed := routes("192.0.2.2", "192.0.2.3")
	changed[0].LocalPreference, changed[1].Services = 7, []string{"another"}
	if tell(changed) {
		t.Error("says that it withdrew a route that it changed")
	}
	routers.expect(t, "+192.0.2.2")
}

func TestTriesAgainWhatItCouldNotAnnounce(t *testing.T) {
	w, routers := newWorld(Config{}), &notes{fail: errors.New("no")}
	if _, err := w.announce(routes("192.0.2.1"), routers); err == nil || len(w.announced) != 0 {
		t.Errorf("takes it for announced: %v", w.announced)
	}
	routers.fail = nil
	if _, err := w.announce(routes("192.0.2.1"), routers); err != nil || len(w.announced) != 1 {
		t.Errorf("announced %v, %v", w.announced, err)
	}
	routers.expect(t, "+192.0.2.1", "+192.0.2.1")
}

func TestRemembersWhatRoutersKnowUntilTheyAreToldOtherwise(t *testing.T) {
	w, routers := newWorld(Config{}), &notes{}
	_, err := w.announce(routes("192.0.2.1", "192.0.2.2"), routers)
	must(t, err)
	routers.told, routers.fail = nil, errors.New("no")
	changed := routes("192.0.2.2")
	changed[0].LocalPreference = 7
	if withdrew, err := w.announce(changed, routers); err == nil || withdrew || len(w.announced) != 2 ||
		w.announced[1].LocalPreference != 0 {
		t.Errorf("takes routers to know of %v (withdrew: %t)", w.announced, withdrew)
	}
	routers.expect(t, "-192.0.2.1", "+192.0.2.2")
	routers.fail = nil
	if withdrew, err := w.announce(nil, routers); err != nil || !withdrew || len(w.announced) != 0 {
		t.Errorf("left %v, %v", w.announced, err)
	}
	routers.expect(t, "-192.0.2.1", "-192.0.2.2")
}

// serves is what a data plane says that has applied a Plan.
func (w *world) serves(plan *plan.Plan) {
	w.Applied(plan)
	w.Status(Serves)
}

func (w *world) start(t *testing.T) {
	done := make(chan struct{})
	go func() {
		w.Run(t.Context())
		close(done)
	}()
	t.Cleanup(func() { <-done })
}

func announcing(prefixes ...string) func(*Routing) bool {
	return func(report *Routing) bool {
		var got []string
		for _, route := range report.Routes {
			got = append(got, route.Prefix.String())
		}
		return slices.Equal(got, prefixes)
	}
}

func TestWithdrawsWhatAPlanTakesAwayBeforeTheDataPlaneGetsIt(t *testing.T) {
	w := newWorld(Config{})
	w.start(t)
	full := planOf(service{uuid: "web", addresses: []string{"192.0.2.1"}})
	w.Prepare(full)
	next(t, w.applied, func(revision uint64) bool { return revision == 1 })
	w.serves(full)
	next(t, w.reports, announcing("192.0.2.1/32"))
	empty := planOf()
	empty.Revision = 2
	w.Prepare(empty)
	next(t, w.reports, announcing())
	select {
	case <-w.applied:
		t.Error("the data plane had the Plan when routers heard of it")
	default:
	}
	next(t, w.applied, func(revision uint64) bool { return revision == 2 })
	w.Refused(empty)
	next(t, w.reports, announcing("192.0.2.1/32"))
}

// sampleOf says whether the server of a virtual service is up.
func sampleOf(up bool) map[plan.Member]bool {
	return map[plan.Member]bool{{Pool: "pool-web", Server: "a"}: up}
}

func TestWithdrawsWhatHasNoServerAndAnnouncesItAgain(t *testing.T) {
	w := newWorld(Config{})
	w.start(t)
	w.serves(planOf(service{uuid: "web", addresses: []string{"192.0.2.1"}, pool: []string{"a"}}))
	for range 2 {
		w.Sampled(sampleOf(true))
		next(t, w.reports, announcing("192.0.2.1/32"))
		w.Sampled(sampleOf(false))
		next(t, w.reports, announcing())
	}
}

// The virtual service has left the engine and is back before the next Sample.
func TestServersOfAVirtualServiceThatComesBackAreDownUntilTheyAreFoundUp(t *testing.T) {
	w := newWorld(Config{})
	with := planOf(service{uuid: "web", addresses: []string{"192.0.2.1"}, pool: []string{"a"}})
	for _, step := range []struct {
		what string
		do   func()
		up   bool
	}{
		{"it came", func() { w.Applied(with) }, false},
		{"its server was found up", func() { w.Sampled(sampleOf(true)) }, true},
		{"its Plan changed", func() { w.Applied(with) }, true},
		{"it left, and came back", func() { w.Applied(planOf()); w.Applied(with) }, false},
		{"its server was found up again", func() { w.Sampled(sampleOf(true)) }, true},
	} {
		if step.do(); w.facts.held.Advertisements[0].IsUp(w.facts.up) != step.up {
			t.Errorf("%s: up is %t", step.what, !step.up)
		}
	}
}

func TestWithdrawsAllWhenTheDataPlaneStaysAway(t *testing.T) {
	w := newWorld(Config{})
	w.start(t)
	w.serves(planOf(service{uuid: "web", addresses: []string{"192.0.2.1"}}))
	next(t, w.reports, announcing("192.0.2.1/32"))
	w.Status(Away)
	next(t, w.reports, announcing())
}

func TestLeavesInTwoStepsAndAtOnceWithoutRoutes(t *testing.T) {
	idle := newWorld(Config{})
	idle.settle = time.Hour
	idle.Leave()

	w := newWorld(Config{})
	w.settle = 10 * time.Millisecond
	w.start(t)
	w.serves(planOf(service{uuid: "web", addresses: []string{"192.0.2.1"}}))
	next(t, w.reports, announcing("192.0.2.1/32"))
	w.Leave()
	report := next(t, w.reports, func(*Routing) bool { return true })
	if !announcing("192.0.2.1/32")(report) || !slices.Contains(report.Routes[0].Communities, 65535<<16) {
		t.Errorf("the route is not marked: %v", report)
	}
	next(t, w.reports, announcing())
}

func TestWaitsToBeKnownFromWhenThereIsAnAddressToBeKnownBy(t *testing.T) {
	w := newWorld(Config{})
	w.facts.held = planOf()
	w.beat()
	if w.facts.beats != 0 {
		t.Error("counts before others can hear of it")
	}
	w.report = &Routing{NextHop: netip.MustParseAddr("10.1.0.11")}
	w.beat()
	if w.facts.beats != 1 {
		t.Errorf("counted %d", w.facts.beats)
	}
}

func TestTellsOfSessionsThatBeginAndEnd(t *testing.T) {
	peer := func(address string, state BGPState) PeerState {
		return PeerState{Address: netip.MustParseAddr(address), RemoteAS: 65001, State: state,
			Reason: "hold timer expired"}
	}
	const up, idle = Established, SessionIdle
	of := func(peers ...PeerState) *Routing { return &Routing{Peers: peers} }
	for _, c := range []struct {
		before, after *Routing
		want          string
	}{
		{of(), of(peer("10.0.0.1", idle)), ""},
		{of(), of(peer("10.0.0.1", up)), "BGP peer 10.0.0.1 of AS 65001 in global is up"},
		{of(peer("10.0.0.1", idle)), of(peer("10.0.0.1", up)), "BGP peer 10.0.0.1 of AS 65001 in global is up"},
		{of(peer("10.0.0.1", up)), of(peer("10.0.0.1", up)), ""},
		{of(peer("10.0.0.1", up)), of(peer("10.0.0.1", idle)),
			"BGP peer 10.0.0.1 of AS 65001 in global is down: hold timer expired"},
		{of(peer("10.0.0.1", up)), of(), "BGP peer 10.0.0.1 of AS 65001 in global is spoken to no more"},
		{of(peer("10.0.0.1", idle)), of(), ""},
	} {
		var got []string
		for _, event := range changes(c.before, c.after, "global") {
			if event.ID != "SE_BGP_PEER_STATE_CHANGE" {
				t.Errorf("the event is a %s", event.ID)
			}
			got = append(got, event.Message)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%v → %v: got %q", c.before, c.after, got)
		}
	}
}

func TestReportsWhoHearsOfARoute(t *testing.T) {
	peers := map[netip.Addr]*session{}
	for text, up := range map[string]bool{"127.0.0.2": true, "::1": true, "::2": false} {
		address := netip.MustParseAddr(text)
		peers[address] = &session{config: peerAt(address, 65000, 65000), up: up}
	}
	route := announced{Route: routes("2001:db8::1")[0]}
	if report := route.report(peers); fmt.Sprint(report.Peers) != "[::1]" {
		t.Errorf("got %v", report)
	}
}
