package telemetry

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/controller/metrics/madeup"
	"github.com/weir-lb/weir/lab"
)

// busy is how many cores processes use.
type busy struct{ controller, engines float64 }

// watch lets engines tell for a while.
func (f *fleet) watch(ctx context.Context, profiles *profiler, name string, told time.Duration) (b busy, err error) {
	begun := time.Now()
	before, err := f.usage()
	if err != nil {
		return b, err
	}
	own, err := meter.ReadGroup([]int{os.Getpid()})
	if err != nil {
		return b, err
	}
	if err := profiles.while(ctx, "profile", name+".cpu", func() error {
		select {
		case <-time.After(told):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}); err != nil {
		return b, err
	}
	after, err := f.usage()
	if err != nil {
		return b, err
	}
	ownAfter, err := meter.ReadGroup([]int{os.Getpid()})
	if err != nil {
		return b, err
	}
	took := time.Since(begun).Seconds()
	b = busy{after.Since(before).Run.Seconds() / took, ownAfter.Since(own).Run.Seconds() / took}
	f.Say("  told for %.0f s: controller %.0f %% of a core, engines %.0f %%, resident %d MiB", took, 100*b.controller,
		100*b.engines, after.RSSBytes>>20)
	return b, profiles.take(ctx, "heap", name+".heap")
}

// collection is longer than the time between two collections of metrics.
const collection = 16 * time.Second

// historyOf is how long the history of the controller is when it starts.
const historyOf = 7 * 24 * time.Hour

// measureAll gives all virtual services traffic, and starts the controller again after that, with a week of history.
func (f *fleet) measureAll(ctx context.Context, profiles *profiler, times *fleetTimes) error {
	before := time.Now().Add(-collection) // a series begins with a sample of the collection before
	for _, teller := range f.tellers {
		teller.wake()
	}
	if _, err := f.watch(ctx, profiles, "all", time.Duration(f.Short(5, 60))*time.Second); err != nil {
		return err
	}
	usage, err := f.usage()
	if err != nil {
		return err
	}
	times.allMiB = float64(usage.RSSBytes) / (1 << 20)
	made, took, err := f.startWithHistory(ctx, f.controller, historyOf, before)
	if err != nil {
		return err
	}
	begun := time.Now().Add(-took)
	times.startS = took.Seconds()
	services, err := f.servicesAgo(ctx, historyOf-24*time.Hour)
	if err != nil {
		return err
	}
	times.note += fmt.Sprintf(
		". The start is with the end of a history of %v in the write-ahead logs, as after a kill: "+
			"%d series of what had traffic before all had, %d million samples. The API answered after %.1f s, and "+
			"questions about the past, which the controller opens beside that, after %.0f s: then it knew of %d services 6 days ago",
		historyOf, made.Series, made.Samples/1_000_000, times.startS, time.Since(begun).Seconds(), services)
	return nil
}

// startWithHistory starts a controller again, with a history of a span and of the series that have samples at a time.
// took is how long the start took.
func (r *run) startWithHistory(
	ctx context.Context, controller *lab.Controller, span time.Duration, at time.Time,
) (made madeup.Made, took time.Duration, err error) {
	if err := controller.Stop(); err != nil {
		return made, 0, err
	}
	begun := time.Now()
	if made, err = madeup.Replace(ctx, controller.HistoryDir(), span, at, time.Now()); err != nil {
		return made, 0, fmt.Errorf("the history cannot be made: %w", err)
	}
	r.Say("  made a history of %v in %.0f s: %d series, %d million samples", span, time.Since(begun).Seconds(),
		made.Series, made.Samples/1_000_000)
	begun = time.Now()
	err = controller.Restart(ctx)
	return made, time.Since(begun), err
}

// servicesAgo asks the history how many virtual services had requests some time ago, until it answers.
func (f *fleet) servicesAgo(ctx context.Context, ago time.Duration) (services int, err error) {
	query := fmt.Sprintf("count(weir_service_requests_total offset %ds)", int(ago.Seconds()))
	err = until(ctx, 100*time.Millisecond, func() error {
		count, err := single(ctx, f.controller.Session, query)
		services = int(count)
		return err
	})
	return services, err
}

// usage is that of the controller, without the record store.
func (f *fleet) usage() (meter.Usage, error) { return meter.ReadGroup([]int{f.controller.PID()}) }
