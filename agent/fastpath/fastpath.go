// Package fastpath has the kernel pass on packets that a router sends to the wrong engine: it loads the programs of
// fastpath/, puts them at the uplink, and tells them of the other engines as Plans name them. What a Plan asks for is in
// plan.go, the uplink in uplink.go.
//
// The programs go on when the agent is gone. Nothing is loaded while no virtual service is on several engines.
package fastpath

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/fastpath"
)

// Config says whose fast path it is.
type Config struct {
	NextHop func(*enginev1.Plan) netip.Addr // where routes to this engine lead; invalid: nowhere yet
	Keep    bool                            // at the end, leave it to the next agent
	Log     *slog.Logger
}

const (
	// aliveFor is how long packets are taken from other engines after a sign of life of the data plane, which comes each second.
	aliveFor = 3 * time.Second
	// handedOverFor is the same while the next agent of this engine is waited for.
	handedOverFor = time.Minute
)

// Set is the fast path of an engine.
type Set struct {
	Config

	mu       sync.Mutex
	held     *enginev1.Plan // that serves
	objects  *fastpath.DetourObjects
	uplink   uplink
	fed      wish
	expected wish
	failure  string // the last that was logged
}

// New makes one that does nothing before the first Plan.
func New(config Config) *Set { return &Set{Config: config} }

// Expect makes ready for a Plan that comes, beside the one that serves.
func (s *Set) Expect(coming *enginev1.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow(s.held, coming)
}

// Hold is for the Plan that serves now, and no other.
func (s *Set) Hold(plan *enginev1.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = plan
	s.follow(plan)
}

// Close ends it.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		return
	}
	if s.Keep {
		s.complain(s.live(handedOverFor))
	} else {
		s.complain(s.uplink.detach())
	}
	s.objects.Close()
	s.objects = nil
}

// follow does what the last of the Plans asks for, and keeps what the others do.
func (s *Set) follow(plans ...*enginev1.Plan) {
	wanted := wishOf(s.NextHop(plans[len(plans)-1]), plans...)
	s.expected = wanted
	if s.objects == nil && len(wanted.vips) == 0 {
		return
	}
	s.complain(s.feed(wanted))
}

func (s *Set) feed(wanted wish) error {
	if err := s.load(); err != nil {
		return err
	}
	if !wanted.own.IsValid() {
		return nil // it has lost its address: what was there may come back
	}
	if err := s.uplink.attach(wanted.own, s.objects.Uplink); err != nil {
		return err
	}
	if err := s.objects.Own.Put(uint32(0), packed(wanted.own)); err != nil {
		return fmt.Errorf("own address: %w", err)
	}
	err := errors.Join(s.feedEngines(wanted), s.feedVIPs(wanted))
	s.fed = wanted
	return err
}

func (s *Set) load() error {
	if s.objects != nil {
		return nil
	}
	objects := &fastpath.DetourObjects{}
	if err := fastpath.LoadDetourObjects(objects, nil); err != nil {
		return fmt.Errorf("the kernel does not take the programs (the agent needs CAP_BPF and CAP_NET_ADMIN): %w", err)
	}
	s.objects = objects
	return s.live(aliveFor)
}

// Beat takes a sign of life of the data plane. Without any, clients of connections that came to other engines shall hear
// a reset there.
func (s *Set) Beat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects != nil {
		s.complain(s.live(aliveFor))
	}
}

func (s *Set) live(span time.Duration) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("monotonic clock: %w", err)
	}
	if err := s.objects.AliveUntil.Put(uint32(0), uint64(now.Nano()+span.Nanoseconds())); err != nil {
		return fmt.Errorf("sign of life: %w", err)
	}
	return nil
}

// feedEngines says which engines there are. One that cannot be reached now is none.
func (s *Set) feedEngines(wanted wish) error {
	var failed error
	for _, engine := range wanted.engines() {
		link, err := linkTowards(engine)
		if err == nil {
			err = s.objects.Engines.Put(packed(engine), link)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("engine at %s: %w", engine, err))
		}
	}
	for _, engine := range s.fed.engines() {
		if !slices.Contains(wanted.engines(), engine) {
			failed = errors.Join(failed, ignoreAbsent(s.objects.Engines.Delete(packed(engine))))
		}
	}
	return failed
}

func (s *Set) feedVIPs(wanted wish) error {
	var failed error
	for vip, engines := range wanted.vips {
		var siblings fastpath.DetourSiblings
		for _, engine := range engines[:min(len(engines), len(siblings.Engine))] {
			siblings.Engine[siblings.Count] = packed(engine)
			siblings.Count++
		}
		failed = errors.Join(failed, s.objects.Vips.Put(packed(vip), siblings))
	}
	for vip := range s.fed.vips {
		if _, still := wanted.vips[vip]; !still {
			failed = errors.Join(failed, ignoreAbsent(s.objects.Vips.Delete(packed(vip))))
		}
	}
	return failed
}

func ignoreAbsent(err error) error {
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	return err
}

// Detours are what the programs have counted; nil: there are none.
func (s *Set) Detours() *enginev1.Detours {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		return nil
	}
	counted := new(enginev1.Detours)
	for key, into := range []*uint64{ // in the order of enum count
		&counted.Strays, &counted.Searched, &counted.Found, &counted.PassedOn, &counted.Taken, &counted.Unowned, &counted.Dropped,
	} {
		var cores []uint64
		if err := s.objects.Counters.Lookup(uint32(key), &cores); err != nil {
			s.complain(fmt.Errorf("counters: %w", err))
		}
		for _, count := range cores {
			*into += count
		}
	}
	return counted
}

// complain says each failure once.
func (s *Set) complain(err error) {
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	if failure != "" && failure != s.failure {
		s.Log.Error("connections that a router moves from one engine to another are reset", "reason", failure)
	}
	s.failure = failure
}

// MaxSegment is how long a segment to an address may be to fit behind the headers of another engine that passes it on; 0:
// no other will.
func (s *Set) MaxSegment(address netip.Addr) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.expected.advertised[address] {
		return 0
	}
	mtu, err := mtuOf(s.expected.own)
	if err != nil {
		return 0
	}
	return mtu - s.expected.overhead() - headersOf(address)
}
