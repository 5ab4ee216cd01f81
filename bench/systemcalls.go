package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/meter"
)

// tracedSpan is how long system calls are counted: they are the same in each second.
const tracedSpan = time.Second

// countSystemCalls counts system calls of each proxy in a separate pass, because tracing costs many times what it
// counts.
func (s *stage) countSystemCalls(ctx context.Context) error {
	stop, err := startSpinners(s.lab, s.cores)
	defer stop()
	if err != nil {
		return err
	}
	for _, subject := range s.subjects {
		each, err := s.traced(ctx, subject)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.run.told.say("  %-10s system calls of %s not counted: %v", s.workload.ID, subject.name, err)
			continue
		}
		s.row.SystemCalls[subject.name] = each
	}
	return nil
}

// findStrace leaves the counting out where there is nothing to count with, and says so.
func (r *run) findStrace() {
	if _, err := exec.LookPath("strace"); err != nil && r.options.SystemCalls {
		r.options.SystemCalls = false
		r.machine.Notes = append(r.machine.Notes,
			"System calls were not counted: strace is not installed (`make bench` installs it).")
	}
}

// traced is how many system calls a transaction takes.
func (s *stage) traced(ctx context.Context, subject subject) (float64, error) {
	if _, err := load(ctx, s.lab, s.workload, subject, warmUp); err != nil {
		return 0, err
	}
	summary := filepath.Join(s.dir, subject.name+".strace")
	args := []string{"-c", "-f", "-o", summary}
	for _, pid := range meter.Group(subject.pid) {
		args = append(args, "-p", strconv.Itoa(pid))
	}
	tracer, err := s.lab.Start("strace-"+subject.name, "strace", args...)
	if err != nil {
		return 0, err
	}
	err = tracer.UntilReady(ctx, func(context.Context) error {
		if strings.Contains(tracer.LogTail(), "attached") {
			return nil
		}
		return errors.New("it has attached to nothing yet")
	})
	if err != nil {
		return 0, err
	}
	loaded, err := load(ctx, s.lab, s.workload, subject, tracedSpan)
	if err := errors.Join(err, tracer.Interrupt()); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(summary)
	if err != nil {
		return 0, err
	}
	return callsEach(string(text), loaded.Requests)
}

// callsEach adds up the fourth column of strace's summary, "calls".
func callsEach(summary string, transactions int64) (float64, error) {
	total := 0
	for line := range strings.Lines(summary) {
		fields := strings.Fields(line)
		if len(fields) < 5 || fields[len(fields)-1] == "total" {
			continue
		}
		if calls, err := strconv.Atoi(fields[3]); err == nil {
			total += calls
		}
	}
	if total == 0 || transactions == 0 {
		return 0, fmt.Errorf("%d calls and %d transactions were seen", total, transactions)
	}
	return float64(total) / float64(transactions), nil
}
