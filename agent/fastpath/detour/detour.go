// Package detour controls the program of that name, which has the kernel pass on packets that a router sent to the
// wrong engine. It loads the program, attaches it to the uplinks, and tells it the other engines that Plans name.
// plan.go reads what a Plan needs; feed.go writes it into the program's maps.
//
// Nothing is loaded while no virtual service is on several engines.
package detour

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/fastpath"
	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/fastpath/detour"
)

const (
	// aliveFor is how long the program accepts packets from other engines after the data plane's last sign of life.
	// Signs come every second, except while the data plane applies a Plan.
	aliveFor = 5 * time.Second
	// handedOverFor is the same while this engine waits for its next agent.
	handedOverFor = time.Minute
	// settleFor is how long it may take until all engines have the Plan that names a new engine.
	settleFor = 5 * time.Second
)

// Config says whose fast path it is.
type Config struct {
	// Addresses are those from which a Plan has this engine speak to routers. Other engines send to the first one.
	Addresses func(*plan.Plan) []netip.Addr
	Keep      bool // at the end, leave it to the next agent
	Log       *slog.Logger
}

// Set is the fast path of an engine. Beat, MaxSegment, ChangedSegments and Detours return at once, also while another
// method is running. The other methods load programs and ask the kernel, and may take long.
type Set struct {
	Config
	loader *fastpath.Loader

	work     sync.Mutex // held by methods that may take long; guards the fields below
	plans    plan.Standing
	earlier  siblings // what programs of an earlier agent know; nil: nothing, or it does not matter any more
	unread   error    // why that is not known; nil: it is, or it does not matter any more
	looked   bool     // for such programs
	fed      wish
	uplinks  fastpath.Uplinks
	failure  string // the last that was logged
	failed   bool   // what is wanted is not all done
	released bool   // nothing is left of an agent before this one
	closed   bool

	mu       sync.Mutex // held only briefly; the fields below are written under both locks
	wanted   wish
	mtu      int                   // of the own address's interface; 0: not known
	objects  *detour.KernelObjects // nil: none are loaded
	lifeless error                 // why the last sign of life was not passed on
	segments changedSegments       // that nobody has asked for yet
}

// changedSegments are the addresses whose MaxSegment has changed.
type changedSegments struct {
	all  bool
	some map[netip.Addr]bool
}

// New returns a Set that does nothing before the first Plan.
func New(config Config) *Set {
	return &Set{Config: config, loader: fastpath.New(), uplinks: fastpath.For(fastpath.Detour)}
}

// Expect prepares for a new Plan, while the current one still serves.
func (s *Set) Expect(coming *plan.Plan) {
	s.work.Lock()
	defer s.work.Unlock()
	s.plans.Expect(coming)
	s.follow()
}

// Hold is called when a Plan serves. Earlier Plans no longer matter.
func (s *Set) Hold(plan *plan.Plan) {
	s.work.Lock()
	defer s.work.Unlock()
	s.looked, s.earlier, s.unread = true, nil, nil
	s.plans.Hold(plan)
	s.follow()
}

// Assume is called when a Plan serves that the agent does not have, and this one stands for it. What programs of an
// earlier agent know stays, because the Plan that serves may need it.
func (s *Set) Assume(plan *plan.Plan) {
	s.work.Lock()
	defer s.work.Unlock()
	s.plans.Hold(plan)
	s.follow()
	if s.unread != nil {
		s.Log.Warn("connections that a router moves from one engine to another may be reset until a Plan of the "+
			"controller serves: what the agent before this one knew cannot be read", "reason", s.unread)
	}
}

// Refused is called when a new Plan was refused, and the current one keeps serving. Others may be on their way.
func (s *Set) Refused(plan *plan.Plan) {
	s.work.Lock()
	defer s.work.Unlock()
	s.plans.Drop(plan)
	s.follow()
}

// Attend makes sure that the programs are attached where they have to be.
func (s *Set) Attend() {
	s.work.Lock()
	defer s.work.Unlock()
	if s.objects == nil || s.closed {
		return
	}
	if s.failed || s.uplinks.Moved() {
		s.do()
	}
	s.mu.Lock()
	lifeless := s.lifeless
	s.mu.Unlock()
	if lifeless != nil {
		s.complain(lifeless)
	}
}

// Beat records a sign of life of the data plane. Without signs of life this engine takes no packets from other engines,
// so that their clients get a reset.
func (s *Set) Beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects != nil {
		s.lifeless = live(s.objects, aliveFor)
	}
}

// Close ends it. It waits for work in progress, which could otherwise attach a program that nobody removes.
func (s *Set) Close() {
	s.work.Lock()
	defer s.work.Unlock()
	s.closed = true
	objects := s.objects
	if objects == nil {
		if !s.released && !s.Keep {
			s.complain(s.uplinks.DetachFromAll()) // an earlier agent may have left programs
		}
		return
	}
	s.mu.Lock()
	s.objects = nil
	s.mu.Unlock()
	if s.Keep {
		s.complain(live(objects, handedOverFor))
	} else {
		s.complain(s.uplinks.Detach())
	}
	objects.Close()
}

// follow applies what the newest Plan needs, and keeps what the one that serves and other coming ones need.
func (s *Set) follow() {
	if s.closed {
		return
	}
	s.lookForEarlier()
	plans := s.plans.All()
	newest := plans[len(plans)-1]
	wanted := wishOf(s.Addresses(newest), plans...)
	wanted.keep(s.earlier)
	mtu := fastpath.MTUOf(wanted.own())
	added, removed := missing(s.wanted.advertised, wanted.advertised), missing(wanted.advertised, s.wanted.advertised)
	s.mu.Lock()
	s.segments.note(mtu != s.mtu || wanted.own() != s.wanted.own(), added, removed)
	s.wanted, s.mtu = wanted, mtu
	s.mu.Unlock()
	s.do()
}

// missing are the addresses that only the second set has.
func missing(from, in map[netip.Addr]bool) (all []netip.Addr) {
	for address := range in {
		if !from[address] {
			all = append(all, address)
		}
	}
	return all
}

func (c *changedSegments) note(all bool, some ...[]netip.Addr) {
	if c.all = c.all || all; c.all {
		c.some = nil
		return
	}
	if c.some == nil {
		c.some = map[netip.Addr]bool{}
	}
	for _, address := range slices.Concat(some...) {
		c.some[address] = true
	}
}

func (s *Set) do() {
	var err error
	s.prepare()
	switch {
	case s.objects != nil || len(s.wanted.vips) > 0:
		err = s.feed()
		s.released = true
	case !s.released && s.unread == nil: // an unread program may know what the Plan that serves needs
		err = s.uplinks.DetachFromAll()
		s.released = true
	}
	s.complain(err)
}

// prepare does the steps that lose packets or take long, at a time when the engine has no clients yet. An error is
// reported when the step is needed.
func (s *Set) prepare() {
	if len(s.wanted.addresses) == 0 {
		return
	}
	_ = fastpath.AddIngresses(s.wanted.addresses)
	go s.loader.AnswerNumberAt()
}

func (s *Set) load() error {
	if s.objects != nil {
		return nil
	}
	objects := &detour.KernelObjects{}
	if err := s.loader.Load(fastpath.Detour, objects); err != nil {
		return err
	}
	if _, unknown := s.loader.AnswerNumberAt(); unknown != nil {
		s.Log.Warn("a client whose first packet two engines answer may be reset", "reason", unknown)
	}
	s.mu.Lock()
	s.objects = objects
	s.mu.Unlock()
	return live(objects, aliveFor)
}

func live(objects *detour.KernelObjects, span time.Duration) error {
	until, err := monotonicNs(span)
	if err != nil {
		return err
	}
	if err := objects.AliveUntil.Put(uint32(0), until); err != nil {
		return fmt.Errorf("sign of life: %w", err)
	}
	return nil
}

// monotonicNs is the time after this span, on the clock that the programs use.
func monotonicNs(span time.Duration) (uint64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, fmt.Errorf("monotonic clock: %w", err)
	}
	return uint64(now.Nano() + span.Nanoseconds()), nil
}

// complain says each failure once.
func (s *Set) complain(err error) {
	s.failed = err != nil
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	if failure != "" && failure != s.failure {
		s.Log.Error("connections that a router moves from one engine to another are reset", "reason", failure)
	}
	s.failure = failure
}

// MaxSegment is the longest TCP segment to or from an address that still fits behind the headers of an engine that
// passes it on; 0: no engine will pass it on.
func (s *Set) MaxSegment(address netip.Addr) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mtu == 0 || !s.wanted.advertised[address] {
		return 0
	}
	return min(s.mtu-fastpath.TunnelOverhead(s.wanted.own())-headersOf(address), segmentMax)
}

// ChangedSegments are the addresses whose MaxSegment has changed since the last call.
func (s *Set) ChangedSegments() (all bool, some map[netip.Addr]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.segments
	s.segments = changedSegments{}
	return changed.all, changed.some
}

// Detours are the counters of the programs; nil: no program is loaded.
func (s *Set) Detours() *Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		return nil
	}
	return counted(s.objects)
}
