package bench

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/report"
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
		s.run.told.measured(fmt.Sprintf("%s  round %d/%d  %s  %.0f bytes", s.workload.ID, round+1, s.run.rounds, subject.name, sample.IdleBytes))
	}
	return nil
}

func (s *stage) sampleIdle(ctx context.Context, subject subject) (report.Sample, error) {
	// What the first connections cost once is not what each costs.
	if _, err := load(ctx, s.lab, s.workload, subject, warmUp); err != nil {
		return report.Sample{}, err
	}
	before, err := meter.Read(subject.pid)
	if err != nil {
		return report.Sample{}, err
	}
	var held meter.Usage
	var heldErr error
	loaded, err := s.hold(ctx, subject, func() { held, heldErr = meter.Read(subject.pid) })
	if err == nil {
		err = heldErr
	}
	if err != nil {
		return report.Sample{}, err
	}
	idle := s.workload.Idle.Connections
	if loaded.IdleHeld != idle {
		return report.Sample{}, fmt.Errorf("%s held %d of %d idle connections: %v", subject.name, loaded.IdleHeld, idle, loaded.Errors)
	}
	sample := figures(loaded, held.Since(before), meter.Usage{})
	sample.IdleBytes = float64(held.RSSBytes-before.RSSBytes) / float64(idle)
	return sample, nil
}

// holdSpan is how long the connections are held: long enough that a proxy which closes them is seen to.
const holdSpan = time.Second

// hold opens the idle connections, calls open, and asks once in a while on another one.
func (s *stage) hold(ctx context.Context, subject subject, open func()) (lab.LoadReport, error) {
	ctx, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	flags := append(loadFlags(s.workload, subject.address, holdSpan),
		"--idle-connections", strconv.Itoa(s.workload.Idle.Connections), "--rate", "20")
	return s.lab.LoadBetween(ctx, open, func() {}, flags...)
}
