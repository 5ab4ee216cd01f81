package metrics

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/metrics/retention"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/series"
)

const (
	manyServices   = 5000
	activeServices = 500
	manyEngines    = 3 // each has all virtual services
)

// BenchmarkManyServices collects for an hour of 5,000 virtual services, 500 of which have requests of HTTPS, with a
// pool of two servers each. It reports what that costs, and the times of queries.
func BenchmarkManyServices(b *testing.B) {
	now := fleettest.Clock
	quiet := slog.New(slog.DiscardHandler)
	told := events.New(quiet, func() time.Time { return now })
	known := fleet.New(func(uuid string) (string, bool) { return uuid, true }, told, func() time.Time { return now })
	m := &model.Model{}
	for n := range manyServices {
		pool := &model.Pool{Pool: kinds.Pool{Identity: kinds.Identity{UUID: fmt.Sprintf("pool-%05d", n)},
			Named: kinds.Named{Name: fmt.Sprintf("pool %d", n)}, Owned: kinds.Owned{TenantRef: "/api/tenant/admin"}},
			Members: []model.Member{fleettest.Member("10.0.0.1"), fleettest.Member("10.0.0.2")}}
		m.Pools = append(m.Pools, pool)
		m.VirtualServices = append(m.VirtualServices, &model.VirtualService{VirtualService: kinds.VirtualService{
			Identity: kinds.Identity{UUID: fmt.Sprintf("vs-%05d", n)},
			Named:    kinds.Named{Name: fmt.Sprintf("service %d", n)},
			Owned:    kinds.Owned{TenantRef: "/api/tenant/admin"}}, Pool: pool})
	}
	plans := map[string]*enginev1.Plan{}
	for n := range manyEngines {
		id := fmt.Sprintf("se-%d", n)
		m.Engines = append(m.Engines, &model.Engine{ServiceEngine: kinds.ServiceEngine{
			Identity: kinds.Identity{UUID: id}, Named: kinds.Named{Name: id}}})
		plans[id] = &enginev1.Plan{}
	}
	known.Observe(reconcile.State{Model: m, Plans: plans})
	for id := range plans {
		known.Connected(id, &enginev1.Hello{Status: fleettest.Running})
	}
	report := func(tick uint64) {
		for id := range plans {
			known.Reported(id, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sampleOfMany(now, tick)}})
		}
	}
	before := resident(b)
	history := New(Config{Dir: b.TempDir(), Fleet: known, Events: told, Log: quiet,
		Now: func() time.Time { return now }, TenantName: func(uuid string) string { return uuid }})
	opened, err := openTiers(history.config.Dir, quiet)
	if err != nil {
		b.Fatal(err)
	}
	history.set(opened)
	report(0)
	ticks := uint64(0)
	var took, longest time.Duration
	for b.Loop() {
		for range int(time.Hour / retention.CollectEvery) {
			now = now.Add(retention.CollectEvery)
			ticks++
			report(ticks)
			begun := time.Now()
			history.tick(opened, now)
			took += time.Since(begun)
			longest = max(longest, time.Since(begun))
		}
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(ticks), "ms/collection")
	b.ReportMetric(float64(longest.Milliseconds()), "ms-longest")
	b.ReportMetric(float64(opened.of[0].Head().NumSeries()), "series")
	b.ReportMetric(float64(resident(b)-before)/(1<<20), "MiB")
	for name, text := range map[string]string{
		"one":  `rate(weir_service_requests_total{service="service 7"}[1m])`,
		"p99":  `histogram_quantile(0.99, rate(weir_service_total_seconds{service="service 7"}[5m]))`,
		"topk": `topk(10, sum by (service) (rate(weir_service_requests_total[1m])))`,
	} {
		begun := time.Now()
		_, err := history.Query(b.Context(), series.Query{Text: text, Start: now.Add(-time.Hour), Stop: now,
			Step: time.Minute})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(begun).Microseconds())/1000, "ms-"+name)
	}
	begun := time.Now()
	questions := []series.Question{}
	for _, metric := range Catalog() {
		questions = append(questions, series.Question{Metric: metric.ID, Kind: service, UUIDs: []string{"vs-00007"},
			Tenant: adminTenant, Start: now.Add(-30 * time.Minute), Stop: now, Step: time.Minute})
	}
	if _, err := history.Ask(b.Context(), questions); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(begun).Microseconds())/1000, "ms-all-ids")
	begun = time.Now()
	_, text, err := history.Expose(b.Context(), series.Sight{}, "")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(begun).Microseconds())/1000, "ms-scrape")
	b.ReportMetric(float64(len(text))/(1<<20), "MiB-scrape")
	history.set(nil)
	if err := opened.close(); err != nil {
		b.Fatal(err)
	}
}

// sampleOfMany is what an engine has counted after a number of collections.
func sampleOfMany(now time.Time, tick uint64) *dataplanev1.Sample {
	sample := &dataplanev1.Sample{Pid: 7, UnixMs: uint64(now.UnixMilli()), CpuUserUs: tick * 1e6, Workers: 8,
		RssBytes: 1 << 30}
	for n := range uint64(manyServices) {
		counters := &dataplanev1.VirtualServiceCounters{Uuid: fmt.Sprintf("vs-%05d", n)}
		sample.VirtualServices = append(sample.VirtualServices, counters)
		if n >= activeServices {
			continue
		}
		count := tick * (1000 + n)
		counters.ConnectionsTotal, counters.OpenConnections, counters.RequestsTotal = count, 10+tick%7, count
		counters.TlsHandshakesTotal, counters.Tls13HandshakesTotal, counters.TlsResumptionsTotal = count, count, count/2
		counters.ResponsesTotal = []uint64{0, count, count / 100, count / 50, count / 1000}
		counters.ReceivedBytesTotal, counters.SentBytesTotal = 300*count, 5000*count
		counters.Errors = []*dataplanev1.ErrorCounter{{Cause: "client_aborted", Total: count / 1000},
			{Cause: "server_reset", Total: count / 2000}}
		counters.Times = timesOfMany(uint32(count))
		for _, server := range []string{"10.0.0.1:80", "10.0.0.2:80"} {
			sample.Servers = append(sample.Servers, &dataplanev1.ServerCounters{PoolUuid: fmt.Sprintf("pool-%05d", n),
				ServerId: server, ConnectionsTotal: count / 20, OpenConnections: 3, RequestsTotal: count / 2,
				ReusedTotal: count / 3, FailuresTotal: count / 5000, Up: true})
		}
	}
	return sample
}

// timesOfMany are times in 40 buckets.
func timesOfMany(count uint32) *dataplanev1.Times {
	of := func(first uint32) *dataplanev1.Histogram {
		h := &dataplanev1.Histogram{SumTicks: uint64(count) << 10, First: first, Counts: make([]uint32, 40)}
		for i := range h.Counts {
			h.Counts[i] = count / 40
		}
		return h
	}
	return &dataplanev1.Times{Total: of(80), Wait: of(40), Response: of(70), Transfer: of(50)}
}

// resident is the memory of this process in bytes, after the garbage is gone.
func resident(b *testing.B) int64 {
	b.Helper()
	runtime.GC()
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	var kib int64
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		b.Fatal(err)
	}
	return kib << 10
}
