package elastic

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/teller"
)

// drain is a way in which an engine lets go in order, and how it comes back.
type drain struct {
	name        string
	begin, undo func(ctx context.Context, f *field) error
}

var drains = []drain{
	{"scale-in", func(ctx context.Context, f *field) error { return f.order(ctx, "scalein") },
		func(ctx context.Context, f *field) error { return f.order(ctx, "scaleout") }},
	{"disabled", func(ctx context.Context, f *field) error { return f.enable(ctx, victim, "SE_STATE_DISABLED") },
		func(ctx context.Context, f *field) error { return f.enable(ctx, victim, "SE_STATE_ENABLED") }},
	{"agent ended", func(_ context.Context, f *field) error { return f.endAgent(victim) },
		func(ctx context.Context, f *field) error { return f.site.Restart(ctx, victim) }},
}

const letGoSpan = 8 * time.Second // time for the engine to stop, and for clients to go to other engines

// measureDrain stops engines under load in each orderly way, and brings them back.
func measureDrain(ctx context.Context, r *run) (finding Finding, err error) {
	f, err := r.openRoomy(ctx)
	if err != nil {
		return finding, err
	}
	defer func() { err = errors.Join(err, f.site.Close()) }()
	for _, way := range drains {
		err = r.told.Play(ctx, teller.Step{Doing: "let go: " + way.name, Do: func(ctx context.Context) (string, error) {
			return f.measureLettingGo(ctx, way, &finding)
		}})
		if err != nil {
			return finding, err
		}
	}
	return finding, nil
}

// openRoomy is a field in which all engines serve, and one of them may go.
func (r *run) openRoomy(ctx context.Context) (*field, error) {
	f, err := r.openServing(ctx, faultEngines, faultEngines-1)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.order(ctx, "scaleout"), f.untilHops(ctx, faultEngines)); err != nil {
		return nil, errors.Join(err, f.site.Close())
	}
	return f, nil
}

func (f *field) measureLettingGo(ctx context.Context, way drain, finding *Finding) (string, error) {
	if err := errors.Join(f.untilOn(ctx, faultEngines), f.untilHops(ctx, faultEngines)); err != nil {
		return "", err
	}
	crowd, err := clients.Begin(ctx, f.site, clients.Steady(f.site, secureURL)...)
	if err != nil {
		return "", err
	}
	failed := pass(ctx, warmSpan)
	begun := time.Now()
	failed = errors.Join(failed, way.begin(ctx, f), f.untilHops(ctx, faultEngines-1))
	withdrawn := time.Now()
	failed = errors.Join(failed, pass(ctx, letGoSpan))
	undone := time.Now()
	failed = errors.Join(failed, way.undo(ctx, f), f.untilHops(ctx, faultEngines), pass(ctx, warmSpan))
	seen, err := crowd.End()
	if err = errors.Join(failed, err); err != nil {
		return "", err
	}
	finding.Value += float64(seen.Failed)
	finding.fact("%s: route withdrawn after %.2f s; of %d requests %d failed%s", way.name,
		withdrawn.Sub(begun).Seconds(),
		seen.Requests+seen.Failed, seen.Failed, clients.Causes(seen.Failures))
	finding.show(seen.Failures)
	finding.tell(fmt.Sprintf("%s: requests answered each second, by engine", way.name), seen,
		seen.Mark(begun, way.name),
		seen.Mark(withdrawn, "route withdrawn"), seen.Mark(undone, "comes back"))
	return fmt.Sprintf("%d of %d failed", seen.Failed, seen.Requests+seen.Failed), nil
}

func (f *field) enable(ctx context.Context, engine, state string) error {
	object, err := f.site.Controller.Session.ByName(ctx, "serviceengine", engine)
	if err != nil {
		return err
	}
	return f.site.Controller.Session.Patch(ctx, "serviceengine", fmt.Sprint(object["uuid"]),
		client.Object{"enable_state": state})
}

// endAgent stops the agent of an engine as for an upgrade: the agent stops its data plane in order.
func (f *field) endAgent(engine string) error {
	space, err := f.site.Network.Namespace(engine)
	if err != nil {
		return err
	}
	processes, err := space.Processes()
	if err != nil {
		return err
	}
	for _, process := range processes {
		if process.Program == "weir" {
			return syscall.Kill(process.PID, syscall.SIGTERM)
		}
	}
	return fmt.Errorf("%s has no agent", engine)
}
