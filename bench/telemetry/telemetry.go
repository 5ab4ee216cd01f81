// Package telemetry measures what Weir says of itself: whether its figures are true, how soon they are visible, what it
// costs to count and to record, and how fast questions are answered. Each row has a bar. A row that cannot be measured
// says why, and does not hold. Everything runs on loopback, is bounded in time, and leaves nothing behind.
package telemetry

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab"
)

// Options say what a run measures.
type Options struct {
	verdict.Options
	// Source is the directory of Weir's source: the counts of instructions and the script for the browser are there.
	Source string
	// Records is how many the record store gets; 0: as many as the bars are for, or a few in a quick look.
	Records int
	// Archive is a directory for the store, which is kept: a later run asks it again and stores nothing. Empty: none.
	Archive string
	// Soak is how long the row soak puts load and changes on a Weir; 0: a minute in a quick look, or else not at all.
	Soak time.Duration
	// Profiles is a directory for profiles of the controller under the telemetry of many engines, and in the soak;
	// empty: none are taken.
	Profiles string
}

// run is one run of the bench.
type run struct {
	Options
	programs string
	flags    []string            // of the controller, for the row that is measured
	records  shared[recordTimes] // several rows share a measurement
	fleet    shared[fleetTimes]
	browser  shared[pageTimes]
}

// shared is a measurement that is made once, for the first row that needs it.
type shared[T any] struct {
	made  bool
	value T
	err   error
}

func (s *shared[T]) get(measure func() (T, error)) (T, error) {
	if !s.made {
		s.value, s.err = measure()
		s.made = true
	}
	return s.value, s.err
}

// List writes which rows there are.
func List(out io.Writer) error { return verdict.List(out, rows) }

// Run measures row by row, and writes the report into options.Results, together with the rows of an earlier run.
func Run(ctx context.Context, options Options) error {
	chosen, err := verdict.Choose(rows, options.Rows)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r := &run{Options: options, programs: filepath.Dir(self)}
	if err := lab.CheckPrograms(r.programs); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, runTimeout+options.Soak)
	defer cancel()
	var results []findings.Result
	for _, row := range chosen {
		r.Say("%s: %s", row.name, row.title)
		result := r.measure(ctx, row)
		results = append(results, result)
		r.Say("  %s", result.Line())
		if ctx.Err() != nil {
			break
		}
	}
	said := findings.Report{Name: "telemetry", Rows: verdict.Names(rows), Preface: preface}
	return errors.Join(ctx.Err(), said.Publish(r.Options.Options, results))
}

// runTimeout ends a run that hangs; quick ones get their own limit by the limits of rows.
const runTimeout = 90 * time.Minute

// measure does one row within its time.
func (r *run) measure(ctx context.Context, row row) findings.Result {
	limit := row.limit
	if row.name == soakRow {
		limit += r.Soak
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	finding, err := row.measure(limited, r)
	bar := findings.Bar{Row: row.name, Title: row.title, Unit: row.unit, Limit: row.bar, AtLeast: row.atLeast}
	return findings.Hold(bar, finding, err, r.Quick)
}

const preface = `# What Weir says of itself, and what that costs

Written by ` + "`weir bench telemetry`" + ` on %s, %d cores, Linux %s.

Controller, engine, servers, load and browser share these cores. A row that was not measured says why, and does not hold. What is lost when another node leads is
not among them: a controller has one node today.
`
