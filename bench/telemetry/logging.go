package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/client"
)

// asking is how each of the two services is asked in a pair.
type asking struct {
	// span is short, because what else the machine does changes from second to second.
	span string
	// rate is in requests per second; 0: as many as the data plane can answer.
	rate, connections int
}

var (
	saturated = asking{span: "500ms", connections: 64}
	// light is about a fortieth of what a core can do. So few requests need a longer time.
	light = asking{span: "2s", rate: 1000, connections: 16}
)

func (a asking) flags() []string {
	flags := []string{"--connections", strconv.Itoa(a.connections), "--requests-per-connection", "0", "--duration",
		a.span, "--drain"}
	if a.rate > 0 {
		flags = append(flags, "--rate", strconv.Itoa(a.rate))
	}
	return flags
}

func (a asking) String() string {
	if a.rate > 0 {
		return fmt.Sprintf("%s each, with %d requests a second", a.span, a.rate)
	}
	return a.span + " each, with as many requests as it answers"
}

// logging measures at a load.
func logging(asked asking) func(context.Context, *run) (findings.Finding, error) {
	return func(ctx context.Context, r *run) (findings.Finding, error) { return measureLogging(ctx, r, asked) }
}

// measureLogging compares the CPU time of a request of two virtual services of one data plane: one without records, and
// one with a record of each request. A core that does nothing else carries as many more requests as one costs less. The
// data plane has a core of its own, if there are two.
func measureLogging(ctx context.Context, r *run, asked asking) (found findings.Finding, err error) {
	cores, err := meter.Cores()
	if err != nil {
		return found, err
	}
	if len(cores) > 1 {
		if err := meter.Stay(cores[1:]); err != nil {
			return found, err
		}
		defer func() { err = errors.Join(err, meter.Stay(cores)) }()
	}
	err = r.onStage(ctx, func(s *stage) error {
		server, err := s.lab.Nginx(ctx, "logged", 0, map[string]string{"index.html": "the page"})
		if err != nil {
			return err
		}
		var services [2]service
		for i, more := range []client.Object{{"analytics_policy": client.Object{"full_client_logs": client.Object{
			"enabled": false}}}, everything(0)} {
			if services[i], err = s.serveServers(ctx, fmt.Sprintf("logged-%d", i), []string{server.ID()},
				more); err != nil {
				return err
			}
		}
		pid, err := s.engine.DataplanePID(ctx)
		if err != nil {
			return err
		}
		if err := meter.Keep(pid, cores[:1]); err != nil {
			return err
		}
		found, err = s.comparePairs(ctx, services, pid, asked)
		return err
	})
	return found, err
}

// comparePairs asks both services in turn, many times. Each pair begins with another one.
func (s *stage) comparePairs(ctx context.Context, services [2]service, pid int, asked asking) (
	findings.Finding, error) {
	for _, of := range services {
		if _, err := s.costOf(ctx, of, pid, asked); err != nil { // what is done once
			return findings.Finding{}, err
		}
	}
	var costs [2][]float64
	for pair := range s.Short(9, 60) {
		for turn := range services {
			which := (turn + pair) % 2
			cost, err := s.costOf(ctx, services[which], pid, asked)
			if err != nil {
				return findings.Finding{}, err
			}
			costs[which] = append(costs[which], cost)
		}
	}
	without, with := roundsOf(costs[0]), roundsOf(costs[1])
	return findings.Finding{Value: 100 * without.quarter / with.quarter, Note: fmt.Sprintf(
		"CPU time of the data plane for a request without records, in percent of that with a record of each: %d times "+
			"%v in turn, and of each the time below which a quarter of its own stay, for other work only adds to a time; "+
			"without records %v, with them %v", len(costs[0]), asked, without, with)}, nil
}

// rounds says how the times of many rounds, in µs, lie.
type rounds struct{ least, quarter, median, most float64 }

func roundsOf(times []float64) rounds {
	slices.Sort(times)
	return rounds{times[0], times[len(times)/4], times[len(times)/2], times[len(times)-1]}
}

func (r rounds) String() string {
	return fmt.Sprintf("%.1f µs (least %.1f, median %.1f, most %.1f)", r.quarter, r.least, r.median, r.most)
}

// costOf is the CPU time for a request, in µs.
func (s *stage) costOf(ctx context.Context, of service, pid int, asked asking) (float64, error) {
	var before, after meter.Usage
	var errs [2]error
	group := []int{pid}
	seen, err := s.lab.LoadBetween(ctx, func() { before, errs[0] = meter.ReadGroup(group) },
		func() { after, errs[1] = meter.ReadGroup(group) }, append(asked.flags(), "--url", of.url("/index.html"))...)
	if err := errors.Join(err, errs[0], errs[1]); err != nil {
		return 0, err
	}
	if seen.Requests == 0 || seen.ErrorTotal > 0 {
		return 0, fmt.Errorf("%d requests were answered, %d failed", seen.Requests, seen.ErrorTotal)
	}
	return float64(after.Since(before).Run.Microseconds()) / float64(seen.Requests), nil
}
