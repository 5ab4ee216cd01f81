package grading

import (
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

// BenchmarkFiveThousandVirtualServices grades 5,000 virtual services with 4 servers each on 64 engines, 500 of them
// with requests. It reports what the grades and their windows keep in memory.
func BenchmarkFiveThousandVirtualServices(b *testing.B) {
	c := fleettest.NewCrowd(b, 64, 5000, 10)
	grades := New(c.Fleet, func() time.Time { return c.Now })
	c.Pass()
	c.Pass()
	before := fleettest.InUse()
	for range points {
		c.Now = c.Now.Add(every)
		c.Pass()
		grades.Grade()
	}
	kept := fleettest.InUse() - before
	for b.Loop() {
		grades.Grade()
	}
	b.ReportMetric(float64(kept)/(1<<20), "MiB-kept")
}
