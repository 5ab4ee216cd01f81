package ours

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/report"
)

// TimeOwnCode times one row of weir-icount, which is in a directory of programs, on some cores.
func TimeOwnCode(
	ctx context.Context, programs string, cores []int, row string, environment ...string,
) (timed report.OwnCode, err error) {
	file := filepath.Join(programs, "weir-icount")
	program, args := meter.Pinned(cores, file, "--time", row)
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), environment...)
	text, err := command.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return timed, fmt.Errorf("%s does not run (`make bench` builds it): %w", file, err)
	}
	if err := json.Unmarshal(text, &timed); err != nil {
		return timed, fmt.Errorf("%s --time %s: %w", file, row, err)
	}
	return timed, nil
}
