package ours

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Nanos runs the benchmarks of a crate of the data plane, from the directory of Weir's source, and returns what they
// say of each thing that they measure.
func Nanos(ctx context.Context, source, crate string) (map[string]float64, error) {
	bench := exec.CommandContext(ctx, "cargo", "bench", "--quiet", "--package", crate)
	bench.Dir = source
	out, err := bench.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, LastLine(string(failed.Stderr)))
		}
		return nil, fmt.Errorf("%s: %w", strings.Join(bench.Args, " "), err)
	}
	return nanosIn(string(out)), nil
}

// nanosIn reads lines such as "10,000 clients    7.8 ns", and leaves out others.
func nanosIn(text string) map[string]float64 {
	found := map[string]float64{}
	for line := range strings.Lines(text) {
		line, isTime := strings.CutSuffix(strings.TrimSpace(line), " ns")
		at := strings.LastIndexByte(line, ' ')
		if !isTime || at < 0 {
			continue
		}
		if value, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
			found[strings.TrimSpace(line[:at])] = value
		}
	}
	return found
}
