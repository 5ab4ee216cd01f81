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

	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/teller"
)

const (
	linearEngines = 8
	// of a core for each data plane: eight of them, the clients, servers and the router have to fit in two
	linearShare = 0.05
	// connections for each engine: chance gives some engines more than others, and all must have work
	linearEach   = 64
	linearPasses = 3 // over all numbers of engines
	linearCipher = "ECDHE-ECDSA-AES128-GCM-SHA256"
)

// Point is what a number of engines carried, each time that they were asked.
type Point struct {
	Engines int      `json:"engines"`
	TPS     float64  `json:"tps"`     // the median
	Against float64  `json:"against"` // N times the one beside, the median
	Samples []Sample `json:"samples"`
}

// Sample is what they carried once, and what one engine carried beside them.
type Sample struct {
	TPS    float64 `json:"tps"` // transactions a second: connect, full handshake, one request, close
	One    float64 `json:"one"` // the same of the one engine
	CPU    float64 `json:"cpu"` // cores that the data planes used, but for the one's
	Failed int64   `json:"failed"`
}

// measureLinear holds the data plane of each engine to the same share of a core, and goes from one engine to eight.
// Beside them, in a lab of its own, one engine is asked at the same time: how much a machine does in a share of a core
// changes from one moment to the next by more than what is looked for.
func measureLinear(ctx context.Context, r *run) (finding Finding, err error) {
	one, err := r.openHeld(ctx, "one", 1)
	if err != nil {
		return finding, err
	}
	defer func() { err = errors.Join(err, one.close()) }()
	many, err := r.openHeld(ctx, "many", linearEngines)
	if err != nil {
		return finding, err
	}
	defer func() { err = errors.Join(err, many.close()) }()
	if _, err := many.playSample(ctx, one, "warm up", linearEngines); err != nil {
		return finding, err
	}
	for engines := range linearEngines {
		finding.Curve = append(finding.Curve, Point{Engines: engines + 1})
	}
	for range r.Short(1, linearPasses) {
		for i := range finding.Curve {
			point := &finding.Curve[i]
			sample, err := many.playSample(ctx, one, "full load", point.Engines)
			if err != nil {
				return finding, err
			}
			point.Samples = append(point.Samples, sample)
		}
	}
	finding.judgeCurve()
	return finding, nil
}

// heldField is a field whose data planes are under a quota each.
type heldField struct {
	*field
	quotas []*quota
}

func (r *run) openHeld(ctx context.Context, name string, engines int) (*heldField, error) {
	f, err := r.openNamed(ctx, name, engines, 1)
	if err != nil {
		return nil, err
	}
	h := &heldField{field: f}
	if err := errors.Join(h.serveOn(ctx, 1), h.hold(ctx)); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// hold puts the data plane of each engine under a quota of its own.
func (h *heldField) hold(ctx context.Context) error {
	dataplanes, err := h.site.Controller.Dataplanes(ctx)
	if err != nil {
		return err
	}
	for engine, pid := range dataplanes {
		quota, err := newQuota(h.site.Topology.Name+"."+engine, linearShare)
		if err != nil {
			return err
		}
		h.quotas = append(h.quotas, quota)
		if err := quota.hold(pid); err != nil {
			return err
		}
	}
	return nil
}

func (h *heldField) close() error {
	err := h.site.Close()
	for _, quota := range h.quotas {
		err = errors.Join(err, quota.remove())
	}
	return err
}

func (h *heldField) playSample(ctx context.Context, one *heldField, doing string, engines int) (
	sample Sample, err error) {
	err = h.told.Play(ctx, teller.Step{Doing: fmt.Sprintf("%s on %d of %d engines", doing, engines, linearEngines),
		Do: func(ctx context.Context) (_ string, err error) {
			sample, err = h.measureSample(ctx, one, engines)
			return fmt.Sprintf("%.0f transactions a second, %.2f cores; %.0f by one", sample.TPS,
					sample.CPU, sample.One),
				err
		}})
	return sample, err
}

// measureSample loads these engines and the one beside at the same time.
func (h *heldField) measureSample(ctx context.Context, one *heldField, engines int) (sample Sample, err error) {
	if err := errors.Join(h.scaleTo(ctx, engines), h.untilOn(ctx, engines)); err != nil {
		return sample, err
	}
	before, err := h.cpuTime(ctx)
	if err != nil {
		return sample, err
	}
	begun := time.Now()
	var beside Sample
	var asking errgroup.Group
	asking.Go(func() (err error) { beside, err = one.loadFully(ctx, 1); return err })
	sample, err = h.loadFully(ctx, engines)
	if err := errors.Join(err, asking.Wait()); err != nil {
		return sample, err
	}
	spent := time.Since(begun)
	after, err := h.cpuTime(ctx)
	sample.CPU = (after - before).Seconds() / spent.Seconds()
	sample.One, sample.Failed = beside.TPS, sample.Failed+beside.Failed
	return sample, err
}

// loadFully has both clients make transactions as fast as they are answered.
func (h *heldField) loadFully(ctx context.Context, engines int) (sample Sample, err error) {
	nodes := h.site.Topology.ClientNodes()
	reports := make([]lab.LoadReport, len(nodes))
	var asking errgroup.Group
	for i, node := range nodes {
		asking.Go(func() error {
			host, err := h.site.Client(i + 1)
			if err != nil {
				return err
			}
			flags := append(clients.Sources(node), "--url", secureURL, "--tls", "1.2", "--cipher", linearCipher,
				"--requests-per-connection", "1",
				"--connections", strconv.Itoa(linearEach*engines/len(nodes)), "--duration",
				fmt.Sprintf("%ds", h.Short(4, 6)))
			reports[i], err = host.Load(ctx, flags...)
			return err
		})
	}
	err = asking.Wait()
	for _, report := range reports {
		sample.TPS += report.TPS
		sample.Failed += report.ErrorTotal
	}
	return sample, err
}

// cpuTime is what all data planes have used so far.
func (h *heldField) cpuTime(ctx context.Context) (sum time.Duration, err error) {
	dataplanes, err := h.site.Controller.Dataplanes(ctx)
	for _, pid := range dataplanes {
		spent, failed := lab.CPUTime(pid)
		sum, err = sum+spent, errors.Join(err, failed)
	}
	return sum, err
}

// judgeCurve compares each number of engines with that multiple of the one engine beside them.
func (f *Finding) judgeCurve() {
	f.Value = math.Inf(1)
	failed := int64(0)
	for i := range f.Curve {
		point := &f.Curve[i]
		for _, sample := range point.Samples {
			failed += sample.Failed
		}
		point.TPS = median(point.Samples, func(s Sample) float64 { return s.TPS })
		point.Against = median(point.Samples, func(s Sample) float64 {
			return s.TPS / (float64(point.Engines) * s.One)
		})
		f.Value = min(f.Value, point.Against)
	}
	one, last := f.Curve[0], f.Curve[len(f.Curve)-1]
	used := func(p Point) float64 {
		return median(p.Samples, func(s Sample) float64 { return s.CPU }) / linearShare / float64(p.Engines)
	}
	f.fact(
		"each data plane (its agent is not held) has %.0f %% of a core; one carries %.0f transactions a second, %d carry %.0f",
		100*linearShare, one.TPS, last.Engines, last.TPS)
	f.fact(
		"each number of engines is held to one more engine, in a lab of its own, that was asked at the same time; medians of %d", len(one.Samples))
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
