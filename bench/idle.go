package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/workloads"
	"github.com/weir-lb/weir/lab"
)

// measureIdle measures how much memory each proxy holds for a connection that has had one request and waits.
func (s *stage) measureIdle(ctx context.Context, round int) error {
	if err := s.build(ctx); err != nil {
		return err
	}
	for _, subject := range s.subjects {
		sample, err := s.sampleIdle(ctx, subject)
		if err := s.without(ctx, subject, err); err != nil {
			return err
		}
		if err != nil {
			continue
		}
		s.row.Add(subject.name, report.Light, sample)
		s.run.told.measured(fmt.Sprintf("%s  round %d/%d  %s  %.0f bytes", s.workload.ID, round+1, s.run.fewRounds(),
			subject.name, sample.IdleBytes))
	}
	return nil
}

// idleSteps are the numbers of connections, up to all of them, at which memory is read. What the first ones cost once,
// a table that grows by leaps or a large page that fills slowly is not what each costs: the slope over all steps is.
const idleSteps = 4

func (s *stage) sampleIdle(ctx context.Context, subject subject) (report.Sample, error) {
	if _, err := load(ctx, s.lab, s.workload, subject, warmUp); err != nil {
		return report.Sample{}, err
	}
	var sample report.Sample
	var counts, bytes []float64
	for step := 1; step <= idleSteps; step++ {
		idle := s.workload.Idle
		count := idle.Connections * step / idleSteps
		if idle.Streams > 0 {
			// Connections stay the same, so that the slope is that of the streams.
			idle.Streams = idle.Streams * step / idleSteps
			count = idle.Connections * idle.Streams
		} else {
			idle.Connections = count
		}
		loaded, held, err := s.hold(ctx, subject, idle)
		if err != nil {
			return report.Sample{}, err
		}
		counts, bytes = append(counts, float64(count)), append(bytes, float64(held.private))
		sample = figures(loaded, held.usage, meter.Usage{})
	}
	sample.IdleBytes = slope(counts, bytes)
	return sample, nil
}

// slope is that of the straight line with the least squares.
func slope(xs, ys []float64) float64 {
	var x, y, xx, xy float64
	for i := range xs {
		x, y, xx, xy = x+xs[i], y+ys[i], xx+xs[i]*xs[i], xy+xs[i]*ys[i]
	}
	n := float64(len(xs))
	return (n*xy - x*y) / (n*xx - x*x)
}

// holdSpan is how long the connections are held: long enough that a proxy which closes them is seen to.
const holdSpan = time.Second

// held is what a proxy uses while connections are held.
type held struct {
	usage   meter.Usage
	private int64 // bytes
}

// hold opens idle connections, asks once in a while on another one, and reads what the proxy uses while they are open.
func (s *stage) hold(ctx context.Context, subject subject, idle workloads.Held) (lab.LoadReport, held, error) {
	ctx, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	var used held
	var unread error
	open := func() {
		var noUsage, noPrivate error
		used.usage, noUsage = meter.Read(subject.pid)
		used.private, noPrivate = meter.Private(subject.pid)
		unread = errors.Join(noUsage, noPrivate)
	}
	flags := append(loadFlags(s.workload, subject.address, holdSpan), "--idle-connections",
		strconv.Itoa(idle.Connections), "--rate", "20")
	if idle.Streams > 0 {
		flags = append(flags, "--waiting-streams", strconv.Itoa(idle.Streams))
	}
	loaded, err := s.lab.LoadBetween(ctx, open, func() {}, flags...)
	switch {
	case err != nil:
		return loaded, used, err
	case unread != nil:
		return loaded, used, unread
	case loaded.IdleHeld != idle.Connections:
		return loaded, used, fmt.Errorf("%s held %d of %d idle connections: %v", subject.name, loaded.IdleHeld,
			idle.Connections, loaded.Errors)
	case loaded.WaitingHeld != idle.Connections*idle.Streams:
		return loaded, used, fmt.Errorf("%s held %d of %d waiting streams: %v", subject.name, loaded.WaitingHeld,
			idle.Connections*idle.Streams, loaded.Errors)
	}
	return loaded, used, nil
}
