package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/bench/ours"
)

// requestBefore is what a request took before the data plane timed requests, counted as in bench/icount.
const requestBefore = 8345

// instructions reads the counts that `make check` holds the data plane to.
func instructions(name string) func(context.Context, *run) (findings.Finding, error) {
	return func(_ context.Context, r *run) (findings.Finding, error) {
		counted, err := ours.ReadCounts(r.Source, name)
		return findings.Finding{Value: float64(counted.Instructions - requestBefore), Note: fmt.Sprintf(
			"bench/icount: %d for the row %s, %d before. `make check` counts again, and fails at 2 %% more",
			counted.Instructions, name, requestBefore)}, err
	}
}

// allocations reads how often a request of HTTP/1 asks for memory: callgrind counts the calls of the allocator.
func allocations(_ context.Context, r *run) (found findings.Finding, err error) {
	found.Note = "bench/icount, rows request and request_recorded. `make check` counts again, and fails at one more"
	for _, row := range []string{"request", "request_recorded"} {
		counted, err := ours.ReadCounts(r.Source, row)
		if err != nil {
			return found, err
		}
		found.Value = max(found.Value, float64(counted.Allocations))
	}
	return found, nil
}

// measureOwnCode times a request on one core, without sockets, records off and on: the longer of both.
func measureOwnCode(ctx context.Context, r *run) (found findings.Finding, err error) {
	rounds := r.Short(3, 15)
	for _, row := range []string{"request", "request_recorded"} {
		fastest, err := ours.FastestOwnCode(ctx, r.programs, row, rounds)
		if err != nil {
			return found, err
		}
		found.Value = max(found.Value, fastest)
		found.Note += fmt.Sprintf("%s %.2f µs, the fastest of %d rounds; ", row, fastest, rounds)
	}
	found.Note += "weir-icount --time: the proxy without sockets"
	return found, nil
}

// systemCalls has `weir bench run` count the system calls of a workload with strace.
func systemCalls(workload string) func(context.Context, *run) (findings.Finding, error) {
	return func(ctx context.Context, r *run) (findings.Finding, error) {
		if _, err := exec.LookPath("strace"); err != nil {
			return findings.Finding{}, fmt.Errorf("strace is not installed: `make bench` installs it")
		}
		out, err := ours.RunWorkload(ctx, r.programs, workload, "--peers", "", "--quick", "--rounds", "1")
		if err != nil {
			return findings.Finding{}, err
		}
		calls, err := callsIn(out, workload)
		return findings.Finding{Value: calls, Note: "Workload " + workload + " of `weir bench run`, counted by strace"},
			err
	}
}

// callsIn finds the system calls of a workload in the lines of `weir bench run`, which measures the family.
func callsIn(lines []byte, workload string) (float64, error) {
	for line := range bytes.Lines(lines) {
		var measured struct {
			Workload    string             `json:"workload"`
			SystemCalls map[string]float64 `json:"system_calls"`
		}
		if err := json.Unmarshal(line, &measured); err != nil {
			return 0, err
		}
		if calls, counted := measured.SystemCalls["weir"]; counted && measured.Workload == workload {
			return calls, nil
		}
	}
	return 0, fmt.Errorf("no system calls of %s were counted", workload)
}
