package elastic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-lb/weir/lab/teller"
)

// measureNewService creates a virtual service while there is no engine, several times, and takes the slowest. The
// controller has to start the engines for it.
func measureNewService(ctx context.Context, r *run) (finding Finding, err error) {
	const engines = 8
	f, err := r.openField(ctx, 0, engines)
	if err != nil {
		return finding, err
	}
	defer func() { err = errors.Join(err, f.site.Close()) }()
	rounds := r.Short(1, 3)
	for round := range rounds {
		err = r.told.Play(ctx, teller.Step{Doing: fmt.Sprintf("create it on %d engines, %d of %d",
			engines, round+1, rounds),
			Do: func(ctx context.Context) (string, error) { return f.measureCreate(ctx, engines, &finding) }})
		if err != nil {
			return finding, err
		}
	}
	return finding, nil
}

func (f *field) measureCreate(ctx context.Context, engines int, finding *Finding) (string, error) {
	var posted, announced time.Time
	// A request sent too early would get no answer, and would delay the one that does.
	seen, err := f.watched(ctx, 250*time.Millisecond, func() error {
		posted = time.Now()
		err := errors.Join(f.serve(ctx), f.untilHops(ctx, engines))
		announced = time.Now()
		return err
	})
	if err != nil {
		return "", err
	}
	finding.must(len(seen.First) == engines, "%d engines have answered, and not %d", len(seen.First), engines)
	took := seen.LastFirst().Sub(posted).Seconds()
	finding.Value = max(finding.Value, took)
	finding.fact("all %d had answered after %.2f s; the router had them after %.2f s", engines, took,
		announced.Sub(posted).Seconds())
	for i := range seen.Seconds { // before the POST no engine can answer
		seen.Seconds[i].Failures = 0
	}
	finding.tell("a new virtual service: requests answered each second, by engine", seen, seen.Mark(posted, "POST"))
	return fmt.Sprintf("%.2f s", took), f.forget(ctx)
}

// forget deletes the virtual service and what it refers to.
func (f *field) forget(ctx context.Context) error {
	for _, kind := range []string{"virtualservice", "vsvip", "pool"} {
		object, err := f.site.Controller.Session.ByName(ctx, kind, "web")
		if err != nil {
			return err
		}
		if err := f.site.Controller.Session.Delete(ctx, kind, fmt.Sprint(object["uuid"])); err != nil {
			return err
		}
	}
	return errors.Join(f.untilHops(ctx, 0), f.untilNoEngine(ctx))
}
