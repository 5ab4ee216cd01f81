package elastic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/bench/clients"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/teller"
)

const (
	linearEngines = 8
	linearShare   = 0.05 // of a core for each data plane: eight of them, the clients, servers and the router have to fit in two
	linearEach    = 64   // connections at once for each engine: chance sends some more than others, and all shall have work
	linearPasses  = 5    // over all numbers of engines: what else the machine does shall not fall on one of them
	linearCipher  = "ECDHE-ECDSA-AES128-GCM-SHA256"
)

// Point is what a number of engines carried, each time that they were asked.
type Point struct {
	Engines int      `json:"engines"`
	TPS     float64  `json:"tps"`     // the median
	Against float64  `json:"against"` // N times one engine
	Samples []Sample `json:"samples"`
}

// Sample is what they carried once.
type Sample struct {
	TPS    float64 `json:"tps"` // transactions a second: connect, full handshake, one request, close
	CPU    float64 `json:"cpu"` // cores that the data planes used
	Failed int64   `json:"failed"`
}

// measureLinear holds the data plane of each engine to the same share of a core, and goes from one engine to eight.
func measureLinear(ctx context.Context, r *run) (finding Finding, err error) {
	f, err := r.openServing(ctx, linearEngines, 1)
	if err != nil {
		return finding, err
	}
	quotas, err := f.holdAll(ctx)
	defer func() {
		err = errors.Join(err, f.site.Close())
		for _, quota := range quotas {
			err = errors.Join(err, quota.remove())
		}
	}()
	if err != nil {
		return finding, err
	}
	if _, err := f.playSample(ctx, "warm up", linearEngines); err != nil {
		return finding, err
	}
	for engines := range linearEngines {
		finding.Curve = append(finding.Curve, Point{Engines: engines + 1})
	}
	for range r.short(1, linearPasses) {
		for i := range finding.Curve {
			point := &finding.Curve[i]
			sample, err := f.playSample(ctx, "full load", point.Engines)
			if err != nil {
				return finding, err
			}
			point.Samples = append(point.Samples, sample)
		}
	}
	finding.judgeCurve()
	return finding, nil
}

func (f *field) playSample(ctx context.Context, doing string, engines int) (sample Sample, err error) {
	err = f.told.Play(ctx, teller.Step{Doing: fmt.Sprintf("%s on %d of %d engines", doing, engines, linearEngines), Do: func(ctx context.Context) (_ string, err error) {
		sample, err = f.measureSample(ctx, engines)
		return fmt.Sprintf("%.0f transactions a second, %.2f cores", sample.TPS, sample.CPU), err
	}})
	return sample, err
}

// holdAll puts the data plane of each engine under a quota of its own.
func (f *field) holdAll(ctx context.Context) (quotas []*quota, err error) {
	dataplanes, err := f.site.Controller.Dataplanes(ctx)
	if err != nil {
		return nil, err
	}
	for engine, pid := range dataplanes {
		quota, err := newQuota(f.site.Topology.Name+"."+engine, linearShare)
		if err != nil {
			return quotas, err
		}
		quotas = append(quotas, quota)
		if err := quota.hold(pid); err != nil {
			return quotas, err
		}
	}
	return quotas, nil
}

func (f *field) measureSample(ctx context.Context, engines int) (sample Sample, err error) {
	err = errors.Join(f.scaleTo(ctx, engines), f.untilOn(ctx, engines))
	if err != nil {
		return sample, err
	}
	before, err := f.cpuTime(ctx)
	if err != nil {
		return sample, err
	}
	begun := time.Now()
	reports, err := f.loadFully(ctx, engines)
	if err != nil {
		return sample, err
	}
	spent := time.Since(begun)
	after, err := f.cpuTime(ctx)
	for _, report := range reports {
		sample.TPS += report.TPS
		sample.Failed += report.ErrorTotal
	}
	sample.CPU = (after - before).Seconds() / spent.Seconds()
	return sample, err
}

// loadFully has both clients make transactions as fast as they are answered.
func (f *field) loadFully(ctx context.Context, engines int) ([]lab.LoadReport, error) {
	nodes := f.site.Topology.ClientNodes()
	reports := make([]lab.LoadReport, len(nodes))
	var asking errgroup.Group
	for i, node := range nodes {
		asking.Go(func() error {
			host, err := f.site.Client(i + 1)
			if err != nil {
				return err
			}
			flags := append(clients.Sources(node), "--url", secureURL, "--tls", "1.2", "--cipher", linearCipher, "--requests-per-connection", "1",
				"--connections", strconv.Itoa(linearEach*engines/len(nodes)), "--duration", fmt.Sprintf("%ds", f.short(4, 6)))
			reports[i], err = host.Load(ctx, flags...)
			return err
		})
	}
	return reports, asking.Wait()
}

// cpuTime is what all data planes have used so far.
func (f *field) cpuTime(ctx context.Context) (sum time.Duration, err error) {
	dataplanes, err := f.site.Controller.Dataplanes(ctx)
	for _, pid := range dataplanes {
		spent, failed := lab.CPUTime(pid)
		sum, err = sum+spent, errors.Join(err, failed)
	}
	return sum, err
}

// judgeCurve holds each number of engines to as many times one engine.
func (f *Finding) judgeCurve() {
	f.Value = math.Inf(1)
	failed := int64(0)
	for i := range f.Curve {
		point := &f.Curve[i]
		for _, sample := range point.Samples {
			failed += sample.Failed
		}
		point.TPS = median(point.Samples, func(s Sample) float64 { return s.TPS })
		point.Against = point.TPS / (float64(point.Engines) * f.Curve[0].TPS)
		f.Value = min(f.Value, point.Against)
	}
	one, last := f.Curve[0], f.Curve[len(f.Curve)-1]
	used := func(p Point) float64 {
		return median(p.Samples, func(s Sample) float64 { return s.CPU }) / linearShare / float64(p.Engines)
	}
	f.fact("each data plane (its agent is not held) has %.0f %% of a core; one carries %.0f transactions a second, %d carry %.0f",
		100*linearShare, one.TPS, last.Engines, last.TPS)
	f.fact("the data planes used %.0f %% of what they may with one engine, and %.0f %% with %d", 100*used(one),
		100*used(last), last.Engines)
	f.must(failed == 0, "%d transactions failed", failed)
}

func median(samples []Sample, of func(Sample) float64) float64 {
	var values []float64
	for _, sample := range samples {
		values = append(values, of(sample))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
