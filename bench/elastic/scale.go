package elastic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/teller"
)

const (
	spreadEach = 1000 // new connections for each engine: what chance alone makes of it is ±10 % then
	spreadMost = 0.15
	shareSpan  = 3 * time.Second // for all engines to have been asked
)

// measureScale has a virtual service on one engine, and one API call take it to many, which the controller starts
// first.
func measureScale(ctx context.Context, r *run) (finding Finding, err error) {
	engines := r.Short(16, 64)
	f, err := r.openServing(ctx, 0, 1)
	if err != nil {
		return finding, err
	}
	defer func() { err = errors.Join(err, f.site.Close()) }()
	var asked, announced time.Time
	var seen clients.Seen
	err = r.told.Play(ctx,
		teller.Step{Doing: fmt.Sprintf("scale from 1 engine to %d", engines),
			Do: func(ctx context.Context) (string, error) {
				seen, err = f.watched(ctx, 10*time.Second, func() error {
					asked = time.Now()
					err := f.scaleTo(ctx, engines)
					announced = time.Now()
					return err
				})
				return fmt.Sprintf("%d answered", len(seen.First)), err
			}},
		teller.Step{Doing: fmt.Sprintf("spread %d new connections", spreadEach*engines),
			Do: func(ctx context.Context) (string, error) {
				return f.measureSpread(ctx, engines, &finding)
			}},
	)
	if err != nil {
		return finding, err
	}
	finding.Value = max(announced.Sub(asked), seen.LastFirst().Sub(asked)).Seconds()
	finding.fact("the router had all %d next hops after %.1f s, and each engine had answered a client after %.1f s",
		engines,
		announced.Sub(asked).Seconds(), seen.LastFirst().Sub(asked).Seconds())
	finding.must(len(seen.First) == engines, "%d engines have answered, and not %d", len(seen.First), engines)
	finding.fact("%d of %d requests failed meanwhile%s", seen.Failed, seen.Requests+seen.Failed,
		clients.Causes(seen.Failures))
	finding.show(seen.Failures)
	finding.tell(fmt.Sprintf("1 → %d engines: requests answered each second, by engine", engines), seen,
		seen.Mark(asked, "PATCH"))
	return finding, nil
}

// watched sees from a client's side what doing leads to, and some time more. The client is so patient with each
// request.
func (f *field) watched(ctx context.Context, patience time.Duration, doing func() error) (clients.Seen, error) {
	probe, err := clients.Begin(ctx, f.site, clients.Load{Client: 1, Over: clients.Afresh,
		// often, to see soon that an engine answers
		Flags: append(clients.Rate(100, 1, 500), "--url", clearURL, "--timeout",
			fmt.Sprintf("%dms", patience.Milliseconds()))})
	if err != nil {
		return clients.Seen{}, err
	}
	failed := errors.Join(doing(), pass(ctx, shareSpan))
	seen, err := probe.End()
	return seen, errors.Join(failed, err)
}

// scaleTo is the one call, and the wait until the router sends clients to all engines.
func (f *field) scaleTo(ctx context.Context, engines int) error {
	return errors.Join(f.setGroup(ctx, client.Object{"min_scaleout_per_vs": engines}), f.untilHops(ctx, engines))
}

// measureSpread opens many connections from all addresses of both clients and compares what came to each engine.
func (f *field) measureSpread(ctx context.Context, engines int, finding *Finding) (string, error) {
	nodes := f.site.Topology.ClientNodes()
	reports := make([]lab.LoadReport, len(nodes))
	var asking errgroup.Group
	for i, node := range nodes {
		asking.Go(func() (err error) {
			host, err := f.site.Client(i + 1)
			if err != nil {
				return err
			}
			flags := append(clients.Sources(node), "--url", clearURL, "--count",
				strconv.Itoa(spreadEach*engines/len(nodes)),
				"--connections", "32", "--requests-per-connection", "1", "--server-header", lab.AskedBy, "--reset")
			reports[i], err = host.Load(ctx, flags...)
			return err
		})
	}
	if err := asking.Wait(); err != nil {
		return "", err
	}
	perEngine, failed, errorsBy := map[string]int64{}, int64(0), map[string]int64{}
	for _, report := range reports {
		failed += report.ErrorTotal
		for cause, count := range report.Errors {
			errorsBy[cause] += count
		}
		for address, count := range report.PerValue {
			perEngine[address] += count
		}
	}
	least, most := spread(perEngine, engines)
	finding.fact("of %d new connections, each engine got %+.1f %% to %+.1f %% against the mean", spreadEach*engines,
		100*least, 100*most)
	finding.must(-least <= spreadMost && most <= spreadMost, "the spread is wider than ±%.0f %%", 100*spreadMost)
	maps.DeleteFunc(errorsBy, func(_ string, count int64) bool { return count == 0 })
	finding.must(failed == 0, "%d of these connections failed: %v", failed, errorsBy)
	return fmt.Sprintf("%+.1f %% to %+.1f %%", 100*least, 100*most), nil
}

// spread is how far the engine with the fewest and the one with the most are from the mean.
func spread(perEngine map[string]int64, engines int) (least, most float64) {
	counts, sum := make([]int64, 0, engines), int64(0)
	for _, count := range perEngine {
		counts, sum = append(counts, count), sum+count
	}
	for len(counts) < engines {
		counts = append(counts, 0)
	}
	mean := float64(sum) / float64(len(counts))
	return float64(slices.Min(counts))/mean - 1, float64(slices.Max(counts))/mean - 1
}
