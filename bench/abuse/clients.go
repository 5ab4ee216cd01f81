package abuse

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/weir-lb/weir/bench/origin"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/clients"
)

// Everybody has an address of their own, on loopback.
var (
	clientAddress   = netip.MustParseAddr("127.0.0.2")
	attackerAddress = netip.MustParseAddrPort("127.0.0.3:0") // from any port
)

// asking is what the other service's clients do.
type asking struct {
	url       string
	perSecond int // in each way
	kept      int // connections that stay
	flags     []string
}

// clientOnly stands in for a service where only the clients' rates are asked for.
var clientOnly netip.AddrPort

// askedFor is a modest load on a service. The purpose is to see that nothing fails, and not how fast it is.
func askedFor(service netip.AddrPort) asking {
	return asking{url: fmt.Sprintf("http://%s/%s", service, origin.Object), perSecond: 100, kept: 32}
}

// freshMax limits the new connections that wait at the same time: those that begin within a client's patience, and some
// more.
func (a asking) freshMax() int { return a.perSecond * int(patience/time.Second+2) }

func (a asking) ways() map[string][]string {
	return map[string][]string{
		Kept:   clients.Rate(a.kept, 0, a.perSecond),
		Afresh: clients.Rate(a.freshMax(), 1, a.perSecond),
	}
}

// crew is clients at work.
type crew map[string]*lab.RunningLoad

// begin sets clients to work in both ways; they stop by themselves after longest.
func (a asking) begin(ctx context.Context, l *lab.Lab, longest time.Duration) (crew, error) {
	c := crew{}
	for over, flags := range a.ways() {
		flags = append(flags, "--url", a.url, "--source", clientAddress.String(), "--timeout", flagOf(patience),
			"--duration", flagOf(longest))
		load, err := l.BeginLoad(ctx, append(flags, a.flags...)...)
		if err != nil {
			_, ended := c.end()
			return nil, errors.Join(err, ended)
		}
		c[over] = load
	}
	return c, nil
}

// end lets the clients wait for what is under way, and says what they saw.
func (c crew) end() (map[string]Seen, error) {
	seen := map[string]Seen{}
	var errs []error
	for over, load := range c {
		report, err := load.End()
		if err != nil {
			errs = append(errs, fmt.Errorf("clients, %s: %w", over, err))
			continue
		}
		seen[over] = seenBy(report)
	}
	return seen, errors.Join(errs...)
}

// flagOf is a time as weir-load reads it.
func flagOf(span time.Duration) string { return strconv.FormatInt(span.Milliseconds(), 10) + "ms" }
