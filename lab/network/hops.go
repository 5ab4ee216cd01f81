package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// hopsPoll is the interval at which a node's routes are read by a process that waits for a change.
const hopsPoll = 5 * time.Millisecond

// UntilHops waits until the node's route to exactly this prefix has these gateways, in any order.
func (s *Namespace) UntilHops(ctx context.Context, prefix netip.Prefix, want ...netip.Addr) error {
	want = slices.SortedFunc(slices.Values(want), netip.Addr.Compare)
	return s.untilHops(ctx, prefix, fmt.Sprint(want), func(hops []netip.Addr) bool { return slices.Equal(hops, want) })
}

// UntilHopCount waits until the node's route to exactly this prefix has this many gateways.
func (s *Namespace) UntilHopCount(ctx context.Context, prefix netip.Prefix, count int) error {
	return s.untilHops(ctx, prefix, fmt.Sprintf("%d gateways", count), func(hops []netip.Addr) bool {
		return len(hops) == count
	})
}

func (s *Namespace) untilHops(ctx context.Context, prefix netip.Prefix, want string,
	right func([]netip.Addr) bool) error {
	poll := time.NewTicker(hopsPoll)
	defer poll.Stop()
	for {
		hops, err := s.NextHops(prefix)
		if err != nil || right(hops) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s sends %s by %v and not by %s: %w", s.Node, prefix, hops, want, ctx.Err())
		case <-poll.C:
		}
	}
}
