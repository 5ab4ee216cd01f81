// Package control measures how the controller scales: the time and the CPU time of changes and API calls, with few
// virtual services and with thousands. A real controller stores every write on disk. Eight engines in this process use
// the agent's own link, and supervise a real data plane each. Everything runs on loopback, is bounded in time, and
// leaves nothing behind.
package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab"
)

// Options say what a run measures.
type Options struct {
	verdict.Options
	Services int // largest number of virtual services; 0: the number that the bars are for, or fewer if Quick
}

// The last number of virtual services at which rows are measured is one of these, or the one in Options.
const (
	fullServices  = 5000
	quickServices = 200
	servicesMax   = 8000 // what eight engines take: a group allows 1,000 on each
)

// Open descriptors of a process. The data plane of the row swap needs most: two for each listening socket, and each
// worker has a listening socket for each virtual service. The others are for clients, servers and everything else.
const (
	socketsEach      = 2 * swapWorkers
	descriptorsSpare = 9000
)

// run is one run of the bench.
type run struct {
	Options
	programs string
	sizes    []int
}

// List writes which rows there are.
func List(out io.Writer) error {
	return verdict.List(out, rows)
}

// Run measures rows, and writes the report into options.Results, together with the rows of an earlier run. It reports a
// row that fails, and leaves it out.
func Run(ctx context.Context, options Options) error {
	chosen, err := verdict.Choose(rows, options.Rows)
	if err != nil {
		return err
	}
	r, err := prepare(options)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	results, err := r.measure(ctx, chosen)
	failed := []error{err}
	if len(results) > 0 {
		failed = append(failed, r.publish(results))
	}
	return errors.Join(failed...)
}

// runTimeout ends a run that hangs.
const runTimeout = 2 * time.Hour

func prepare(options Options) (*run, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &run{Options: options, programs: filepath.Dir(self)}
	if r.Services == 0 {
		r.Services = fullServices
		if r.Quick {
			r.Services = quickServices
		}
	}
	if r.Services < 1 || r.Services > servicesMax {
		return nil, fmt.Errorf("--services %d: give a number from 1 to %d", r.Services, servicesMax)
	}
	r.sizes = sizesUpTo(r.Services)
	return r, errors.Join(lab.CheckPrograms(r.programs), meter.Allow(r.Services*socketsEach+descriptorsSpare))
}

// sizesUpTo are the numbers of virtual services that a curve goes through.
func sizesUpTo(last int) (sizes []int) {
	for _, size := range []int{1, 100, 1000} {
		if size < last {
			sizes = append(sizes, size)
		}
	}
	return append(sizes, last)
}

// measure goes through the numbers of virtual services, and measures all rows at each. To load the virtual services
// takes longest, so this is done once.
func (r *run) measure(ctx context.Context, chosen []row) (results []Result, err error) {
	findings, failed := make([]Finding, len(chosen)), make([]error, len(chosen))
	err = r.onStage(ctx, func(s *stage) error {
		for _, size := range r.sizes {
			if err := s.growTo(ctx, size); err != nil {
				return fmt.Errorf("%d virtual services: %w", size, err)
			}
			for i, row := range chosen {
				if failed[i] == nil {
					failed[i] = r.measurePoint(ctx, s, row, &findings[i])
				}
			}
		}
		return nil
	})
	for i, row := range chosen {
		switch {
		case failed[i] != nil:
			err = errors.Join(err, fmt.Errorf("%s: %w", row.name, failed[i]))
		case len(findings[i].Curve) > 0: // a run that was ended early is judged by how far it came
			result := row.judge(findings[i])
			result.Measured, result.Quick = time.Now().UTC(), r.Quick
			results = append(results, result)
			r.Say("%-8s %s", row.name, result.Line())
		}
	}
	return results, err
}

// pointTimeout is far more than a row takes at one number of services.
const pointTimeout = 15 * time.Minute

func (r *run) measurePoint(ctx context.Context, s *stage, row row, finding *Finding) error {
	ctx, cancel := context.WithTimeout(ctx, pointTimeout)
	defer cancel()
	pid, begun := s.controller.PID(), time.Now()
	before, unread := meter.Read(pid)
	point, err := row.measure(ctx, s)
	if err != nil {
		r.Say("  %-8s not measured: %v", row.name, err)
		return err
	}
	if after, failed := meter.Read(pid); unread == nil && failed == nil {
		point.Waited = math.Round(100*after.Since(before).Waited.Seconds()/time.Since(begun).Seconds()) / 100
	}
	point.Services = s.size
	finding.Curve = append(finding.Curve, point)
	r.Say("  %-8s %s", row.name, point.text(row.pointUnit))
	return nil
}

func (r *run) publish(results []Result) error {
	return verdict.Publish(r.Options.Options, results, verdict.Verdicts(results),
		func(results []Result) ([]string, error) {
			return write(r.Results, report.ThisMachine(), results)
		})
}
