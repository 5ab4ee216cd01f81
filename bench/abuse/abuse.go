// Package abuse measures what the clients of one virtual service see while attackers abuse another one on the same
// engine: they reconnect all the time, stay silent, read nothing, send slowly, or flood their connections over HTTP/2.
// Weir, nginx and HAProxy are attacked
// one after the other in the same run, with the same number of connections to give away. Everything runs on loopback,
// is bounded, and leaves nothing behind.
package abuse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab"
)

// Options say what a run measures.
type Options struct {
	verdict.Options
	Peers []string // nil: all
}

// peerNames are the peers that have a configuration here.
var peerNames = []string{"nginx", "haproxy"}

// How long clients are watched before anybody attacks, and after all attackers are there.
const (
	restSpan, quickRestSpan = 10 * time.Second, 3 * time.Second
	heldSpan, quickHeldSpan = 15 * time.Second, 5 * time.Second
)

// run is one run of the bench.
type run struct {
	Options
	programs   string
	cores      []int // the balancer's
	others     []int // everybody else's
	peers      []found
	machine    report.Machine
	rest, held time.Duration

	unpreferred bool // what is measured cannot be preferred, and that has been said
}

// found is a peer that is installed.
type found struct {
	peers.Peer
	program string
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
	r, err := prepare(ctx, options)
	if err != nil {
		return err
	}
	bench := verdict.Bench[row, Result]{Title: row.text, Measure: r.measure, Say: r.Say}
	results, failed := bench.MeasureAll(ctx, chosen)
	if len(results) > 0 {
		failed = append(failed, r.publish(results))
	}
	return errors.Join(failed...)
}

func prepare(ctx context.Context, options Options) (*run, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &run{Options: options, programs: filepath.Dir(self), machine: report.ThisMachine(),
		rest: restSpan, held: heldSpan}
	if options.Quick {
		r.rest, r.held = quickRestSpan, quickHeldSpan
	}
	if err := errors.Join(lab.CheckPrograms(r.programs), meter.Allow(Descriptors)); err != nil {
		return nil, err
	}
	return r, errors.Join(r.findPeers(ctx), r.chooseCores())
}

// findPeers looks for the peers. It reports a missing one, and leaves it out.
func (r *run) findPeers(ctx context.Context) error {
	for _, name := range r.Peers {
		if !slices.Contains(peerNames, name) {
			return fmt.Errorf("--peers %s: there is none of that name; use %s", name, strings.Join(peerNames, ", "))
		}
	}
	for _, peer := range peers.All() {
		if !slices.Contains(peerNames, peer.Name) || r.Peers != nil && !slices.Contains(r.Peers, peer.Name) {
			continue
		}
		program, err := peer.Find(ctx, func(text string) { r.Say("  %s", text) })
		if err != nil {
			r.Say("  without %s: %v", peer.Name, err)
			continue
		}
		r.peers = append(r.peers, found{peer, program.Path})
		r.machine.Versions = append(r.machine.Versions, peer.Name+" "+program.Version)
	}
	return nil
}

// chooseCores keeps the first core for the balancer, and everybody else on the others.
func (r *run) chooseCores() error {
	all, err := meter.Cores()
	if err != nil {
		return err
	}
	r.cores, r.others = all[:1], all[1:]
	if len(all) == 1 {
		r.others = all
		r.Say("  One core only: balancer, servers, clients and attackers share it, and each makes the others slower.")
	}
	return meter.Stay(r.others)
}

const rowTimeout = 15 * time.Minute

// measure does one row, in a bounded time.
func (r *run) measure(ctx context.Context, row row) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, rowTimeout)
	defer cancel()
	finding, err := row.measure(ctx, r, row)
	if err != nil {
		return Result{}, err
	}
	result := row.judge(finding)
	result.Measured, result.Quick = time.Now().UTC(), r.Quick
	return result, nil
}

// measureBalancers attacks Weir, and then each peer. Without a result for Weir there is no row; without one for a peer
// there is.
func measureBalancers(ctx context.Context, r *run, row row) (finding Finding, err error) {
	finding = Finding{Peers: map[string]Outcome{}, NotMeasured: map[string]string{}}
	finding.Outcome, err = r.balancer(ctx, row, weirName, (*stage).startWeir)
	if err != nil {
		return finding, err
	}
	for _, peer := range r.peers {
		start := func(s *stage, ctx context.Context, victim, attacked service) (balancer, error) {
			return s.startPeer(ctx, peer, victim, attacked)
		}
		outcome, err := r.balancer(ctx, row, peer.Name, start)
		switch {
		case ctx.Err() != nil:
			return finding, err
		case err != nil:
			finding.NotMeasured[peer.Name] = err.Error()
			r.Say("  without %s: %v", peer.Name, err)
		default:
			finding.Peers[peer.Name] = outcome
		}
	}
	return finding, nil
}

// balancer has one of them suffer the abuse.
func (r *run) balancer(ctx context.Context, row row, name string,
	start func(*stage, context.Context, service, service) (balancer, error)) (outcome Outcome, err error) {
	err = r.inStage(row.abuse, func(s *stage) error {
		victim, attacked, err := s.startServers(ctx)
		if err != nil {
			return fmt.Errorf("servers: %w", err)
		}
		end := s.noteBusy()
		b, err := start(s, ctx, victim, attacked)
		end()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		begin := func(ctx context.Context) attack { return row.abuse.begin(ctx, row.attackers, b.attacked) }
		outcome, err = s.suffer(ctx, scene{askedFor(b.victim), begin, b.pid})
		return err
	})
	if err == nil {
		r.Say("  %-8s %s", name, outcome.text())
		for _, doubt := range outcome.Doubts {
			r.Say("           in doubt: %s", doubt)
		}
	}
	return outcome, err
}

// weirName is how the report and the processes call it.
const weirName = report.Weir

// judge holds a finding to the bar.
func (r row) judge(f Finding) Result {
	value := math.Round(100*f.Ratio) / 100
	f.Ratio = value
	return Result{Verdict: verdict.Verdict{Row: r.name, Value: value, Bar: r.bar, OK: f.holds(r.bar)},
		Title: r.text(), Finding: f}
}

func (r *run) publish(results []Result) error {
	return verdict.Publish(r.Options.Options, results, results, func(results []Result) ([]string, error) {
		return write(r.Results, r.machine, results)
	})
}
