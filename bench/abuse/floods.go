package abuse

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/weir-lb/weir/bench/abuse/h2"
)

// flooders is how many attackers of HTTP/2 there are: few, because each costs the balancer much.
const flooders = 16

// ofHTTP2 is a row for each attack.
func ofHTTP2() (rows []row) {
	for _, attack := range h2.Attacks {
		kind := small
		if attack.Holds() {
			kind = large
		}
		r := suffered("h2-"+attack.Name, "clients of HTTP/2 "+attack.Title, flooders,
			abuse{behind: kind, http2: true, weighed: true, begin: floodWith(attack)})
		r.bar = barHTTP2
		rows = append(rows, r)
	}
	return rows
}

// comesAgain is how long an attacker waits before it returns.
const comesAgain = 100 * time.Millisecond

// flood is attackers that come again whenever their connection has ended.
type flood struct {
	stop    context.CancelFunc
	all     sync.WaitGroup
	arrived chan struct{}
	mu      sync.Mutex
	toll    Toll
}

func floodWith(with h2.Attack) func(context.Context, int, netip.AddrPort) attack {
	return func(ctx context.Context, count int, service netip.AddrPort) attack {
		ctx, stop := context.WithCancel(ctx)
		f := &flood{stop: stop, arrived: make(chan struct{}), toll: Toll{Most: count, Ends: map[string]int64{}}}
		for range count {
			f.all.Go(func() { f.repeat(ctx, with, service) })
		}
		close(f.arrived) // they come at once, and their arrival is a part of the attack
		return f
	}
}

func (f *flood) repeat(ctx context.Context, with h2.Attack, service netip.AddrPort) {
	for ctx.Err() == nil {
		end, err := with.Run(ctx, attackerAddress, service)
		f.note(end, err, ctx.Err() == nil)
		pass(ctx, nil, comesAgain)
	}
}

// note counts one connection. wasEnded: the balancer has ended it.
func (f *flood) note(end h2.End, err error, wasEnded bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil:
		f.toll.Refused, f.toll.Why = f.toll.Refused+1, err.Error()
	case !wasEnded:
		f.toll.Came++
	default:
		f.toll.Came, f.toll.Gone = f.toll.Came+1, f.toll.Gone+1
		how := "without a code"
		if end.Told {
			how = end.Code.String()
		}
		f.toll.Ends[how]++
	}
}

func (f *flood) gone() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.toll.Gone
}

// Arrived is closed from the beginning.
func (f *flood) Arrived() <-chan struct{} { return f.arrived }

// End sends them away.
func (f *flood) End() Toll {
	f.stop()
	f.all.Wait()
	return f.toll
}
