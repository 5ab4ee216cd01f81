package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-lb/weir/agent/plan"
)

func TestKeeperWritesTheNewestPlanAndNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written []uint64
		disk := make(chan struct{})
		k := newKeeper(func(plan *plan.Plan) error {
			<-disk
			written = append(written, plan.Revision)
			return nil
		}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); k.run(ctx) }()
		k.keep(&plan.Plan{Revision: 1})
		synctest.Wait()
		for revision := range uint64(100) {
			k.keep(&plan.Plan{Revision: 2 + revision})
		}
		cancel()
		close(disk)
		<-done
		if len(written) != 2 || written[0] != 1 || written[1] != 101 {
			t.Errorf("wrote %v", written)
		}
	})
}

func TestKeeperRestsNineTimesAsLongAsAWriteTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var written []string
		k := newKeeper(func(plan *plan.Plan) error {
			written = append(written, fmt.Sprintf("%d at %v", plan.Revision, time.Since(begun)))
			time.Sleep(10 * time.Millisecond)
			return nil
		}, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); k.run(ctx) }()
		for revision := range uint64(5) {
			k.keep(&plan.Plan{Revision: 1 + revision})
			time.Sleep(30 * time.Millisecond)
		}
		cancel()
		<-done
		if want := []string{"1 at 0s", "4 at 100ms", "5 at 150ms"}; !slices.Equal(written, want) {
			t.Errorf("wrote %v, want %v", written, want)
		}
	})
}

func TestKeeperSaysOnceThatTheDiskIsFullAndOnceThatItIsNot(t *testing.T) {
	var log bytes.Buffer
	full := errors.New("cannot write plan: no space left on device")
	outcomes := []error{full, full, full, nil, nil, full}
	k := newKeeper(func(*plan.Plan) error {
		outcome := outcomes[0]
		outcomes = outcomes[1:]
		return outcome
	}, slog.New(slog.NewTextHandler(&log, nil)))
	failing := false
	for len(outcomes) > 0 {
		failing = k.write(&plan.Plan{}, failing)
	}
	if lines := log.String(); strings.Count(lines, "no space left") != 2 || strings.Count(lines, "on disk again") != 1 {
		t.Errorf("said:\n%s", lines)
	}
}
