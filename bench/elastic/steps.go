package elastic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/teller"
	"github.com/weir-lb/weir/lab/topology"
)

const (
	stepsEngines = 8
	restSpan     = 80 * time.Second // servers close a connection that has idled for 75 s
	// engines that serve at once: those that drain need some time before they can be asked again
	stepsMost = 6
)

// measureSteps scales out and in at random under load, and counts what is left of it afterwards.
func measureSteps(ctx context.Context, r *run) (finding Finding, err error) {
	f, err := r.openServing(ctx, stepsEngines, 1)
	if err != nil {
		return finding, err
	}
	defer func() { err = errors.Join(err, f.site.Close()) }()
	before := census{}
	steps := r.Short(40, 1000)
	err = r.told.Play(ctx,
		teller.Step{Doing: "serve on every engine once, and count", Do: func(ctx context.Context) (string, error) {
			before, err = f.countAtRest(ctx)
			return before.summary(), err
		}},
		teller.Step{Doing: fmt.Sprintf("%d steps under load", steps), Do: func(ctx context.Context) (string, error) {
			return f.takeSteps(ctx, steps, &finding)
		}},
		teller.Step{Doing: "look for what is left", Do: func(ctx context.Context) (string, error) {
			left, err := f.untilAsBefore(ctx, before)
			finding.must(len(left) == 0, "left behind: %v", left)
			return fmt.Sprintf("%d things more than before", len(left)), err
		}},
	)
	finding.fact("counted before and after: %s", before.summary())
	return finding, err
}

// countAtRest counts what there is once every engine has served: some of it is made when it is first needed, and stays.
func (f *field) countAtRest(ctx context.Context) (census, error) {
	err := errors.Join(f.scaleTo(ctx, stepsEngines), f.untilOn(ctx, stepsEngines))
	for number := range stepsEngines {
		err = errors.Join(err, f.untilWatched(ctx, topology.EngineName(number+1)))
	}
	if err != nil {
		return nil, err
	}
	if _, err := f.watched(ctx, 10*time.Second, func() error { return nil }); err != nil {
		return nil, err
	}
	if err := errors.Join(f.scaleTo(ctx, 1), f.untilOn(ctx, 1), pass(ctx, restSpan)); err != nil {
		return nil, err
	}
	return f.count()
}

func (f *field) takeSteps(ctx context.Context, steps int, finding *Finding) (string, error) {
	crowd, err := clients.Begin(ctx, f.site, clients.Steady(f.site, secureURL)...)
	if err != nil {
		return "", err
	}
	begun := time.Now()
	failed := f.walk(ctx, steps)
	took := time.Since(begun)
	seen, err := crowd.End()
	if err = errors.Join(failed, err); err != nil {
		return "", err
	}
	finding.Value = float64(seen.Failed)
	finding.fact("%d steps in %.0f s (seed %d); of %d requests %d failed%s", steps, took.Seconds(), f.Seed,
		seen.Requests+seen.Failed, seen.Failed,
		clients.Causes(seen.Failures))
	finding.show(seen.Failures)
	seen.Seconds = seen.Seconds[:min(len(seen.Seconds), storySeconds)]
	finding.tell(fmt.Sprintf("the first of %d steps at random: requests answered each second, by engine", steps), seen)
	return fmt.Sprintf("%d of %d failed", seen.Failed, seen.Requests+seen.Failed), nil
}

// storySeconds of a long walk are drawn.
const storySeconds = 120

// walk goes up and down at random, and back to one engine at the end.
func (f *field) walk(ctx context.Context, steps int) error {
	random := rand.New(rand.NewPCG(f.Seed, 0))
	now := 1
	for step := range steps {
		verb, next := "scaleout", now+1
		if now == stepsMost || now > 1 && random.IntN(2) == 0 {
			verb, next = "scalein", now-1
		}
		if err := f.step(ctx, verb, next); err != nil {
			return fmt.Errorf("step %d: %w", step+1, err)
		}
		now = next
		f.told.Meanwhile(fmt.Sprintf("%d of %d", step+1, steps))
	}
	for ; now > 1; now-- {
		if err := f.step(ctx, "scalein", now-1); err != nil {
			return err
		}
	}
	return f.untilOn(ctx, 1)
}

// step orders one engine more or less, and waits until the router has heard of it.
func (f *field) step(ctx context.Context, verb string, engines int) error {
	if err := f.order(ctx, verb); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	if err := f.untilHops(ctx, engines); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return nil
}
