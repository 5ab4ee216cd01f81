package elastic

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/teller"
)

// measureHeadless kills the controller for a minute under load. Meanwhile an engine is killed and started again, and
// serves from its disk.
func measureHeadless(ctx context.Context, r *run) (finding Finding, err error) {
	f, err := r.openRoomy(ctx)
	if err != nil {
		return finding, err
	}
	defer func() { err = errors.Join(err, f.site.Close()) }()
	span := time.Duration(r.Short(20, 60)) * time.Second
	err = r.told.Play(ctx,
		teller.Step{Doing: fmt.Sprintf("go without controller for %v", span),
			Do: func(ctx context.Context) (string, error) {
				return f.measureAway(ctx, span, &finding)
			}},
		teller.Step{Doing: "scale in with the controller that is back", Do: func(ctx context.Context) (string, error) {
			return "", errors.Join(f.untilOn(ctx, faultEngines), f.order(ctx, "scalein"),
				f.untilHops(ctx, faultEngines-1))
		}},
	)
	return finding, err
}

func (f *field) measureAway(ctx context.Context, span time.Duration, finding *Finding) (string, error) {
	crowd, err := clients.Begin(ctx, f.site, clients.Steady(f.site, secureURL)...)
	if err != nil {
		return "", err
	}
	failed := pass(ctx, warmSpan)
	gone := time.Now()
	failed = errors.Join(failed, f.site.Controller.Kill(), pass(ctx, span/3))
	fell := time.Now()
	failed = errors.Join(failed, f.signal(victim, syscall.SIGKILL), f.untilHops(ctx, faultEngines-1))
	withdrawn := time.Now()
	failed = errors.Join(failed, pass(ctx, warmSpan))
	started := time.Now()
	failed = errors.Join(failed, f.site.Engines.Start(victim, f.site.Join()), f.untilHops(ctx, faultEngines))
	announced := time.Now()
	failed = errors.Join(failed, pass(ctx, max(0, span-time.Since(gone))))
	back := time.Now()
	failed = errors.Join(failed, f.site.Controller.Restart(ctx), pass(ctx, warmSpan))
	seen, err := crowd.End()
	if err = errors.Join(failed, err); err != nil {
		return "", err
	}
	own := len(seen.Failures)
	elsewhere := clients.AwayFrom(victim, seen.Failures, withdrawn)
	served := seen.AnswersOf(victim, announced, back)
	finding.Value = float64(len(elsewhere))
	finding.fact("of %d requests %d failed with the engine that was killed, and %d on the others%s",
		seen.Requests+seen.Failed,
		own-len(elsewhere), len(elsewhere), clients.Causes(elsewhere))
	finding.fact(
		"the engine that was started again was announced after %.1f s, and answered %d requests before the controller was back",
		announced.Sub(started).Seconds(), served)
	finding.must(served > 0, "the engine that was started again served nothing without the controller")
	finding.show(elsewhere)
	finding.tell(fmt.Sprintf("without controller for %v: requests answered each second, by engine", span), seen,
		seen.Mark(gone, "controller killed"),
		seen.Mark(fell, victim+" killed"), seen.Mark(started, "started again"), seen.Mark(announced, "announced"),
		seen.Mark(back, "controller back"))
	return fmt.Sprintf("%d failed elsewhere", len(elsewhere)), nil
}
