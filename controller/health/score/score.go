// Package score grades objects from 0 to 100: how well clients are served (performance), less what engines lack
// (resources), what is unusual (anomaly), and what is unsafe (security). docs/health.md has the formula.
//
// Each part returns the reasons for which it takes points, so that a score explains itself. Facts are those of a window
// of five minutes; grading collects them. Nothing here does I/O or reads a clock.
package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/health"
)

// Score is the grade of an object. Value is Performance − Resources − Anomaly − Security, and at least 0.
type Score struct {
	Band        Band
	Value       int // 0 if the object is down; meaningless if Band is Grey
	Performance int
	Resources   int
	Anomaly     int
	Security    int
	Reasons     []Reason // the one that costs most first
	Why         string   // why there is no grade, or why the object is down
	Formula     string   // with the numbers of this score

	SSL *SSL    // how good TLS is; nil: the object has none
	DoS float64 // level of the attacks on it, 0 to 5
}

// Reason is something that costs points.
type Reason struct {
	Part   Part
	Points float64
	Text   string // "12 % of requests slower than 2 s"
	Attr   string // what it was measured by: a metric id of Avi, or a field of Avi's health scores
}

// Part is a part of a score.
type Part int

const (
	Performance Part = iota
	Resources
	Anomaly
	Security
)

var partNames = [...]string{"performance", "resources", "anomaly", "security"}

func (p Part) String() string { return partNames[p] }

// Band is a range of scores with a name.
type Band int

const (
	Grey Band = iota // no grade
	Down
	Poor // 0 to 64
	Fair // 65 to 84
	Good // 85 to 100
)

var bandNames = [...]string{"none", "down", "poor", "fair", "good"}

func (b Band) String() string { return bandNames[b] }

func bandOf(value int) Band {
	switch {
	case value >= 85:
		return Good
	case value >= 65:
		return Fair
	default:
		return Poor
	}
}

// parts is what a score is made of. Performance is from 0 to 100, the others are penalties.
type parts struct {
	points  [len(partNames)]float64
	formula string // of the performance
	reasons []Reason
}

// take takes points for a reason.
func (p *parts) take(reason Reason) {
	if reason.Points > 0 {
		p.reasons = append(p.reasons, reason)
	}
}

// penalty sets a part to the sum of its reasons, and at most to a limit.
func (p *parts) penalty(part Part, reasons []Reason, most uint32) {
	sum := 0.0
	for _, reason := range reasons {
		reason.Part = part
		sum += reason.Points
		p.take(reason)
	}
	p.points[part] = min(sum, float64(most))
}

// score rounds the parts, so that they add up to the value as they are shown.
func (p *parts) score() Score {
	s := Score{
		Performance: whole(p.points[Performance]), Resources: whole(p.points[Resources]),
		Anomaly: whole(p.points[Anomaly]), Security: whole(p.points[Security]), Reasons: p.reasons,
	}
	s.Value = max(0, s.Performance-s.Resources-s.Anomaly-s.Security)
	s.Band = bandOf(s.Value)
	s.Formula = fmt.Sprintf("performance %d − resources %d − anomaly %d − security %d = %d; performance = %s",
		s.Performance, s.Resources, s.Anomaly, s.Security, s.Value, p.formula)
	slices.SortStableFunc(s.Reasons, func(a, b Reason) int { return cmp.Compare(b.Points, a.Points) })
	return s
}

func whole(points float64) int { return int(math.Round(min(100, max(0, points)))) }

// ungraded returns the score of an object that is not graded by what it does: because of its state, or because an
// operator switched its analytics off. false: it is graded.
func ungraded(state health.State, why []string, enabled bool, field string) (Score, bool) {
	switch {
	case state == health.Down, state == health.NoResources:
		s := Score{Band: Down, Why: strings.Join(why, "; "), Formula: "0, because it is down"}
		s.Reasons = []Reason{{Performance, 100, cmp.Or(s.Why, "it is down"), "oper_state"}}
		return s, true
	case state != health.Up:
		return Score{Band: Grey, Why: cmp.Or(strings.Join(why, "; "), "its state is not known")}, true
	case !enabled:
		return Score{Band: Grey, Why: field + " of its analytics profile is false"}, true
	}
	return Score{}, false
}

// Reason is the first reason as text; empty: nothing costs points.
func (s *Score) Reason() string {
	switch {
	case s.Why != "":
		return s.Why
	case len(s.Reasons) > 0:
		return s.Reasons[0].Text
	}
	return ""
}

// Attr says what the first reason was measured by.
func (s *Score) Attr() string {
	if len(s.Reasons) == 0 {
		return ""
	}
	return s.Reasons[0].Attr
}
