package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/ours"
)

// requestBefore is what a request took before the data plane timed requests, counted as in bench/icount.
const requestBefore = 8345

// instructions reads the counts that `make check` holds the data plane to.
func instructions(name string) func(context.Context, *run) (Finding, error) {
	return func(_ context.Context, r *run) (Finding, error) {
		file := filepath.Join(r.Source, "bench/icount/counts.txt")
		text, err := os.ReadFile(file)
		if err != nil {
			return Finding{}, err
		}
		counted, err := countsIn(string(text), name)
		if err != nil {
			return Finding{}, fmt.Errorf("%s: %w", file, err)
		}
		return Finding{Value: float64(counted.instructions - requestBefore), Note: fmt.Sprintf(
			"bench/icount: %d for the row %s, %d before. `make check` counts again, and fails at 2 %% more",
			counted.instructions, name, requestBefore)}, nil
	}
}

// allocations reads how often a request of HTTP/1 asks for memory: callgrind counts the calls of the allocator.
func allocations(_ context.Context, r *run) (found Finding, err error) {
	file := filepath.Join(r.Source, "bench/icount/counts.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		return Finding{}, err
	}
	found.Note = "bench/icount, rows request and request_recorded. `make check` counts again, and fails at one more"
	for _, row := range []string{"request", "request_recorded"} {
		counted, err := countsIn(string(text), row)
		if err != nil {
			return Finding{}, fmt.Errorf("%s: %w", file, err)
		}
		found.Value = max(found.Value, float64(counted.allocations))
	}
	return found, nil
}

// measureOwnCode times a request on one core, without sockets, records off and on: the longer of both. The fastest of
// some rounds counts, as a core is never quite idle.
func measureOwnCode(ctx context.Context, r *run) (found Finding, err error) {
	cores, err := meter.Cores()
	if err != nil {
		return found, err
	}
	for _, row := range []string{"request", "request_recorded"} {
		fastest := math.Inf(1)
		rounds := r.Short(3, 15)
		for range rounds {
			timed, err := ours.TimeOwnCode(ctx, r.programs, cores[:1], row)
			if err != nil {
				return found, err
			}
			fastest = min(fastest, timed.OwnUs)
		}
		found.Value = max(found.Value, fastest)
		found.Note += fmt.Sprintf("%s %.2f µs, the fastest of %d rounds; ", row, fastest, rounds)
	}
	found.Note += "weir-icount --time: the proxy without sockets"
	return found, nil
}

// counts are those of a row of bench/icount/counts.txt.
type counts struct{ instructions, allocations int }

// countsIn finds the counts of a row: "request   8716   0   0".
func countsIn(text, name string) (found counts, err error) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 4 || fields[0] != name {
			continue
		}
		if found.instructions, err = strconv.Atoi(fields[1]); err == nil {
			found.allocations, err = strconv.Atoi(fields[3])
		}
		return found, err
	}
	return counts{}, fmt.Errorf("there is no row %s", name)
}

// systemCalls has `weir bench run` count the system calls of a workload with strace.
func systemCalls(workload string) func(context.Context, *run) (Finding, error) {
	return func(ctx context.Context, r *run) (Finding, error) {
		if _, err := exec.LookPath("strace"); err != nil {
			return Finding{}, fmt.Errorf("strace is not installed: `make bench` installs it")
		}
		results, err := os.MkdirTemp("", "weir-telemetry-")
		if err != nil {
			return Finding{}, err
		}
		defer os.RemoveAll(results)
		// A process of its own, because it pins itself to cores.
		command := exec.CommandContext(ctx, filepath.Join(r.programs, "weir"), "bench", "run", "--workload", workload,
			"--peers", "", "--quick", "--rounds", "1", "--json", "--results", results)
		command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
		var said bytes.Buffer
		command.Stderr = &said
		out, err := command.Output()
		if err != nil {
			return Finding{}, fmt.Errorf("weir bench run: %w: %s", err, lastLine(said.String()))
		}
		calls, err := callsIn(out, workload)
		if err != nil {
			return Finding{}, fmt.Errorf("weir bench run: %w: %s", err, lastLine(said.String()))
		}
		return Finding{Value: calls, Note: "Workload " + workload + " of `weir bench run`, counted by strace"}, nil
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

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
