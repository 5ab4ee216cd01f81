package elastic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/draw"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/topology"
)

// What clients do: half of the requests over connections that stay, half over new ones, all in TLS. They leave the machine
// room: what is to be seen is that nothing fails, not how fast it is.
const (
	keptPerClient, keptRate = 16, 100 // connections; requests a second
	newPerClient, newRate   = 16, 50
	loadMost                = 30 * time.Minute
)

// Ways in which clients ask.
const (
	kept   = "kept alive"
	afresh = "new connection"
)

// Failure is one request that failed.
type Failure struct {
	Begun  time.Time `json:"begun"`
	Failed time.Time `json:"failed"`
	Client string    `json:"client"`
	Over   string    `json:"over"`
	Cause  string    `json:"cause"`
	Engine string    `json:"engine,omitempty"` // that answered on this connection before; empty: none did
}

// Seen is what clients saw, all of them together.
type Seen struct {
	Requests, Failed int64
	Begun            time.Time
	First            map[string]time.Time // when each engine answered first
	Failures         []Failure
	Seconds          []draw.Second
}

// crowd is clients at work.
type crowd struct {
	field *field
	loads []atWork
}

type atWork struct {
	client, over string
	load         *lab.RunningLoad
}

// beginCrowd sets both clients to work, over connections that stay and over new ones.
func (f *field) beginCrowd(ctx context.Context) (*crowd, error) {
	c := &crowd{field: f}
	for number := range f.site.Topology.Clients.Count {
		for _, way := range []struct {
			over  string
			flags []string
		}{
			{kept, rate(keptPerClient, 0, keptRate)},
			{afresh, rate(newPerClient, 1, newRate)},
		} {
			if err := c.begin(ctx, number+1, way.over, append(way.flags, "--url", secureURL)...); err != nil {
				_, ended := c.end()
				return nil, errors.Join(err, ended)
			}
		}
	}
	return c, nil
}

// beginProbe has one client ask often over new connections in the clear: to see soon that an engine answers.
func (f *field) beginProbe(ctx context.Context) (*crowd, error) {
	c := &crowd{field: f}
	return c, c.begin(ctx, 1, afresh, append(rate(100, 1, 500), "--url", clearURL, "--timeout", "250ms")...)
}

func rate(connections, requestsEach, perSecond int) []string {
	return []string{"--connections", strconv.Itoa(connections), "--requests-per-connection", strconv.Itoa(requestsEach),
		"--rate", strconv.Itoa(perSecond), "--drain"}
}

func (c *crowd) begin(ctx context.Context, number int, over string, flags ...string) error {
	client, err := c.field.site.Client(number)
	if err != nil {
		return err
	}
	flags = append(flags, "--duration", fmt.Sprintf("%.0fs", loadMost.Seconds()), "--server-header", lab.AskedBy, "--timeline")
	load, err := client.BeginLoad(ctx, append(flags, sources(c.field.site.Topology.ClientNodes()[number-1])...)...)
	if err == nil {
		c.loads = append(c.loads, atWork{fmt.Sprintf("client-%d", number), over, load})
	}
	return err
}

// sources have a client connect from all its addresses.
func sources(node topology.Node) (flags []string) {
	for _, address := range node.Addresses() {
		if address.Is4() {
			flags = append(flags, "--source", address.String())
		}
	}
	return flags
}

// end lets the clients finish what is under way, and says what they saw.
func (c *crowd) end() (Seen, error) {
	s := Seen{First: map[string]time.Time{}}
	var errs []error
	for _, w := range c.loads {
		report, err := w.load.End()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s, %s: %w", w.client, w.over, err))
			continue
		}
		s.add(w, report, c.field.engineAt)
	}
	slices.SortFunc(s.Failures, func(a, b Failure) int { return a.Failed.Compare(b.Failed) })
	return s, errors.Join(errs...)
}

func (s *Seen) add(w atWork, report lab.LoadReport, engineAt func(string) string) {
	at := report.Timeline.Begun()
	after := func(us int64) time.Time { return at.Add(time.Duration(us) * time.Microsecond) }
	if s.Begun.IsZero() {
		s.Begun = at
	}
	s.Requests, s.Failed = s.Requests+report.Requests, s.Failed+report.ErrorTotal
	for address, us := range report.Timeline.FirstUs {
		if first, known := s.First[engineAt(address)]; !known || after(us).Before(first) {
			s.First[engineAt(address)] = after(us)
		}
	}
	for _, failure := range report.Timeline.Failures {
		told := Failure{after(failure.BegunUs), after(failure.FailedUs), w.client, w.over, failure.Cause, ""}
		if failure.Value != "" {
			told.Engine = engineAt(failure.Value)
		}
		s.Failures = append(s.Failures, told)
	}
	for i, second := range report.Timeline.Seconds {
		if len(s.Seconds) <= i {
			s.Seconds = append(s.Seconds, draw.Second{PerEngine: map[string]int64{}})
		}
		s.Seconds[i].Failures += second.Failures
		for address, count := range second.PerValue {
			s.Seconds[i].PerEngine[engineAt(address)] += count
		}
	}
}

// since are the failures of what was under way at a moment, or begun after it.
func (s *Seen) since(moment time.Time) []Failure {
	return slices.DeleteFunc(slices.Clone(s.Failures), func(f Failure) bool { return f.Failed.Before(moment) })
}

// mark says when something happened, on the clients' clock.
func (s *Seen) mark(at time.Time, what string) draw.Mark {
	return draw.Mark{At: at.Sub(s.Begun).Seconds(), What: what}
}

// causes counts failures by cause: ": connect 2, reset 1".
func causes(failures []Failure) string {
	counts := map[string]int{}
	for _, failure := range failures {
		counts[failure.Cause]++
	}
	var parts []string
	for _, cause := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", cause, counts[cause]))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}
