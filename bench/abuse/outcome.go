package abuse

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/lab"
)

// Ways in which the other service's clients ask.
const (
	Kept   = "kept alive"
	Afresh = "new connection"
)

// Seen is what clients saw over one kind of connection, kept or new.
type Seen struct {
	Asked  int64            `json:"asked"`
	Failed int64            `json:"failed"`
	Causes map[string]int64 `json:"causes,omitempty"`
	P50us  float64          `json:"p50_us"`
	P99us  float64          `json:"p99_us"`
}

// patience is how long a client waits for its response. A client without a response counts in the quantiles with this
// time.
const patience = 5 * time.Second

// seenBy turns a load's report into what its clients saw. A request that was due and found no connection counts as
// failed.
func seenBy(r lab.LoadReport) Seen {
	s := Seen{Asked: r.Requests + r.ErrorTotal + r.Missed, Failed: r.ErrorTotal + r.Missed, Causes: map[string]int64{},
		P50us: r.P50us, P99us: r.P99us}
	for cause, count := range r.Errors {
		if count > 0 {
			s.Causes[cause] = count
		}
	}
	if r.Missed > 0 {
		s.Causes["never begun"] = r.Missed
	}
	waited := float64(patience.Microseconds())
	if 2*s.Failed > s.Asked {
		s.P50us = waited
	}
	if 100*s.Failed > s.Asked {
		s.P99us = waited
	}
	return s
}

// noise is the least value that the 99th percentile at rest counts as. On a machine with two shared cores a smaller
// value depends more on the machine than on the balancer.
const noise = time.Millisecond

// against is how many times the percentile at rest it was.
func (s Seen) against(rest Seen) float64 {
	return s.P99us / max(rest.P99us, float64(noise.Microseconds()))
}

// Toll is what came of the attackers.
type Toll struct {
	Came    int64   `json:"came"`          // connections that were established, also those of attackers who returned
	Refused int64   `json:"refused"`       // that did not come about within a second
	Gone    int64   `json:"gone"`          // that the balancer ended
	Most    int     `json:"most"`          // at once
	Why     string  `json:"why,omitempty"` // the last one was refused
	Took    float64 `json:"took_s"`        // until all had come, or tried to
	// how the balancer ended connections of HTTP/2, by the code of its last GOAWAY
	Ends map[string]int64 `json:"ends,omitempty"`
}

// Outcome is what one balancer made of an abuse.
type Outcome struct {
	// p99 over that at rest, of the way in which clients ask that suffered most
	Ratio        float64 `json:"ratio"`
	Over         string  `json:"over"` // that way; its percentiles follow
	Failed       int64   `json:"failed"`
	P50us        float64 `json:"p50_us"`
	P99us        float64 `json:"p99_us"`
	RestP50us    float64 `json:"rest_p50_us"`
	RestP99us    float64 `json:"rest_p99_us"`
	KiBPerClient float64 `json:"kib_per_client,omitempty"` // private memory of each attacker's connection
	// share of the kernel's, used by everybody on this machine
	TCPMemory float64 `json:"tcp_memory"`
	// share of the time that it was ready to run and others had its core
	Waited float64         `json:"waited"`
	Toll   Toll            `json:"attackers"`
	During map[string]Seen `json:"during"`
	Coming map[string]Seen `json:"coming,omitempty"` // while the attackers of a brief attack came
	Rest   map[string]Seen `json:"rest"`
	Broken []string        `json:"broken,omitempty"` // what must hold besides, and does not
	Doubts []string        `json:"doubts,omitempty"` // why this may say more of the machine than of the balancer
}

// judge compares what clients saw with what they saw at rest, for kept and for new connections. While the attackers of
// a brief attack arrive, clients may be slow, but nothing may fail either.
func judge(rest, coming, during map[string]Seen) Outcome {
	o := Outcome{Rest: rest, Coming: coming, During: during}
	for _, seen := range coming {
		o.Failed += seen.Failed
	}
	for _, over := range slices.Sorted(maps.Keys(during)) {
		seen, before := during[over], rest[over]
		o.Failed += seen.Failed
		if before.Failed > 0 {
			o.Broken = append(o.Broken, fmt.Sprintf("%s: %d of %d requests failed at rest already", over,
				before.Failed, before.Asked))
		}
		if before.Asked == 0 || seen.Asked == 0 {
			o.Broken = append(o.Broken, fmt.Sprintf("%s: %d requests were asked at rest, and %d afterwards", over,
				before.Asked, seen.Asked))
		}
		if ratio := seen.against(before); o.Over == "" || ratio > o.Ratio {
			o.Ratio, o.Over = ratio, over
			o.P50us, o.P99us, o.RestP50us, o.RestP99us = seen.P50us, seen.P99us, before.P50us, before.P99us
		}
	}
	if o.RestP99us > float64(busyAtRest.Microseconds()) && o.RestP99us > 10*o.RestP50us {
		o.Doubts = append(o.Doubts, fmt.Sprintf(
			"at rest the 99th percentile was %s already: something else kept this machine busy",
			milliseconds(o.RestP99us)))
	}
	return o
}

// under is the outcome of an attack with this toll. Clients of a service that nobody attacks say nothing about it.
func (o Outcome) under(toll Toll) Outcome {
	o.Toll = toll
	if toll.Came == 0 {
		o.Broken = append(o.Broken, fmt.Sprintf("nobody attacked: %d attackers were refused: %s", toll.Refused,
			toll.Why))
	}
	return o
}

// busyAtRest is a 99th percentile that no balancer has at rest, unless its servers are that slow.
const busyAtRest = 5 * time.Millisecond

// holds tells whether nothing failed, and the slower kind of connection meets the bar.
func (o Outcome) holds(bar float64) bool {
	return o.Failed == 0 && o.Ratio <= bar && len(o.Broken) == 0
}

// text is the outcome in one line.
func (o Outcome) text() string {
	text := fmt.Sprintf("%d of %d failed", o.Failed, o.asked())
	if causes := o.causes(); causes != "" {
		text += " (" + causes + ")"
	}
	text += fmt.Sprintf("; p99 %s, %.1f × at rest (%s, %s)", milliseconds(o.P99us), o.Ratio,
		milliseconds(o.RestP99us), o.Over)
	if len(o.Toll.Ends) > 0 {
		text += "; ended: " + listed(o.Toll.Ends)
	}
	if o.KiBPerClient > 0 {
		text += fmt.Sprintf("; %.0f KiB for each attacker", o.KiBPerClient)
	}
	return text
}

func (o Outcome) asked() (sum int64) {
	for _, seen := range o.seen() {
		sum += seen.Asked
	}
	return sum
}

// seen is all but what was seen at rest.
func (o Outcome) seen() []Seen {
	return slices.AppendSeq(slices.Collect(maps.Values(o.Coming)), maps.Values(o.During))
}

// causes counts the failures of all ways.
func (o Outcome) causes() string {
	counts := map[string]int64{}
	for _, seen := range o.seen() {
		for cause, count := range seen.Causes {
			counts[cause] += count
		}
	}
	return listed(counts)
}

// failures counts them, and says why.
func (s Seen) failures() string {
	if s.Failed == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", s.Failed, listed(s.Causes))
}

// listed names causes, the most frequent first.
func listed(counts map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

func milliseconds(us float64) string { return fmt.Sprintf("%.1f ms", us/1000) }
