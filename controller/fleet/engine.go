package fleet

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

// Engine is all that is known about an engine, besides its object. The lock of Fleet guards it. nil is an engine about
// which nothing is known.
type Engine struct {
	State     health.Engine
	Since     time.Time // begin of the session, or the end of the last one
	Gone      string    // why there is no session
	Reported  time.Time // time of the last report; zero: none
	Version   string
	Resources *enginev1.Resources
	Status    *enginev1.Status

	Wanted   *enginev1.Plan // the Plan that the engine should have
	Held     *enginev1.Plan // the last Plan that it applied; nil: none, or unknown
	Warnings []*dataplanev1.Finding
	Refusal  *Refusal // of Wanted
	Routing  *enginev1.Routing
	Detours  *enginev1.Detours    // nil: the engine has no detour
	Host     *enginev1.HostSample // nil: the agent has told nothing of its machine
	// the sample of the host before, for rates; nil: there is none
	EarlierHost *enginev1.HostSample
	Sample      *Sample
	SampledAt   time.Time // when Sample came, by the controller's clock
	// the sample before, for rates; nil: it is of another process, or there is none
	Earlier *Sample
	begun   map[string]serviceTimes // in the first sample, by virtual service uuid

	// What this process had counted in earlier samples.
	serviceMinute minute[map[string]serviceTimes]
	serverMinute  minute[map[ServerKey]serverTimes]

	turnedAt  time.Time // when it last began or ceased to serve; before that, when it first connected
	served    time.Time // when it first served; zero: never
	gathering time.Time // see place.Engine

	heldKnown    bool                         // Held is what the engine has
	due          map[string]uint64            // resource uuid → revision in which it last changed
	dutyTurnedIn map[string]uint64            // virtual service uuid → revision in which its duty last changed
	duties       map[string]*duty             // by uuid of the virtual services in Held
	noRoom       map[string]bool              // virtual services for which Wanted has no room
	holdings     holdings                     // facts about virtual services, for placement
	sessions     map[netip.Addr]place.Session // of Routing, by the router's address
	announced    map[string]bool              // of Routing: virtual services that a router hears of

	verdicts   map[ServerKey]*enginev1.ServerVerdict
	checkTimes map[ServerKey]time.Duration // of servers with a verdict
	overflowed bool                        // verdicts were dropped
	suspects   map[ServerKey]time.Time     // since when servers are suspect to its workers
	sentAway   [shortages]sentAway

	counted bool // it had a Plan when this leader first heard of it, so its data plane may have counted before
	resumes bool // it served before this leader began: that it serves again is no event
}

// Refusal says why an engine refused a Plan.
type Refusal struct {
	Revision uint64
	Since    time.Time // of the first refusal of this Plan
	Errors   []*dataplanev1.Finding
}

func (r *Refusal) String() string { return fmt.Sprintf("refused revision %d: %s", r.Revision, r.why()) }

// why returns the first error, as one line. The warnings list all errors.
func (r *Refusal) why() string {
	if len(r.Errors) == 0 {
		return "it does not say why"
	}
	first := r.Errors[0]
	where := strings.TrimSuffix(fmt.Sprintf("%s %s: %s", first.GetKind(), first.GetName(), first.GetField()), ": ")
	return where + ": " + first.GetMessage()
}

// Unheard returns an engine that has not connected yet.
func Unheard(now time.Time) *Engine {
	return &Engine{
		Since: now, Gone: "has not connected yet", Status: &enginev1.Status{},
		due: map[string]uint64{}, dutyTurnedIn: map[string]uint64{}, duties: map[string]*duty{},
		verdicts: map[ServerKey]*enginev1.ServerVerdict{},
		holdings: holdings{stale: map[string]bool{}, open: map[string]bool{}},
	}
}

// Works tells whether the engine is connected and its data plane runs.
func (e *Engine) Works() bool { return e != nil && e.State == health.Serving }

// IsConnected tells whether the engine has a session.
func (e *Engine) IsConnected() bool { return e != nil && e.State.IsConnected() }

// Serves tells whether the engine answers clients of a virtual service.
func (e *Engine) Serves(serviceUUID string) bool {
	if e == nil || e.duties[serviceUUID] == nil {
		return false
	}
	duty := e.duties[serviceUUID].Duty
	return duty == place.Serve || duty == place.Drain
}

// HasApplied tells whether the engine has applied the newest state of a resource.
func (e *Engine) HasApplied(uuid string) bool {
	return e.isDue(uuid) && e.Held.GetRevision() >= e.due[uuid]
}

// HasNewest tells whether the engine is known to have applied the newest Plan for it.
func (e *Engine) HasNewest() bool {
	return e.heldKnown && e.Held != nil && e.Held.GetRevision() == e.Wanted.GetRevision()
}

// isDue tells whether a resource is in the newest Plan for the engine.
func (e *Engine) isDue(uuid string) bool {
	if e == nil {
		return false
	}
	_, due := e.due[uuid]
	return due
}

// WhyDown says why the engine does not work. Call it only for an engine that does not.
func (e *Engine) WhyDown() string {
	if !e.IsConnected() {
		return e.Gone
	}
	return strings.TrimSuffix("data plane is "+e.Dataplane()+": "+e.Status.GetReason(), ": ")
}

// Dataplane returns "running", "backing off", or "in an unknown state".
func (e *Engine) Dataplane() string {
	if e.Status.GetDataplane() == enginev1.DataplaneState_DATAPLANE_STATE_UNSPECIFIED {
		return "in an unknown state"
	}
	name := strings.TrimPrefix(e.Status.GetDataplane().String(), "DATAPLANE_STATE_")
	return strings.ToLower(strings.ReplaceAll(name, "_", " "))
}

// WhyNot says why an engine does not answer clients of a virtual service.
func (e *Engine) WhyNot(vs *model.VirtualService) string {
	switch {
	case e == nil:
		return "has not connected yet"
	case !e.IsConnected():
		return "is not connected: " + e.Gone
	case !e.Works():
		return strings.TrimSuffix("has a data plane that is "+e.Dataplane()+": "+e.Status.GetReason(), ": ")
	case e.Refusal != nil:
		return e.Refusal.String()
	case e.CutOff(vs) != "":
		return e.CutOff(vs)
	default:
		return "is applying the configuration"
	}
}
