package clients

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/draw"
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
	Requests int64 // that were answered
	Failed   int64
	Begun    time.Time
	// Skew is how much later the last load began than the first. Each load counts its seconds from its own begin.
	Skew     time.Duration
	First    map[string]time.Time // when each engine answered first
	Failures []Failure            // in the order of time
	Seconds  []draw.Second
}

func (s *Seen) add(w atWork, report lab.LoadReport, engineAt func(string) string) {
	at := report.Timeline.Begun()
	after := func(us int64) time.Time { return at.Add(time.Duration(us) * time.Microsecond) }
	if s.Begun.IsZero() {
		s.Begun = at
	}
	s.Skew = max(s.Skew, at.Sub(s.Begun))
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
		s.Seconds[i].Spoke(w.protocol, second.Answers)
	}
}

// Since are the failures of requests that were in progress at a moment, or began after it.
func (s *Seen) Since(moment time.Time) []Failure {
	return slices.DeleteFunc(slices.Clone(s.Failures), func(f Failure) bool { return f.Failed.Before(moment) })
}

// Mark says when something happened, on the clients' clock.
func (s *Seen) Mark(at time.Time, what string) draw.Mark {
	return draw.Mark{At: at.Sub(s.Begun).Seconds(), What: what}
}

// Causes counts failures by cause: ": connect 2, reset 1".
func Causes(failures []Failure) string {
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

// AnswersOf counts the answers of an engine in the whole seconds between two moments.
func (s *Seen) AnswersOf(engine string, from, to time.Time) (sum int64) {
	for _, second := range s.between(from, to) {
		sum += second.PerEngine[engine]
	}
	return sum
}

// PerEngine counts what each engine answered in some seconds.
func PerEngine(seconds []draw.Second) map[string]int64 {
	return sum(seconds, func(second draw.Second) map[string]int64 { return second.PerEngine })
}

// PerProtocol counts the answers in some seconds by what the client spoke.
func PerProtocol(seconds []draw.Second) map[string]int64 {
	return sum(seconds, func(second draw.Second) map[string]int64 { return second.PerProtocol })
}

func sum(seconds []draw.Second, counts func(draw.Second) map[string]int64) map[string]int64 {
	all := map[string]int64{}
	for _, second := range seconds {
		for name, count := range counts(second) {
			all[name] += count
		}
	}
	return all
}

// Second is the index of the second of a moment. A moment outside all seconds gets the nearest index; one after the
// last gets the number of seconds.
func (s *Seen) Second(at time.Time) int {
	return min(max(0, int(at.Sub(s.Begun).Seconds())), len(s.Seconds))
}

func (s *Seen) between(from, to time.Time) []draw.Second {
	first, last := int(from.Sub(s.Begun).Seconds())+1, s.Second(to)
	return s.Seconds[min(first, last):last]
}

// LastFirst is when the last of all engines answered first.
func (s *Seen) LastFirst() (last time.Time) {
	for _, first := range s.First {
		if first.After(last) {
			last = first
		}
	}
	return last
}

// AwayFrom are the failures that are not explained by an engine that is gone: those on a connection that another engine
// had answered on, and those on a new connection that began after the router had dropped the engine's route.
func AwayFrom(engine string, failures []Failure, withdrawn time.Time) (others []Failure) {
	for _, failure := range failures {
		if failure.Engine != engine && (failure.Engine != "" || failure.Begun.After(withdrawn)) {
			others = append(others, failure)
		}
	}
	return others
}
