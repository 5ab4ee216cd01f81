package demo

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/draw"
	"github.com/weir-lb/weir/lab/topology"
)

// scaleSteps are how many engines serve, one after the other.
var scaleSteps = []int{1, 4, 2}

func enginesMost() int { return slices.Max(scaleSteps) }

const (
	// Rates of each client. They leave the machine room: the demo shows that nothing fails while engines come and go.
	newConnections, newPerSecond             = 16, 100
	keptConnections, keptEach, keptPerSecond = 16, 10, 50 // a connection carries ten requests, in about three seconds
	http2Connections, http2PerSecond         = 4, 50
	http2Streams                             = "4" // at once on a connection

	phaseSpan = 8 * time.Second
	// the last whole seconds of a phase: connections of the phase before are closed by then,
	shareSpan    = 4 * time.Second
	settleSpan   = 2 * time.Second // for which there is so much time at least, however long the engines took
	scaleTimeout = time.Minute
	scaleoutVerb = "scaleout"
	scaleinVerb  = "scalein"
)

// phase is what the clients saw while the virtual service went to a number of engines and stayed there. Each second
// belongs to one phase.
type phase struct {
	Engines  int   `json:"engines"`
	Requests int64 `json:"requests"` // answered
	Errors   int64 `json:"errors"`
	// the engine that answered, for each of Requests; also engines of the phase before
	PerEngine   map[string]int64  `json:"per_engine"`
	PerProtocol map[string]int64  `json:"per_protocol"`       // what the client spoke, for each of Requests
	Settled     settled           `json:"settled"`            // of Requests, those of the end of the phase
	Failures    []clients.Failure `json:"failures,omitempty"` // what the errors were; of very many, the first

	begun, ended time.Time
}

// settled is the end of a phase, after the number of engines was reached.
type settled struct {
	Seconds   int              `json:"seconds"`
	Requests  int64            `json:"requests"`
	PerEngine map[string]int64 `json:"per_engine"`
}

// scale adds and removes engines of the virtual service under load, and returns what the clients saw.
func (s *stage) scale(ctx context.Context) ([]phase, draw.Story, error) {
	crowd, err := clients.Begin(ctx, s.site, s.steadily()...)
	if err != nil {
		return nil, draw.Story{}, err
	}
	phases, failed := s.phases(ctx)
	seen, err := crowd.End()
	if failed != nil || err != nil {
		return phases, draw.Story{}, cmp.Or(failed, err)
	}
	story := draw.Story{Title: "Requests answered each second, by engine (areas) and by protocol (lines)",
		Seconds: seen.Seconds}
	share(phases, &seen)
	for i := range phases {
		story.Marks = append(story.Marks, seen.Mark(phases[i].begun, fmt.Sprintf("scale to %d", phases[i].Engines)))
	}
	story.Marks = story.Marks[1:] // it begins on one engine
	return phases, story, nil
}

// steadily is what the clients do meanwhile.
func (s *stage) steadily() (loads []clients.Load) {
	for number := range s.site.Topology.Clients.Count {
		loads = append(loads,
			clients.Load{Client: number + 1, Over: clients.Afresh, Protocol: http1,
				Flags: clients.Rate(newConnections, 1, newPerSecond)},
			clients.Load{Client: number + 1, Over: clients.Kept, Protocol: http1,
				Flags: clients.Rate(keptConnections, keptEach, keptPerSecond)},
			clients.Load{Client: number + 1, Over: clients.Kept + ", " + http2, Protocol: http2,
				Flags: append(clients.Rate(http2Connections, keptEach, http2PerSecond), "--http2",
					"--streams", http2Streams)})
	}
	for i := range loads {
		loads[i].Flags = append(loads[i].Flags, "--url", s.service.url(), "--tls", "1.2", "--cipher", loadCipher)
	}
	return loads
}

func (s *stage) phases(ctx context.Context) (phases []phase, err error) {
	for _, engines := range scaleSteps {
		s.told.Begin(fmt.Sprintf("serve with %d of %d engines, under load", engines, enginesMost()))
		p := phase{Engines: engines, begun: time.Now()}
		if err := s.scaleTo(ctx, engines); err != nil {
			return phases, s.told.Failed(err)
		}
		took := time.Since(p.begun)
		if err := s.watchFor(ctx, max(phaseSpan-took, settleSpan+shareSpan)); err != nil {
			return phases, s.told.Failed(err)
		}
		p.ended = time.Now()
		s.told.Done(fmt.Sprintf("the router sends to %d of them after %.1f s", engines, took.Seconds()))
		phases = append(phases, p)
	}
	return phases, nil
}

// watchFor reports each second how many requests are answered, and by which engines.
func (s *stage) watchFor(ctx context.Context, span time.Duration) error {
	watching, stop := context.WithTimeout(ctx, span)
	defer stop()
	s.watchRequests(watching)
	<-watching.Done()
	return ctx.Err()
}

// share divides what the clients saw among the phases: a second belongs to the phase that begins in it, otherwise to
// the present one.
func share(phases []phase, seen *clients.Seen) {
	end := len(seen.Seconds)
	for i := len(phases) - 1; i >= 0; i-- {
		from := 0
		if i > 0 {
			from = seen.Second(phases[i].begun)
		}
		phases[i].read(seen, from, end)
		end = from
	}
}

// read adds the seconds from one to another to the phase.
func (p *phase) read(seen *clients.Seen, from, to int) {
	p.PerEngine = clients.PerEngine(seen.Seconds[from:to])
	p.PerProtocol = clients.PerProtocol(seen.Seconds[from:to])
	p.Requests = sum(p.PerEngine)
	for _, second := range seen.Seconds[from:to] {
		p.Errors += second.Failures
	}
	p.Failures = slices.DeleteFunc(slices.Clone(seen.Failures), func(f clients.Failure) bool {
		at := min(seen.Second(f.Failed), len(seen.Seconds)-1)
		return at < from || at >= to
	})
	last := min(seen.Second(p.ended.Add(-seen.Skew)), to) // over for all loads when the phase ended
	first := max(from, last-int(shareSpan.Seconds()))
	p.Settled = settled{Seconds: last - first, PerEngine: clients.PerEngine(seen.Seconds[first:last])}
	p.Settled.Requests = sum(p.Settled.PerEngine)
}

func sum(counts map[string]int64) (total int64) {
	for _, count := range counts {
		total += count
	}
	return total
}

// scaleTo orders one engine more or fewer at a time, and waits each time until the router has changed its routes.
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
		if err := s.controller.Session.Post(ctx, "virtualservice/"+s.service.uuid+"/"+verb, client.Object{},
			nil); err != nil {
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
	hops, err := router.NextHops(s.service.route())
	return len(hops), err
}

func (s *stage) untilAnnouncing(ctx context.Context, engines int) error {
	router, err := s.site.Network.Namespace(topology.RouterName)
	if err != nil {
		return err
	}
	return router.UntilHopCount(ctx, s.service.route(), engines)
}

// route is what the router knows of it.
func (s service) route() netip.Prefix { return netip.PrefixFrom(netip.MustParseAddr(s.address), 32) }
