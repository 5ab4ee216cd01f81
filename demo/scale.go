package demo

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/topology"
)

// scaleSteps are how many engines serve, one after the other.
var scaleSteps = []int{1, 4, 2}

func enginesMost() int { return slices.Max(scaleSteps) }

const (
	// A load that leaves the machine room: what it is to show is that nothing fails while engines come and go.
	scaleRate        = 200
	scaleConnections = 16
	changeSeconds    = 5 // of load while the number of engines changes
	shareSeconds     = 3 // of load after that, to see how it spreads
	scaleTimeout     = 20 * time.Second
	scaleoutVerb     = "scaleout"
	scaleinVerb      = "scalein"
)

// phase is what the load saw while the virtual service went to a number of engines, and was there.
type phase struct {
	Engines   int              `json:"engines"`
	Requests  int64            `json:"requests"`
	Errors    int64            `json:"errors"`
	PerEngine map[string]int64 `json:"per_engine"` // once they were so many

	errorsBy map[string]int64
}

// scale takes the virtual service to more engines and to fewer, under load.
func (s *stage) scale(ctx context.Context) ([]phase, error) {
	var phases []phase
	for _, engines := range scaleSteps {
		s.told.Begin(fmt.Sprintf("serve with %d of %d engines, under load", engines, enginesMost()))
		p, err := s.phase(ctx, engines)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			return phases, s.told.Failed(err)
		}
		s.told.Done(fmt.Sprintf("%d requests, %d failed", p.Requests, p.Errors))
		phases = append(phases, p)
	}
	return phases, nil
}

func (s *stage) phase(ctx context.Context, engines int) (phase, error) {
	changed := make(chan error, 1)
	during, err := s.client.LoadBetween(ctx, func() { go func() { changed <- s.scaleTo(ctx, engines) }() }, func() {}, s.scaleLoad(changeSeconds)...)
	if err != nil {
		return phase{}, err
	}
	if err := <-changed; err != nil {
		return phase{}, err
	}
	after, err := s.client.Load(ctx, s.scaleLoad(shareSeconds)...)
	if err != nil {
		return phase{}, err
	}
	p := phase{Engines: engines, Requests: during.Requests + after.Requests, Errors: during.ErrorTotal + after.ErrorTotal,
		PerEngine: map[string]int64{}, errorsBy: map[string]int64{}}
	for _, load := range []lab.LoadReport{during, after} {
		for cause, count := range load.Errors {
			p.errorsBy[cause] += count
		}
	}
	for address, count := range after.PerValue {
		p.PerEngine[s.engineAt(address)] = count
	}
	return p, nil
}

func (s *stage) scaleLoad(seconds int) []string {
	return []string{"--url", s.service.url(), "--tls", "1.2", "--cipher", loadCipher, "--rate", strconv.Itoa(scaleRate),
		"--connections", strconv.Itoa(scaleConnections), "--requests-per-connection", "1", "--drain",
		"--duration", fmt.Sprintf("%ds", seconds), "--server-header", lab.AskedBy}
}

// scaleTo orders one engine more or fewer at a time, and waits each time until the router has heard of it.
func (s *stage) scaleTo(ctx context.Context, engines int) error {
	ctx, cancel := context.WithTimeout(ctx, scaleTimeout)
	defer cancel()
	for {
		now, err := s.announcing()
		if err != nil || now == engines {
			return err
		}
		verb, next := scaleoutVerb, now+1
		if now > engines {
			verb, next = scaleinVerb, now-1
		}
		if err := s.controller.Session.Post(ctx, "virtualservice/"+s.service.uuid+"/"+verb, client.Object{}, nil); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
		if err := s.untilAnnouncing(ctx, next); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
	}
}

// announcing is how many engines the router sends clients to.
func (s *stage) announcing() (int, error) {
	router, err := s.site.Network.Namespace(topology.RouterName)
	if err != nil {
		return 0, err
	}
	hops, err := router.NextHops(netip.PrefixFrom(netip.MustParseAddr(s.service.address), 32))
	return len(hops), err
}

func (s *stage) untilAnnouncing(ctx context.Context, engines int) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		now, err := s.announcing()
		if err != nil || now == engines {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the router sends to %d engines and not to %d: %w", now, engines, ctx.Err())
		case <-poll.C:
		}
	}
}

// engineAt is the name of the engine that has an address.
func (s *stage) engineAt(address string) string {
	for _, node := range s.site.Topology.EngineNodes() {
		if node.Address().String() == address {
			return node.Name
		}
	}
	return address
}
