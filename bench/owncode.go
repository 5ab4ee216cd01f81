package bench

import (
	"context"
	"fmt"

	"github.com/weir-lb/weir/bench/ours"
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
		timed, err := ours.TimeOwnCode(ctx, r.programs, cores, name)
		if err != nil {
			return err
		}
		row.OwnCode = append(row.OwnCode, timed)
		r.told.measured(fmt.Sprintf("%s  round %d/%d  %.2f µs", row.Workload.ID, round+1, r.rounds, timed.OwnUs))
	}
	return nil
}
