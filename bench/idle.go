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
	// What the first connections cost once is not what each costs: the second half of them is measured.
	if _, err := load(ctx, s.lab, s.workload, subject, warmUp); err != nil {
		return report.Sample{}, err
	}
	all := s.workload.Idle.Connections
	_, half, err := s.hold(ctx, subject, all/2)
	if err != nil {
		return report.Sample{}, err
	}
	loaded, whole, err := s.hold(ctx, subject, all)
	if err != nil {
		return report.Sample{}, err
	}
	sample := figures(loaded, whole.Since(half), meter.Usage{})
	sample.IdleBytes = float64(whole.RSSBytes-half.RSSBytes) / float64(all-all/2)
	return sample, nil
}

// holdSpan is how long the connections are held: long enough that a proxy which closes them is seen to.
const holdSpan = time.Second

// hold opens idle connections, asks once in a while on another one, and reads what the proxy uses while they are open.
func (s *stage) hold(ctx context.Context, subject subject, idle int) (lab.LoadReport, meter.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	var used meter.Usage
	var unread error
	open := func() { used, unread = meter.Read(subject.pid) }
	flags := append(loadFlags(s.workload, subject.address, holdSpan), "--idle-connections", strconv.Itoa(idle), "--rate", "20")
	loaded, err := s.lab.LoadBetween(ctx, open, func() {}, flags...)
	switch {
	case err != nil:
		return loaded, used, err
	case unread != nil:
		return loaded, used, unread
	case loaded.IdleHeld != idle:
		return loaded, used, fmt.Errorf("%s held %d of %d idle connections: %v", subject.name, loaded.IdleHeld, idle, loaded.Errors)
	}
	return loaded, used, nil
}
