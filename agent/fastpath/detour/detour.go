// Package detour has the kernel pass on packets that a router sends to the wrong engine: it has the program of that name
// loaded and put where clients come in, and tells it of the other engines as Plans name them. What a Plan asks for is in
// plan.go, what the program is told in feed.go.
//
// Nothing is loaded while no virtual service is on several engines.
package detour

import (
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/fastpath"
	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/fastpath/detour"
)

const (
	// aliveFor is how long packets are taken from other engines after a sign of life of the data plane, which comes each
	// second unless it is busy with a Plan.
	aliveFor = 5 * time.Second
	// handedOverFor is the same while the next agent of this engine is waited for.
	handedOverFor = time.Minute
	// settleFor is how long the Plans that name an engine which came are on their way to the others.
	settleFor = 5 * time.Second
)

// Config says whose fast path it is.
type Config struct {
	// Addresses that a Plan has this engine speak to routers from, the one that others reach it at first.
	Addresses func(*plan.Plan) []netip.Addr
	Keep      bool // at the end, leave it to the next agent
	Log       *slog.Logger
}

// Set is the fast path of an engine. Beat, MaxSegment and Detours return at once, whatever the others are at: those load
// programs and ask the kernel, and may take long.
type Set struct {
	Config
	loader *fastpath.Loader

	work     sync.Mutex // of those that may take long; guards what follows
	held     *plan.Plan // that serves
	fed      wish
	uplinks  fastpath.Uplinks
	failure  string // the last that was logged
	failed   bool   // what is wanted is not all done
	released bool   // nothing is left of an agent before this one
	closed   bool

	mu       sync.Mutex // nothing that takes long has it; what follows is written with work held, too
	wanted   wish
	mtu      int                   // of the own address's interface; 0: not known
	objects  *detour.KernelObjects // nil: none are loaded
	lifeless error                 // why the last sign of life was not passed on
}

// New makes one that does nothing before the first Plan.
func New(config Config) *Set {
	return &Set{Config: config, loader: fastpath.New(), uplinks: fastpath.For(fastpath.Detour)}
}

// Expect makes ready for a Plan that comes, beside the one that serves.
func (s *Set) Expect(coming *plan.Plan) {
	s.work.Lock()
	defer s.work.Unlock()
	s.follow(s.held, coming)
}

// Hold is for the Plan that serves now, and no other.
func (s *Set) Hold(plan *plan.Plan) {
	s.work.Lock()
	defer s.work.Unlock()
	s.held = plan
	s.follow(plan)
}

// Refused says that the Plan that serves goes on to.
func (s *Set) Refused() {
	s.work.Lock()
	defer s.work.Unlock()
	s.follow(s.held)
}

// Attend sees to it that the programs are where they shall be.
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

// Beat takes a sign of life of the data plane: without any, clients of connections that came to other engines shall hear
// a reset there.
func (s *Set) Beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects != nil {
		s.lifeless = live(s.objects, aliveFor)
	}
}

// Close ends it, after what takes long: what that would put at uplinks later would stay there without an agent.
func (s *Set) Close() {
	s.work.Lock()
	defer s.work.Unlock()
	s.closed = true
	objects := s.objects
	if objects == nil {
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

// follow does what the last of the Plans asks for, and keeps what the others do.
func (s *Set) follow(plans ...*plan.Plan) {
	if s.closed {
		return
	}
	wanted := wishOf(s.Addresses(plans[len(plans)-1]), plans...)
	mtu := fastpath.MTUOf(wanted.own())
	s.mu.Lock()
	s.wanted, s.mtu = wanted, mtu
	s.mu.Unlock()
	s.do()
}

func (s *Set) do() {
	var err error
	s.prepare()
	switch {
	case s.objects != nil || len(s.wanted.vips) > 0:
		err = s.feed()
	case !s.released:
		err = s.uplinks.DetachFromAll() // an agent before this one may have left something
	}
	s.released = true
	s.complain(err)
}

// prepare does what costs packets, and begins what takes long: the first time, the engine has no clients yet. What fails is
// told when it is needed.
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

// monotonicNs is the time so long from now, by the clock that the programs go by.
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

// MaxSegment is how long a segment to or from an address may be to fit behind the headers of another engine that passes it
// on; 0: no other will.
func (s *Set) MaxSegment(address netip.Addr) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mtu == 0 || !s.wanted.advertised[address] {
		return 0
	}
	return min(s.mtu-fastpath.TunnelOverhead(s.wanted.own())-headersOf(address), segmentMax)
}

// Detours are what the programs have counted; nil: there are none.
func (s *Set) Detours() *Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		return nil
	}
	return counted(s.objects)
}
