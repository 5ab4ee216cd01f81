package telemetry

import (
	"context"
	"os"
	"time"

	"github.com/weir-lb/weir/bench/meter"
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
	if err := profiles.during(ctx, name+".cpu", func() error {
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

// measureAll gives all virtual services traffic, and starts the controller again after that.
func (f *fleet) measureAll(ctx context.Context, profiles *profiler, times *fleetTimes) error {
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
	if err := f.controller.Stop(); err != nil {
		return err
	}
	begun := time.Now()
	if err := f.controller.Restart(ctx); err != nil {
		return err
	}
	times.startS = time.Since(begun).Seconds()
	return nil
}

// usage is that of the controller, without the record store.
func (f *fleet) usage() (meter.Usage, error) { return meter.ReadGroup([]int{f.controller.PID()}) }
