package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/origin"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/workloads"
)

// confirms tells whether h2load can send the load of a workload: HTTP/2 without TLS, of which it would choose another
// cipher suite, on connections that stay.
func confirms(w workloads.Workload) bool {
	return w.Kind == workloads.Transactions && w.Service.Protocol == workloads.HTTP2 && w.Service.TLS == "" &&
		w.Load.RequestsPerConnection == 0
}

// findH2load leaves the confirmation out where h2load is missing, and says so.
func (r *run) findH2load() {
	if _, err := exec.LookPath("h2load"); err != nil && r.options.Confirm {
		r.options.Confirm = false
		r.machine.Notes = append(r.machine.Notes,
			"h2load confirmed nothing: it is not installed (`make bench` installs nghttp2-client).")
	}
}

// confirm measures each proxy once more, saturated, with a load generator of somebody else.
func (s *stage) confirm(ctx context.Context) error {
	if !confirms(s.workload) {
		return nil
	}
	stop, err := startSpinners(s.lab, s.cores)
	defer stop()
	if err != nil {
		return err
	}
	for _, subject := range s.subjects {
		confirmed, err := s.h2load(ctx, subject)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.run.told.say("  %-10s h2load could not measure %s: %v", s.workload.ID, subject.name, err)
			continue
		}
		s.row.Confirmed[subject.name] = confirmed
	}
	return nil
}

// h2load sends the load of a row, and reads what the proxy used for each request.
func (s *stage) h2load(ctx context.Context, subject subject) (report.Confirmation, error) {
	load := s.workload.Load
	ctx, cancel := context.WithTimeout(ctx, s.run.span+loadPatience)
	defer cancel()
	before, err := meter.Read(subject.pid)
	if err != nil {
		return report.Confirmation{}, err
	}
	out, err := exec.CommandContext(ctx, "h2load", "-c", strconv.Itoa(load.Connections), "-m",
		strconv.Itoa(load.Streams), "-D", strconv.Itoa(max(1, int(s.run.span/time.Second))),
		fmt.Sprintf("http://%s/%s", subject.address, origin.Object)).Output()
	if err != nil {
		return report.Confirmation{}, fmt.Errorf("h2load: %w", err)
	}
	after, err := meter.Read(subject.pid)
	if err != nil {
		return report.Confirmation{}, err
	}
	answered, err := answeredOf(string(out))
	if err != nil {
		return report.Confirmation{}, err
	}
	return report.Confirmation{Transactions: answered,
		CPUus: float64(after.Since(before).Run.Nanoseconds()) / 1000 / float64(answered)}, nil
}

// answeredOf reads how many requests succeeded, of which none may have failed.
func answeredOf(said string) (int64, error) {
	for line := range strings.Lines(said) {
		counts, found := strings.CutPrefix(line, "requests: ")
		if !found {
			continue
		}
		var answered int64
		for count := range strings.SplitSeq(strings.TrimSpace(counts), ", ") {
			number, what, _ := strings.Cut(count, " ")
			value, err := strconv.ParseInt(number, 10, 64)
			switch {
			case err != nil:
				return 0, fmt.Errorf("h2load says %q", line)
			case what == "succeeded":
				answered = value
			case value > 0 && (what == "failed" || what == "errored" || what == "timeout"):
				return 0, fmt.Errorf("h2load says that requests failed: %s", strings.TrimSpace(line))
			}
		}
		if answered > 0 {
			return answered, nil
		}
	}
	return 0, errors.New("h2load says of no request that it succeeded")
}
