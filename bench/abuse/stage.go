package abuse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/origin"
	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/lab"
)

// stage is everything that runs while one balancer is attacked. It is built anew for each balancer.
type stage struct {
	*run
	abuse abuse
	lab   *lab.Lab
	dir   string
	cert  peers.Certificate
	stops []func() error
	busy  []int // processes that the attack keeps busy
}

// inStage does something on a stage of its own, from nothing to nothing.
func (r *run) inStage(a abuse, do func(*stage) error) (err error) {
	s := &stage{run: r, abuse: a}
	err = lab.During("weir-abuse", r.programs, func(l *lab.Lab, dir string) (err error) {
		s.lab, s.dir = l, dir
		if s.cert, err = peers.MakeCertificate("ec", dir); err != nil {
			return err
		}
		return do(s)
	})
	for _, stop := range s.stops { // these stop after the lab's processes, which use them
		err = errors.Join(err, stop())
	}
	return err
}

// startServers starts the servers behind both services.
func (s *stage) startServers(ctx context.Context) (victim, attacked service, err error) {
	victim, attacked = service{Name: victimName}, service{Name: attackedName, Secure: s.abuse.secure,
		HTTP2: s.abuse.http2, Profile: s.abuse.profile}
	switch s.abuse.behind {
	case thinking:
		attacked.Servers, err = s.begin(beginThinking())
	case busy:
		attacked.Servers, err = s.begin(beginBusy(busyPlaces))
		victim.Servers = attacked.Servers
		return victim, attacked, err
	default:
		end := s.noteBusy()
		attacked.Servers, err = s.startFiles(ctx, attackedName, s.abuse.behind.objectBytes())
		end()
	}
	if err == nil {
		victim.Servers, err = s.startFiles(ctx, victimName, smallObjectBytes)
	}
	return victim, attacked, err
}

func (s *stage) begin(address string, stop func() error, err error) ([]string, error) {
	if err == nil {
		s.stops = append(s.stops, stop)
	}
	return []string{address}, err
}

const (
	smallObjectBytes = 128
	// largeObjectBytes is more than a balancer buffers of a response that nobody reads. It is not much more, because
	// the kernel buffers the rest for balancer and servers, and must not run out of memory for TCP.
	largeObjectBytes = 256 << 10
	// sendBuffer keeps the servers' unsent bytes from filling the kernel's memory for TCP, which all share here.
	sendBuffer = "16k"
)

func (b behind) objectBytes() int {
	if b == large {
		return largeObjectBytes
	}
	return smallObjectBytes
}

func (s *stage) startFiles(ctx context.Context, name string, objectBytes int) ([]string, error) {
	return origin.Start(ctx, s.lab, origin.Setup{Dir: filepath.Join(s.dir, "servers-"+name), Servers: 2,
		Host: "127.0.0.1", ObjectBytes: objectBytes,
		Bulk: objectBytes == largeObjectBytes, SendBuffer: sendBuffer})
}

// noteBusy has what starts until end is called count as kept busy by the attack.
func (s *stage) noteBusy() (end func()) {
	before := meter.Group(os.Getpid())
	return func() {
		for _, pid := range meter.Group(os.Getpid()) {
			if !slices.Contains(before, pid) {
				s.busy = append(s.busy, pid)
			}
		}
	}
}

// ask starts the clients. Clients, balancer and servers get CPU time before everything else, also before attackers: the
// attack is to use up what a balancer gives away, and not CPU time. Clients and the servers of their service go before
// those of the attacked one, with which they share cores here.
func (s *stage) ask(ctx context.Context, a asking) (crew, error) {
	c, err := a.begin(ctx, s.lab, s.longest())
	if err != nil {
		return nil, err
	}
	if err := meter.Prefer(os.Getpid(), s.busy); err != nil && !s.unpreferred {
		s.unpreferred = true
		s.Say("  Whatever else runs on this machine shows in the figures: %v.", err)
	}
	return c, nil
}

// scene is the clients, the attackers, and the process group that both connect to.
type scene struct {
	asking asking
	begin  func(context.Context) attack
	pid    int
}

// suffer measures what clients see at rest, and during the attack.
func (s *stage) suffer(ctx context.Context, at scene) (Outcome, error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave() // for clients and attackers that still run after an error
	rest, err := s.atRest(ctx, at.asking)
	if err != nil {
		return Outcome{}, err
	}
	before, err := read(at.pid)
	if err != nil {
		return Outcome{}, err
	}
	crew, err := s.ask(ctx, at.asking)
	if err != nil {
		return Outcome{}, err
	}
	attack := at.begin(ctx)
	pass(ctx, attack.Arrived(), arrivalMax)
	crew, coming, err := s.relieve(ctx, crew, at.asking)
	if err != nil {
		return Outcome{}, err
	}
	pass(ctx, nil, s.held)
	after, unread := read(at.pid)
	during, err := crew.end()
	toll := attack.End()
	if err := errors.Join(ctx.Err(), err, unread); err != nil {
		return Outcome{}, err
	}
	outcome := judge(rest, coming, during).under(toll)
	if s.abuse.weighed && toll.Most > 0 {
		outcome.KiBPerClient = float64(after.bytes-before.bytes) / 1024 / float64(toll.Most)
	}
	outcome.TCPMemory = after.tcpShare
	outcome.Waited = (after.waited - before.waited).Seconds() / after.at.Sub(before.at).Seconds()
	if outcome.Waited > waitedMax {
		outcome.Doubts = append(outcome.Doubts, fmt.Sprintf(
			"it waited %.1f %% of the time for its core, on which others ran", 100*outcome.Waited))
	}
	if after.tcpShare > tcpShareMax {
		outcome.Doubts = append(outcome.Doubts, fmt.Sprintf(
			"clients, balancer and servers had used %.0f %% of the kernel's memory for TCP", 100*after.tcpShare))
	}
	return outcome, nil
}

// waitedMax is the largest share of time that a balancer may wait for its core. A longer wait would show in the 99th
// percentile.
const waitedMax = 0.01

// tcpShareMax is the share of the kernel's memory for TCP that still leaves enough for every connection. Beyond the
// limit the kernel drops segments.
const tcpShareMax = 0.95

// reading is what the kernel says at a moment.
type reading struct {
	at       time.Time
	waited   time.Duration // that the process group was ready, and others had its core
	bytes    int64         // private memory of the group
	tcpShare float64       // of the kernel's memory for TCP, that the whole machine uses
}

func read(pid int) (r reading, err error) {
	r.at = time.Now()
	usage, err := meter.Read(pid)
	if err != nil {
		return r, err
	}
	r.waited = usage.Waited
	if r.bytes, err = meter.Private(pid); err != nil {
		return r, err
	}
	used, most, err := meter.TCPMemory()
	r.tcpShare = float64(used) / float64(max(1, most))
	return r, err
}

// warmUp fills pools and caches before anything counts.
const warmUp = time.Second

// arrivalMax is how long attackers may take to come.
const arrivalMax = time.Minute

// longest is more than clients have to do: they stop by themselves.
func (r *run) longest() time.Duration { return arrivalMax + r.rest + r.held + time.Minute }

// atRest is what clients see while nobody attacks.
func (s *stage) atRest(ctx context.Context, a asking) (map[string]Seen, error) {
	for _, span := range []time.Duration{warmUp, s.rest} {
		crew, err := s.ask(ctx, a)
		if err != nil {
			return nil, err
		}
		pass(ctx, nil, span)
		seen, err := crew.end()
		if err != nil || span == s.rest {
			return seen, err
		}
	}
	return nil, nil
}

// relieve replaces the clients who saw a brief attack begin by others, and returns what the first ones saw.
func (s *stage) relieve(ctx context.Context, crew crew, a asking) (crew, map[string]Seen, error) {
	if !s.abuse.brief {
		return crew, nil, nil
	}
	next, err := s.ask(ctx, a)
	coming, ended := crew.end()
	return next, coming, errors.Join(err, ended)
}

// pass lets time go by, until something happens, or ctx ends.
func pass(ctx context.Context, happens <-chan struct{}, span time.Duration) {
	select {
	case <-happens:
	case <-ctx.Done():
	case <-time.After(span):
	}
}
