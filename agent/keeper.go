package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

const (
	// restTimes is how many times as long as a write the keeper rests after it. A Plan is written whole, however little
	// has changed in it: so one that changes all the time takes a tenth of a core and of the disk, and no more.
	restTimes = 9
	// restMax bounds by how much the Plan on disk may be older than the one that serves. A data plane that outlives its
	// agent keeps the newer Plan.
	restMax = time.Second
)

// keeper writes the serving Plan to disk in the background. While the disk is slow, only the newest Plan waits. A full
// disk causes a log message and nothing else.
type keeper struct {
	save    func(*plan.Plan) error
	log     *slog.Logger
	waiting chan *plan.Plan // capacity 1
}

func newKeeper(save func(*plan.Plan) error, log *slog.Logger) *keeper {
	return &keeper{save: save, log: log, waiting: make(chan *plan.Plan, 1)}
}

// keep never blocks. Not for concurrent use.
func (k *keeper) keep(plan *plan.Plan) {
	select {
	case <-k.waiting:
	default:
	}
	k.waiting <- plan
}

// run writes until ctx ends, and then what still waits.
func (k *keeper) run(ctx context.Context) {
	failing := false
	for {
		select {
		case plan := <-k.waiting:
			begun := time.Now()
			failing = k.write(plan, failing)
			rest(ctx, min(restTimes*time.Since(begun), restMax))
		case <-ctx.Done():
			select {
			case plan := <-k.waiting:
				k.write(plan, failing)
			default:
			}
			return
		}
	}
}

func rest(ctx context.Context, span time.Duration) {
	select {
	case <-time.After(span):
	case <-ctx.Done():
	}
}

// write logs once when writing starts to fail, and once when it works again.
func (k *keeper) write(plan *plan.Plan, failing bool) bool {
	err := k.save(plan)
	if err != nil && !failing {
		k.log.Error("the last good Plan is not on disk; a restarted agent would begin with an older one", "reason", err)
	}
	if err == nil && failing {
		k.log.Info("the last good Plan is on disk again", "revision", plan.Revision)
	}
	return err != nil
}
