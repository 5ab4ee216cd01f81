// Package bench measures the CPU time that a transaction costs a balancer. Weir and its peers are each one process
// group on a core of their own, and are measured in turn within each round of a run. The package starts everything
// (lab), sends load (weir-load), reads the kernel's accounts (meter), and gives the samples to report. It leaves no
// process behind.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/ours"
	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/workloads"
)

// Options say what a run measures and how long.
type Options struct {
	Workloads   []string   // by ID or family; empty: all
	Peers       []string   // that the bench starts; nil: all
	Externals   []External // that run already
	Cores       []int      // how many cores the balancer gets, one row each
	Quick       bool
	Rounds      int  // 0: as many as usual
	WithoutWeir bool // the peers alone
	SystemCalls bool // count them in a pass of their own
	Confirm     bool // measure rows of HTTP/2 with h2load, too
	JSON        bool // one object per row, last on Out
	Results     string
	Out         io.Writer
	Progress    io.Writer
	Live        bool
}

const (
	rounds      = 5
	span        = 2 * time.Second
	slice       = 750 * time.Millisecond
	quickRounds = 2
	quickSpan   = time.Second
	quickSlice  = 250 * time.Millisecond
)

// fewRounds is how many rounds there are of what hardly differs between rounds, or is not what a row is about: memory,
// and the light load.
func (r *run) fewRounds() int { return min(r.rounds, report.RoundsMin) }

// run is one run of the bench.
type run struct {
	options  Options
	programs string
	told     *teller
	rounds   int
	span     time.Duration
	slice    time.Duration // of growth
	cores    []int         // of this machine
	peers    []found
	machine  report.Machine
}

// found is a peer that was looked for.
type found struct {
	peers.Peer
	program string
	absent  error // nil: it is installed
}

// List writes what there is to measure.
func List(out io.Writer) error {
	all, err := workloads.All()
	if err != nil {
		return err
	}
	for _, w := range all {
		fmt.Fprintf(out, "  %-18s %s\n", w.ID, w.Title)
	}
	return nil
}

// Run measures, and writes the report into options.Results.
func Run(ctx context.Context, options Options) error {
	all, err := workloads.All()
	if err != nil {
		return err
	}
	chosen, err := workloads.Choose(all, options.Workloads)
	if err != nil {
		return err
	}
	r, err := prepare(ctx, options)
	if err != nil {
		return err
	}
	measured, interrupted := r.measureAll(ctx, chosen)
	if len(measured) > 0 {
		if err := r.publish(measured); err != nil {
			return errors.Join(interrupted, err)
		}
	}
	return interrupted
}

func prepare(ctx context.Context, options Options) (*run, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &run{options: options, programs: filepath.Dir(self), rounds: rounds, span: span, slice: slice,
		told: &teller{out: options.Progress, live: options.Live, begun: time.Now()}}
	if options.Quick {
		r.rounds, r.span, r.slice = quickRounds, quickSpan, quickSlice
	}
	if options.Rounds > 0 {
		r.rounds = options.Rounds
	}
	r.machine = report.ThisMachine()
	r.machine.Notes = append(r.machine.Notes, fmt.Sprintf(
		"%d rounds of %v, saturated; %d under light load and of memory; %d slices of %v where growth is looked for.",
		r.rounds, r.span, r.fewRounds(), r.growthSlices(), r.slice))
	if err := r.findPrograms(ctx); err != nil {
		return nil, err
	}
	r.findStrace()
	r.findH2load()
	return r, r.chooseCores()
}

// findPrograms looks for Weir's programs and the peers. It reports a missing peer, which fails in each row.
func (r *run) findPrograms(ctx context.Context) error {
	for _, name := range []string{"weir-dataplane", "weir-load", "weir-origin"} {
		if _, err := os.Stat(filepath.Join(r.programs, name)); err != nil {
			return fmt.Errorf("%s is not beside weir in %s: run `make build`", name, r.programs)
		}
	}
	library, err := ours.TLSLibrary(ctx, r.programs)
	if err != nil {
		return err
	}
	r.machine.Libraries = append(r.machine.Libraries, report.Library{Proxy: report.Weir, TLS: library})
	for _, name := range r.options.Peers {
		if !slices.Contains(peers.Names(), name) {
			return fmt.Errorf("--peers %s: there is none of that name; use %s", name, strings.Join(peers.Names(), ", "))
		}
	}
	for _, peer := range peers.All() {
		if r.options.Peers != nil && !slices.Contains(r.options.Peers, peer.Name) {
			continue
		}
		program, err := peer.Find(ctx, func(text string) { r.told.say("  %s", text) })
		if err != nil {
			r.told.say("  without %s: %v", peer.Name, err)
			r.machine.Notes = append(r.machine.Notes, fmt.Sprintf("Without %s, which is not here: %v.", peer.Name, err))
			r.peers = append(r.peers, found{Peer: peer, absent: fmt.Errorf("it is not installed: %w", err)})
			continue
		}
		r.peers = append(r.peers, found{Peer: peer, program: program.Path})
		r.machine.Versions = append(r.machine.Versions, peer.Name+" "+program.Version)
		r.machine.Libraries = append(r.machine.Libraries, report.Library{Proxy: peer.Name, TLS: program.TLS})
	}
	return nil
}

// chooseCores reserves the first cores for the balancer. This process, load and servers use the others.
func (r *run) chooseCores() (err error) {
	if r.cores, err = meter.Cores(); err != nil {
		return err
	}
	if len(r.cores) < 2 {
		r.machine.Notes = append(r.machine.Notes,
			"One core only: balancer, servers and load share it. CPU per transaction still holds; rates and latencies say nothing.")
	}
	for _, note := range r.machine.Notes {
		r.told.say("  %s", note)
	}
	for _, count := range r.options.Cores {
		ours, _, err := r.split(count)
		if err != nil {
			return err
		}
		for _, external := range r.options.Externals {
			if err := external.pinnedTo(ours); err != nil {
				return err
			}
		}
	}
	return nil
}

// split gives the balancer its cores, and the rest of the house the others.
func (r *run) split(balancer int) (ours, others []int, err error) {
	switch {
	case len(r.cores) == 1 && balancer == 1:
		return r.cores, r.cores, nil
	case balancer < 1 || balancer >= len(r.cores):
		return nil, nil, fmt.Errorf("--cores %d: this machine has %d, of which load and servers need one",
			balancer, len(r.cores))
	}
	return r.cores[:balancer], r.cores[balancer:], nil
}

// measureAll measures row by row. It reports a row that fails, and leaves it out. An interruption ends the run with the
// rows so far.
func (r *run) measureAll(ctx context.Context, chosen []workloads.Workload) (measured []*report.Row, interrupted error) {
	for _, w := range chosen {
		r.told.all += len(r.options.Cores) * r.measurements(w)
	}
	for _, cores := range r.options.Cores {
		for _, w := range chosen {
			if w.Kind == workloads.OwnCode && cores != r.options.Cores[0] {
				continue // it is one thread's: more cores change nothing
			}
			row, err := r.measure(ctx, w, cores)
			if ctx.Err() != nil {
				return measured, fmt.Errorf("interrupted: %w", ctx.Err())
			}
			if err != nil {
				r.told.say("  %-10s not measured: %v", w.ID, err)
				continue
			}
			measured = append(measured, row)
			r.told.say("%s", row.Line())
		}
	}
	if len(measured) == 0 {
		return nil, errors.New("nothing was measured")
	}
	return measured, nil
}

// measurements are how many a row takes.
func (r *run) measurements(w workloads.Workload) int {
	proxies := len(r.options.Externals)
	for _, peer := range r.peers {
		if peer.absent == nil {
			proxies++
		}
	}
	if !r.options.WithoutWeir {
		proxies++
	}
	switch w.Kind {
	case workloads.Growth:
		return r.growthSlices() * len(w.Growth.Steps)
	case workloads.Idle:
		return r.fewRounds() * proxies
	case workloads.OwnCode:
		return r.rounds
	}
	return (r.rounds + r.fewRounds()) * proxies // saturated and light
}

func (r *run) publish(rows []*report.Row) error {
	files, err := report.Write(r.options.Results, r.machine, rows)
	if err != nil {
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	r.told.say("report: %s", strings.Join(files, ", "))
	if !r.options.JSON {
		return nil
	}
	return report.WriteJSON(r.options.Out, rows)
}
