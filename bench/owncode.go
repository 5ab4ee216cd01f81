package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/report"
)

// measureOwnCode times Weir's code for one row of weir-icount on the balancer's cores, which are otherwise idle.
func (r *run) measureOwnCode(ctx context.Context, row *report.Row) error {
	cores, _, err := r.split(row.Cores)
	if err != nil {
		return err
	}
	name := row.Workload.OwnCode.Row
	for round := range r.rounds {
		timed, err := timeOwnCode(ctx, r.programs, cores, name)
		if err != nil {
			return err
		}
		row.OwnCode = append(row.OwnCode, timed)
		r.told.measured(fmt.Sprintf("%s  round %d/%d  %.2f µs", row.Workload.ID, round+1, r.rounds, timed.OwnUs))
	}
	return nil
}

func timeOwnCode(ctx context.Context, programs string, cores []int, row string) (timed report.OwnCode, err error) {
	file := filepath.Join(programs, "weir-icount")
	program, args := meter.Pinned(cores, file, "--time", row)
	text, err := exec.CommandContext(ctx, program, args...).Output()
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
