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

// fault is what happens to an engine, and how it is undone.
type fault struct {
	name        string
	begin, undo func(ctx context.Context, f *field, engine string) error
}

var (
	killed = fault{"killed", func(_ context.Context, f *field, engine string) error {
		return f.signal(engine, syscall.SIGKILL)
	},
		func(ctx context.Context, f *field, engine string) error { return f.site.Restart(ctx, engine) }}
	frozen = fault{"frozen", func(_ context.Context, f *field, engine string) error {
		return f.signal(engine, syscall.SIGSTOP)
	},
		func(_ context.Context, f *field, engine string) error { return f.signal(engine, syscall.SIGCONT) }}
	cutOff = fault{"cut off", func(_ context.Context, f *field, engine string) error { return f.router.Cut(engine) },
		func(_ context.Context, f *field, engine string) error { return f.router.Connect(engine) }}
)

const (
	faultEngines = 4
	victim       = "engine-2"
	warmSpan     = 3 * time.Second
	afterSpan    = 12 * time.Second // a request that is never answered fails after 10 s
)

// signal sends a signal to the whole engine.
func (f *field) signal(engine string, signal syscall.Signal) error {
	space, err := f.site.Network.Namespace(engine)
	if err != nil {
		return err
	}
	return space.Signal(signal)
}

// faultRow does something to one of four engines, several times, and takes the slowest recovery.
func faultRow(what fault) func(context.Context, *run) (Finding, error) {
	return func(ctx context.Context, r *run) (finding Finding, err error) {
		f, err := r.openServing(ctx, faultEngines, faultEngines)
		if err != nil {
			return finding, err
		}
		defer func() { err = errors.Join(err, f.site.Close()) }()
		rounds := r.Short(1, 3)
		for round := range rounds {
			err = r.told.Play(ctx, teller.Step{Doing: fmt.Sprintf("%s: %s, %d of %d", victim,
				what.name, round+1, rounds),
				Do: func(ctx context.Context) (string, error) { return f.measureFault(ctx, what, &finding) }})
			if err != nil {
				return finding, err
			}
		}
		return finding, nil
	}
}

func (f *field) measureFault(ctx context.Context, what fault, finding *Finding) (string, error) {
	if err := f.untilWatched(ctx, victim); err != nil {
		return "", err
	}
	crowd, err := clients.Begin(ctx, f.site, clients.Steady(f.site, secureURL)...)
	if err != nil {
		return "", err
	}
	failed := pass(ctx, warmSpan)
	begun := time.Now()
	failed = errors.Join(failed, what.begin(ctx, f, victim), f.untilHops(ctx, faultEngines-1))
	withdrawn := time.Now()
	failed = errors.Join(failed, pass(ctx, afterSpan))
	seen, err := crowd.End()
	if err = errors.Join(failed, err); err != nil {
		return "", err
	}
	took := finding.fault(seen, begun, withdrawn)
	finding.tell(fmt.Sprintf("one of %d engines is %s: requests answered each second, by engine",
		faultEngines, what.name), seen,
		seen.Mark(begun, what.name), seen.Mark(withdrawn, "route withdrawn"))
	return fmt.Sprintf("%.2f s", took), errors.Join(what.undo(ctx, f, victim), f.untilHops(ctx, faultEngines),
		f.untilOn(ctx, faultEngines))
}

// fault says until when failing requests began, and whose they were: those of the engine are lost with it, those of
// other engines must not fail.
func (f *Finding) fault(seen clients.Seen, begun, withdrawn time.Time) (seconds float64) {
	failures := seen.Since(begun)
	elsewhere := clients.AwayFrom(victim, failures, withdrawn)
	lastBegun, lastFailed := begun, begun
	for _, failure := range failures {
		lastBegun, lastFailed = later(lastBegun, failure.Begun), later(lastFailed, failure.Failed)
	}
	seconds = lastBegun.Sub(begun).Seconds()
	f.Value = max(f.Value, seconds)
	f.fact(
		"route withdrawn after %.2f s; of %d requests %d failed%s; the last of them was begun after %.2f s, and its client knew after %.2f s",
		withdrawn.Sub(begun).Seconds(), seen.Requests+seen.Failed, len(failures), clients.Causes(failures), seconds,
		lastFailed.Sub(begun).Seconds())
	f.must(len(elsewhere) == 0, "%d requests on other engines failed%s", len(elsewhere), clients.Causes(elsewhere))
	f.must(len(failures) == int(seen.Failed), "%d requests failed before anything happened",
		int(seen.Failed)-len(failures))
	f.show(failures)
	return seconds
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
