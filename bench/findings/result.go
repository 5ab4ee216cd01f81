// Package findings holds what was measured to the bars of rows, and reports it: on a line, for scripts, and on a page
// with a picture.
package findings

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/weir-lb/weir/bench/verdict"
)

// Bar is what a row has to reach.
type Bar struct {
	Row, Title, Unit string
	Limit            float64
	AtLeast          bool // the limit is the least; otherwise the most
}

func (b Bar) holds(value float64) bool {
	if b.AtLeast {
		return value >= b.Limit
	}
	return value <= b.Limit
}

// Finding is what was measured for a row.
type Finding struct {
	Value float64
	Note  string // how, and what else was seen
	Fault string // why the bar is not met whatever the value is, such as failed requests; empty: nothing
}

// Result is a finding held to the bar of its row.
type Result struct {
	verdict.Verdict
	Title      string    `json:"title"`
	Unit       string    `json:"unit"`
	AtLeast    bool      `json:"at_least,omitempty"` // the bar is the least that there has to be; otherwise the most
	Note       string    `json:"note,omitempty"`
	Fault      string    `json:"fault,omitempty"`
	Unmeasured string    `json:"unmeasured,omitempty"` // why there is no value
	Measured   time.Time `json:"measured"`
	Quick      bool      `json:"quick,omitempty"`
}

// Hold holds a finding to a bar. What has failed is not measured, and the result says why.
func Hold(bar Bar, finding Finding, err error, quick bool) Result {
	result := Result{Verdict: verdict.Verdict{Row: bar.Row, Bar: bar.Limit}, Title: bar.Title, Unit: bar.Unit,
		AtLeast: bar.AtLeast, Quick: quick, Measured: time.Now().UTC()}
	if err == nil && (math.IsNaN(finding.Value) || math.IsInf(finding.Value, 0)) {
		err = fmt.Errorf("the figure is %v", finding.Value)
	}
	if err != nil {
		result.Unmeasured = err.Error()
		return result
	}
	result.Value, result.Note, result.Fault = math.Round(1000*finding.Value)/1000, finding.Note, finding.Fault
	result.OK = finding.Fault == "" && bar.holds(result.Value)
	return result
}

// line is what scripts read of a result.
type line struct {
	Row    string   `json:"row"`
	Value  *float64 `json:"value"` // null: not measured
	Bar    float64  `json:"bar"`
	OK     bool     `json:"ok"`
	Reason string   `json:"reason,omitempty"` // why it is not ok, where the value does not say that
}

func (r Result) line() line {
	l := line{Row: r.Row, Bar: r.Bar, OK: r.OK, Reason: cmp.Or(r.Unmeasured, r.Fault)}
	if r.Unmeasured == "" {
		l.Value = &r.Value
	}
	return l
}

// limit is the bar in words.
func (r Result) limit() string {
	if r.AtLeast {
		return fmt.Sprintf("≥ %g %s", r.Bar, r.Unit)
	}
	return fmt.Sprintf("≤ %g %s", r.Bar, r.Unit)
}

// Word says in a table whether the bar is met.
func (r Result) Word() string {
	switch {
	case r.Unmeasured != "":
		return "not measured"
	case r.Fault != "":
		return "**missed**: " + r.Fault
	}
	return r.Verdict.Word()
}

// Line is the result for people.
func (r Result) Line() string {
	switch {
	case r.Unmeasured != "":
		return "NOT MEASURED  " + r.Unmeasured
	case r.OK:
		return fmt.Sprintf("ok  %g %s (bar %s)  %s", r.Value, r.Unit, r.limit(), r.Note)
	}
	return fmt.Sprintf("MISSED  %g %s (bar %s)  %s  %s", r.Value, r.Unit, r.limit(), r.Fault, r.Note)
}
