// Package elastic measures what clients notice while engines come, go and fail. Each row builds a lab behind a real
// router, starts clients in it, does something to the engines, and reads the result from the clients. It measures only
// from outside: what clients saw, what the router's kernel has, what the API says. It leaves nothing behind.
package elastic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/teller"
	"github.com/weir-lb/weir/lab/topology"
)

// Options say what a run measures.
type Options struct {
	verdict.Options
	Router string // kind
	Seed   uint64 // of what happens at random
	Live   bool   // Progress is a terminal
}

// run is one run of the bench.
type run struct {
	Options
	programs string
	told     *teller.Teller
}

// List writes which rows there are.
func List(out io.Writer) error {
	return verdict.List(out, rows)
}

// Run measures row by row, and writes the report into options.Results, together with the rows of an earlier run. It
// reports a row that fails, and leaves it out.
func Run(ctx context.Context, options Options) error {
	chosen, err := verdict.Choose(rows, options.Rows)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r := &run{options, filepath.Dir(self), &teller.Teller{Out: options.Progress, Live: options.Live}}
	if err := errors.Join(network.CheckRoot(), lab.CheckPrograms(r.programs)); err != nil {
		return err
	}
	r.Say("Seed %d; --seed %[1]d does the same at random again.", r.Seed)
	bench := verdict.Bench[row, Result]{Title: func(row row) string {
		return row.title
	}, Measure: r.measure, Say: r.Say}
	results, failed := bench.MeasureAll(ctx, chosen)
	if len(results) > 0 {
		failed = append(failed, r.publish(results))
	}
	return errors.Join(failed...)
}

// measure does one row, in a bounded time.
func (r *run) measure(ctx context.Context, row row) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, rowTimeout)
	defer cancel()
	finding, err := row.measure(ctx, r)
	if err != nil {
		return Result{}, err
	}
	result := row.judge(finding)
	result.Measured, result.How = time.Now().UTC(), r.how()
	return result, nil
}

// how says what else is worth knowing of a figure.
func (r *run) how() string {
	said := fmt.Sprintf("%s, seed %d", strings.ToUpper(cmp.Or(r.Router, topology.FRR)), r.Seed)
	if r.Quick {
		said += ", a quick look"
	}
	return said
}

const rowTimeout = 45 * time.Minute

func (r *run) publish(results []Result) error {
	return verdict.Publish(r.Options.Options, results, verdict.Verdicts(results),
		func(results []Result) ([]string, error) {
			return write(r.Results, report.ThisMachine(), results)
		})
}
