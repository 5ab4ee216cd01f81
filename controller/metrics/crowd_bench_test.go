package metrics

import (
	"log/slog"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/metrics/retention"
)

// BenchmarkManyEngines collects from 64 engines with 5,000 virtual services of 4 servers each, 500 of them with
// requests. It reports what that keeps in memory after 100 s, and at the end.
func BenchmarkManyEngines(b *testing.B) {
	c := fleettest.NewCrowd(b, 64, 5000, 10)
	quiet := slog.New(slog.DiscardHandler)
	history := New(Config{Dir: b.TempDir(), Fleet: c.Fleet, Events: c.Events, Log: quiet,
		Now: func() time.Time { return c.Now }, TenantName: func(uuid string) string { return uuid }})
	opened, err := openTiers(history.config.Dir, quiet)
	if err != nil {
		b.Fatal(err)
	}
	history.set(opened)
	c.Pass()
	c.Pass()
	before := fleettest.InUse()
	collect := func() {
		c.Now = c.Now.Truncate(retention.CollectEvery).Add(retention.CollectEvery - time.Second)
		c.Pass()
		history.tick(opened, c.Now)
	}
	for range 20 {
		collect()
	}
	kept := fleettest.InUse() - before
	for b.Loop() {
		collect()
	}
	b.ReportMetric(float64(fleettest.InUse()-before)/(1<<20), "MiB-later")
	b.ReportMetric(float64(kept)/(1<<20), "MiB-kept")
	b.ReportMetric(float64(opened.of[0].Head().NumSeries()), "series")
	history.set(nil)
	if err := opened.close(); err != nil {
		b.Fatal(err)
	}
}
