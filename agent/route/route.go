// Package route tells routers over BGP which addresses this engine serves, so that clients come to it.
//
// decide.go is the decision, a pure function; heartbeat.go counts the data plane's signs of life. Set gathers what they
// go by from the other parts of the agent and has an Announcer carry it out: speaker.go, over GoBGP (peer.go, path.go
// and policy.go say it as the library takes it, state.go reads what the library says, restart.go goes on for another
// agent), and package bfd; vip.go puts the addresses on an interface, report.go is what the controller hears. Routes
// are withdrawn before what they lead to is taken away and announced after it is there. The loss of the controller
// never withdraws anything.
package route

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

const (
	beat = time.Second
	// settle is how long routers get to send clients elsewhere, after a route was withdrawn or marked as leaving.
	settle = 500 * time.Millisecond
)

// Announcer announces routes to routers. No method waits for an answer of a router.
type Announcer interface {
	Announce(Route) error // replaces an earlier route with the same prefix
	Withdraw(netip.Prefix) error
}

// Config says where VIPs go, and who is told of changes.
type Config struct {
	EngineUUID func() string // for a router id if there is no IPv4 address
	// Interface gets the VIPs. Empty: somebody else has the machine accept packets for them.
	Interface string
	Keep      bool // leave the VIPs there at the end, for the next agent
	// Plan is that of the earlier agent, nil if there is none. Its VIPs on the interface belong to us, and stay until
	// Applied.
	Plan     *plan.Plan
	Apply    func(*plan.Plan) // gives a Plan to the data plane
	Changed  func(*Routing)
	Happened func(Event)
	Log      *slog.Logger
}

// Set is all the routes of an engine.
type Set struct {
	Config
	settle  time.Duration
	resume  time.Duration // resumeWithin
	speaker *speaker
	vips    *vips
	woken   chan struct{} // capacity 1

	mu          sync.Mutex
	facts       facts
	heart       heartbeat
	resumption  resumption
	keepsRoutes bool       // all routers that know the routes keep them while this agent is replaced
	toldBy      time.Time  // when routers have received the routes that they keep
	toGive      *plan.Plan // Plan for the data plane, as soon as routers have had their time; nil: none
	report      *Routing

	// Of Run alone.
	announced []announced // sorted by prefix
	settled   time.Time   // when routers have acted on the last withdrawal
	failure   string      // the last that was logged
}

// announced is a route that routers have.
type announced struct {
	Route
	sinceUnixMs uint64
}

// New returns a Set that announces nothing before Run.
func New(config Config) *Set {
	s := &Set{
		Config: config, settle: settle, resume: resumeWithin, woken: make(chan struct{}, 1), heart: newHeartbeat(),
		report: new(Routing),
	}
	s.facts.before = config.Plan
	s.vips = newVIPs(config.Interface, config.Plan.VIPs(), config.Log)
	s.speaker = newSpeaker(config.EngineUUID, s.wake, config.Log)
	s.speaker.keeps, s.speaker.follows = config.Keep, config.Keep && config.Plan != nil
	if s.speaker.follows {
		s.resumption = resuming
		s.facts.beats = knownBeats // others have heard of this engine
		s.report.NextHop = s.nextHop()
	}
	return s
}

func (s *Set) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// tell changes the facts and wakes Run.
func (s *Set) tell(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	s.wake()
}

// Prepare takes a Plan on its way to the data plane. Routes that it removes are withdrawn first, and routers get a
// moment to act on that. If several Plans wait, only the newest goes on.
func (s *Set) Prepare(plan *plan.Plan) {
	s.tell(func() { s.facts.coming, s.toGive = plan, plan })
}

// Applied reports that the data plane serves a Plan.
func (s *Set) Applied(plan *plan.Plan) {
	s.tell(func() {
		s.facts.hold(plan)
		s.answered(plan)
	})
}

// Refused reports that the data plane refused the newest Plan, and serves the one before.
func (s *Set) Refused(plan *plan.Plan) {
	s.tell(func() { s.answered(plan) })
}

func (s *Set) answered(plan *plan.Plan) {
	if s.facts.coming == plan {
		s.facts.coming = nil
	}
}

// Status takes the supervisor's report about the data plane.
func (s *Set) Status(dataplane Dataplane) {
	s.tell(func() {
		s.heart.status(dataplane)
		s.resumption = s.resumption.heard(dataplane)
	})
}

// Sampled takes a sign of life of the data plane, and which servers it uses.
func (s *Set) Sampled(up map[plan.Member]bool) {
	s.tell(func() {
		s.heart.sampled()
		s.facts.up = up
		if s.facts.held != nil {
			s.resumption = resumed
		}
	})
}

// Routing is the last report. Nobody may change it.
func (s *Set) Routing() *Routing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report
}

// Leave has routers send clients to other engines and returns when they had the time to: every route is marked as
// leaving first, so that none is without a way while another is looked for, and withdrawn then. It tells whether there
// was any. Where the data plane serves on and routers keep its routes, they are asked to wait for the next agent, and
// no more, once they have heard what this one took over.
func (s *Set) Leave() (led bool) {
	led = len(s.Routing().Routes) > 0 // before Run learns of it: afterwards there may be no session
	steps := []departure{leaving, gone}
	keep, toldBy := s.routersKeep()
	if keep {
		time.Sleep(time.Until(toldBy))
	}
	if keep && s.speaker.bfd.BePatient(restartTime) {
		steps = []departure{replaced}
	}
	for _, step := range steps {
		s.tell(func() { s.facts.leaving = step })
		if led {
			time.Sleep(s.settle)
		}
	}
	return led
}

func (s *Set) routersKeep() (keep bool, toldBy time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keepsRoutes && s.heart.serving, s.toldBy
}

// Run announces routes until ctx ends. Then it withdraws them, or leaves them to the next agent.
func (s *Set) Run(ctx context.Context) {
	if !s.Keep {
		defer s.vips.clear()
	}
	defer s.hangUp()
	defer time.AfterFunc(s.resume, func() { s.tell(func() { s.resumption = resumed }) }).Stop()
	beats := time.NewTicker(beat)
	defer beats.Stop()
	for {
		coming, withdrew := s.reconcile()
		if withdrew {
			s.settled = time.Now().Add(s.settle)
		}
		var settled <-chan time.Time
		if wait := time.Until(s.settled); wait > 0 {
			settled = time.After(wait)
		} else {
			s.give(coming)
		}
		select {
		case <-settled:
		case <-beats.C:
			s.beat()
		case <-s.woken:
		case <-ctx.Done():
			return
		}
	}
}

// hangUp ends the sessions. If the data plane has ended meanwhile, it sends a NOTIFICATION, so that routers drop routes
// that they were to keep.
func (s *Set) hangUp() {
	s.mu.Lock()
	keep := s.facts.leaving == replaced && s.heart.serving
	s.mu.Unlock()
	if keep {
		s.speaker.pause()
	} else {
		s.speaker.stop()
	}
}

func (s *Set) beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heart.beat()
	if s.facts.held != nil && s.report.NextHop.IsValid() {
		s.facts.beats++
	}
}

// give hands a Plan to the data plane if it is still the waiting one.
func (s *Set) give(coming *plan.Plan) {
	s.mu.Lock()
	due := s.toGive != nil && s.toGive == coming
	if due {
		s.toGive = nil
	}
	s.mu.Unlock()
	if due {
		s.Apply(coming)
	}
}

// reconcile brings what routers know to what they should know. It returns which pending Plan it has taken into account,
// and whether it has withdrawn a route. Where routers may have kept routes for us, it opens no session before all
// routes are known: routers drop routes that they do not hear again.
func (s *Set) reconcile() (coming *plan.Plan, withdrew bool) {
	s.mu.Lock()
	facts, resumption := s.facts, s.resumption
	facts.alive = s.heart.alive(facts.coming != nil)
	s.mu.Unlock()
	if facts.leaving == replaced {
		return facts.coming, false
	}
	if facts.held != nil { // until then, the routes of the earlier agent stay
		facts.absent = s.vips.hold(facts.held.VIPs())
	}
	follows := s.speaker.follows
	var failed error
	if !follows {
		failed = s.speak(facts.spoken())
	}
	facts.own = speaksFrom(s.speaker.peers)
	withdrew, err := s.announce(decide(facts), s.speaker)
	failed = errors.Join(failed, err)
	if follows && resumption == resumed {
		failed = errors.Join(failed, s.speak(facts.spoken()))
	}
	s.complain(failed)
	s.tellOf(s.speaker.states())
	return facts.coming, withdrew
}

// speak keeps sessions with the routers of a Plan.
func (s *Set) speak(plan *plan.Plan) error {
	err := s.speaker.configure(plan.BGP(), plan.VIPs())
	s.speaker.follows = s.speaker.follows && len(s.speaker.peers) == 0
	return err
}

// announce sends the difference between what routers know and what they should know: first withdrawals, then
// announcements. What fails is tried again at the next beat.
func (s *Set) announce(wanted []Route, to Announcer) (withdrew bool, failed error) {
	known, stuck, failed := s.withdraw(wanted, to)
	withdrew = len(known)+len(stuck) < len(s.announced)
	s.announced = stuck
	for _, route := range wanted {
		next := announced{Route: route, sinceUnixMs: uint64(time.Now().UnixMilli())}
		before, has := known[route.Prefix]
		if has {
			next.sinceUnixMs = before.sinceUnixMs
		}
		if !has || !before.same(&route) {
			s.Log.Info("announcing a route", "route", route.String(), "leaving", route.Leaving)
			if err := to.Announce(route); err != nil {
				failed = errors.Join(failed, err)
				if !has {
					continue
				}
				next = before
			}
		}
		s.announced = append(s.announced, next)
	}
	slices.SortFunc(s.announced, func(a, b announced) int { return a.Prefix.Addr().Compare(b.Prefix.Addr()) })
	return withdrew, failed
}

// withdraw removes routes that are no longer wanted. It returns the other routes that routers know, and those that it
// could not withdraw.
func (s *Set) withdraw(wanted []Route, to Announcer) (
	known map[netip.Prefix]announced, stuck []announced, failed error,
) {
	stays := make(map[netip.Prefix]bool, len(wanted))
	for _, route := range wanted {
		stays[route.Prefix] = true
	}
	known = map[netip.Prefix]announced{}
	for _, before := range s.announced {
		if stays[before.Prefix] {
			known[before.Prefix] = before
			continue
		}
		s.Log.Info("withdrawing a route", "route", before.String())
		if err := to.Withdraw(before.Prefix); err != nil {
			stuck, failed = append(stuck, before), errors.Join(failed, err)
		}
	}
	return known, stuck, failed
}

// complain logs an error once; each beat tries again.
func (s *Set) complain(err error) {
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	if failure != "" && failure != s.failure {
		s.Log.Error("not all routers are told of this engine's routes", "reason", failure)
	}
	s.failure = failure
}
