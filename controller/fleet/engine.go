package fleet

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
)

// verdictsMax servers of one engine are remembered; what comes above is dropped.
const verdictsMax = 50_000

// engine is all that is known of an engine beside its object. The lock of Fleet guards it.
type engine struct {
	heard     bool // since this controller began
	up        bool // it is connected and its data plane runs
	upSince   time.Time
	returned  bool      // it has been up before
	gathering time.Time // see place.Engine
	lastEvent string    // SE_UP or SE_DOWN; empty: none yet
	connected bool
	since     time.Time // of connected
	reason    string    // of not connected
	reported  time.Time
	version   string
	resources *enginev1.Resources
	status    *enginev1.Status

	wanted    *enginev1.Plan
	due       map[string]uint64 // resource uuid → revision in which it last changed
	turned    map[string]uint64 // virtual service uuid → revision in which its duty last changed
	held      *enginev1.Plan    // the last that it applied; nil: none, or not told
	told      bool              // what it holds
	duties    map[string]*duty  // by uuid of the virtual services in held
	holdings  holdings          // of all these, for placement
	warnings  []*dataplanev1.Finding
	refusal   *refusal // of wanted
	routing   *enginev1.Routing
	detours   *enginev1.Detours            // nil: it passes nothing on
	sessions  map[netip.Addr]place.Session // of routing, by the router's address
	announced map[string]bool              // of routing: virtual services of which a router hears

	verdicts  map[serverKey]*enginev1.ServerVerdict
	suspects  map[serverKey]time.Time // since when servers are suspect to its workers
	hardships map[string]*hardship    // by event
	sample    *sample
	earlier   *sample // the one before, for rates; nil: of another process, or none
}

// refusal is a Plan that the engine did not take.
type refusal struct {
	revision uint64
	errors   []*dataplanev1.Finding
}

func (r *refusal) String() string { return fmt.Sprintf("refused revision %d: %s", r.revision, r.why()) }

// why is one line: the first error stands for the others, which the warnings list.
func (r *refusal) why() string {
	if len(r.errors) == 0 {
		return "it does not say why"
	}
	first := r.errors[0]
	where := strings.TrimSuffix(fmt.Sprintf("%s %s: %s", first.GetKind(), first.GetName(), first.GetField()), ": ")
	return where + ": " + first.GetMessage()
}

type serverKey struct{ pool, server string }

func newEngine(now time.Time) *engine {
	return &engine{
		hardships: map[string]*hardship{},
		since:     now, reason: "has not connected yet",
		holdings: holdings{stale: map[string]bool{}, open: map[string]bool{}},
		due:      map[string]uint64{}, turned: map[string]uint64{}, duties: map[string]*duty{}, verdicts: map[serverKey]*enginev1.ServerVerdict{},
		status: &enginev1.Status{},
	}
}

// expect notes what the engine shall have, and what of it is new.
func (e *engine) expect(wanted *enginev1.Plan) {
	if e.wanted == wanted {
		return
	}
	delta := plan.Delta(e.wanted, wanted)
	for _, resource := range delta.GetChanged() {
		e.due[resource.GetUuid()] = wanted.GetRevision()
	}
	for _, uuid := range delta.GetRemoved() {
		delete(e.due, uuid)
	}
	for uuid := range servicesIn(delta, e.wanted) {
		e.turn(uuid, wanted)
	}
	e.wanted, e.refusal = wanted, nil
}

// turn notes since when the engine shall do something else for a virtual service than before.
func (e *engine) turn(uuid string, wanted *enginev1.Plan) {
	e.holdings.lookAt(uuid)
	was, is := serviceIn(e.wanted, uuid), serviceIn(wanted, uuid)
	switch {
	case is == nil:
		delete(e.turned, uuid)
	case was == nil || was.GetDuty() != is.GetDuty():
		e.turned[uuid] = wanted.GetRevision()
	}
}

func (e *engine) apply(held *enginev1.Plan, warnings []*dataplanev1.Finding, now time.Time) {
	before := e.held
	e.held, e.told, e.warnings = held, true, warnings
	if held == e.wanted {
		e.refusal = nil
	}
	e.assume(before, held, now)
}

// serves tells whether clients of a virtual service are answered.
func (e *engine) serves(uuid string) bool {
	duty := e.duties[uuid]
	return duty != nil && (duty.Duty == place.Serve || duty.Duty == place.Drain)
}

// hasApplied tells whether the newest state of a resource is in force.
func (e *engine) hasApplied(uuid string) bool {
	due, wanted := e.due[uuid]
	return wanted && e.held.GetRevision() >= due
}

// works tells whether traffic to the engine is served.
func (e *engine) works() bool {
	return e.connected && e.status.GetDataplane() == enginev1.DataplaneState_DATAPLANE_STATE_RUNNING
}

// starts tells whether the engine is there and its data plane is about to be, or nothing is known of that yet.
func (e *engine) starts() bool {
	state := e.status.GetDataplane()
	return e.connected && (state == enginev1.DataplaneState_DATAPLANE_STATE_STARTING || state == enginev1.DataplaneState_DATAPLANE_STATE_UNSPECIFIED)
}

func (e *engine) judge(verdicts *enginev1.ServerVerdicts, wanted *wanted) {
	for _, verdict := range verdicts.GetVerdicts() {
		key := serverKey{verdict.GetPoolUuid(), verdict.GetServerId()}
		if _, known := e.verdicts[key]; !known && len(e.verdicts) >= verdictsMax {
			continue
		}
		e.verdicts[key] = verdict
		if !wanted.members[key] {
			wanted.unwanted[key] = true
		}
	}
}

// forgetServers drops the verdicts of servers that nobody wants, but for those that the engine still has: a server that is
// taken out and put back before the engine hears of it gets no second verdict. It returns these.
func (e *engine) forgetServers(unwanted map[serverKey]bool) (kept []serverKey) {
	var held map[serverKey]bool
	for key := range unwanted {
		if e.verdicts[key] == nil {
			continue
		}
		if held == nil {
			held = serversIn(e.held)
		}
		if held[key] {
			kept = append(kept, key)
		} else {
			delete(e.verdicts, key)
		}
	}
	return kept
}

func serversIn(held *enginev1.Plan) map[serverKey]bool {
	keys := map[serverKey]bool{}
	for _, resource := range held.GetResources() {
		pool := resource.GetPool().GetPool()
		for _, server := range pool.GetServers() {
			keys[serverKey{pool.GetUuid(), server.GetId()}] = true
		}
	}
	return keys
}
