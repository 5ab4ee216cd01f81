package grading

import (
	"fmt"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// room is a fleet that serves "web", and its scores.
type room struct {
	*fleettest.Stage
	grades *Grades
	total  map[string]*dataplanev1.Sample // by engine: what it has counted
}

func newRoom(t *testing.T) *room {
	s := fleettest.New(t)
	s.VS.HTTP = schema.Defaults[kinds.HTTPProfile]()
	s.Want(11, "vs-1", "pool-1")
	r := &room{Stage: s, total: map[string]*dataplanev1.Sample{}}
	r.grades = New(s.Fleet, func() time.Time { return s.Now })
	s.Serve("se-one", "se-two")
	for _, engine := range []string{"se-one", "se-two"} {
		for _, server := range []string{"10.0.0.1:80", "10.0.0.2:80"} {
			s.Judge(engine, server, true, "")
		}
		r.count(engine, load{})
	}
	r.grades.Grade()
	return r
}

// load is what an engine counts in 15 s.
type load struct {
	requests, errors uint64
	excluded         uint64 // of the errors, those that the profile excludes
	ticks            uint32 // bucket of the times of requests; 0: none are measured
	cpuShare         float64
	cause            string // of failures, one a request
	server           string // that all requests went to
	resets           uint64 // failures of the server
	serverBucket     uint32
}

// count has an engine send its next sample.
func (r *room) count(engine string, l load) {
	r.Helper()
	sample := r.total[engine]
	if sample == nil {
		sample = &dataplanev1.Sample{Pid: 7, Workers: 2}
	}
	vs := &dataplanev1.VirtualServiceCounters{Uuid: "vs-1", ResponsesTotal: make([]uint64, 5)}
	if len(sample.VirtualServices) > 0 {
		vs = sample.VirtualServices[0]
	}
	next := &dataplanev1.VirtualServiceCounters{
		Uuid: "vs-1", ConnectionsTotal: vs.ConnectionsTotal + l.requests, RequestsTotal: vs.RequestsTotal + l.requests,
		ResponsesTotal: []uint64{0, vs.ResponsesTotal[1] + l.requests - l.errors, 0, 0,
			vs.ResponsesTotal[4] + l.errors},
		Times: vs.Times, Errors: vs.Errors, ExcludedResponsesTotal: vs.ExcludedResponsesTotal,
	}
	if l.excluded > 0 {
		next.ExcludedResponsesTotal = []uint64{0, 0, 0, 0, l.excluded}
		if before := vs.ExcludedResponsesTotal; before != nil {
			next.ExcludedResponsesTotal[4] += before[4]
		}
	}
	if l.ticks > 0 {
		next.Times = &dataplanev1.Times{Total: more(vs.GetTimes().GetTotal(), l.ticks, l.requests)}
	}
	if l.cause != "" {
		next.Errors = []*dataplanev1.ErrorCounter{{Cause: l.cause, Total: fleet.Failures(vs, l.cause) + l.requests}}
	}
	servers := sample.Servers
	if l.server != "" {
		var before *dataplanev1.ServerCounters
		for _, one := range servers {
			if one.GetServerId() == l.server {
				before = one
			}
		}
		servers = append([]*dataplanev1.ServerCounters(nil), servers...)
		total := before.GetRequestsTotal() + l.requests
		servers = append(servers, &dataplanev1.ServerCounters{
			PoolUuid: "pool-1", ServerId: l.server, Up: true, ConnectionsTotal: total, RequestsTotal: total,
			ResponsesTotal: []uint64{0, total, 0, 0, 0}, ExcludedResponsesTotal: next.ExcludedResponsesTotal,
			AppResponse:   more(before.GetAppResponse(), l.serverBucket, l.requests),
			FailuresTotal: before.GetFailuresTotal() + l.resets, ResetsTotal: before.GetResetsTotal() + l.resets,
		})
	}
	r.total[engine] = &dataplanev1.Sample{
		Pid: 7, Workers: 2, UnixMs: uint64(r.Now.UnixMilli()),
		CpuUserUs:       sample.CpuUserUs + uint64(l.cpuShare*2*15e6),
		VirtualServices: []*dataplanev1.VirtualServiceCounters{next}, Servers: servers,
	}
	r.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: r.total[engine]}})
}

// more is a histogram with more times in one bucket.
func more(before *dataplanev1.Histogram, bucket uint32, count uint64) *dataplanev1.Histogram {
	counts := make([]uint32, 210)
	for i, was := range before.GetCounts() {
		counts[int(before.GetFirst())+i] = was
	}
	counts[bucket] += uint32(count)
	return &dataplanev1.Histogram{SumTicks: before.GetSumTicks() + count<<bucket/8, Counts: counts}
}

// pass lets some steps of 15 s pass. Each engine counts the load in each.
func (r *room) pass(steps int, l load, engines ...string) {
	r.Helper()
	for range steps {
		r.Now = r.Now.Add(every)
		for _, engine := range engines {
			r.count(engine, l)
		}
		r.grades.Grade()
	}
}

func (r *room) wants(what string, report score.Report, graded bool, band score.Band, value int, reason string) {
	r.Helper()
	got := report.Score
	if !graded || got.Band != band || got.Value != value || got.Reason() != reason {
		r.Errorf("%s: %v %v %d %q, want %v %d %q (%s)", what, graded, got.Band, got.Value, got.Reason(), band, value,
			reason, got.Formula)
	}
}

// Buckets of 100 ms and of 4 s in the histogram of a virtual service, and of 100 ms and 4 s in that of a server.
const fast, slow, serverFast, serverSlow = 133, 176, 33, 44

func (r *room) service() (score.Report, bool) { return r.grades.Service("vs-1") }

func TestScoreFollowsWhatClientsGetAndForgetsItAfterFiveMinutes(t *testing.T) {
	r := newRoom(t)
	report, graded := r.service()
	r.wants("at first", report, graded, score.Good, 100, "")
	r.pass(4, load{requests: 100, ticks: fast}, "se-one", "se-two")
	report, graded = r.service()
	r.wants("fast", report, graded, score.Good, 100, "")
	r.pass(4, load{requests: 100, ticks: slow}, "se-one", "se-two")
	report, graded = r.service()
	r.wants("half of it slow", report, graded, score.Fair, 70, "50 % of requests slower than 2 s")
	r.pass(16, load{requests: 100, ticks: fast}, "se-one", "se-two")
	report, graded = r.service()
	r.wants("the slow ones are part of the window", report, graded, score.Good, 88, "20 % of requests slower than 2 s")
	r.pass(4, load{requests: 100, ticks: fast}, "se-one", "se-two")
	report, graded = r.service()
	r.wants("five minutes later", report, graded, score.Good, 100, "")
	r.pass(20, load{requests: 100, errors: 50, ticks: fast}, "se-one")
	report, graded = r.service()
	r.wants("errors", report, graded, score.Fair, 70, "50 % of requests failed")
	if len(report.Parts) != 3 || report.Parts[0].Kind != "pool" || len(report.Parts[0].Parts) != 2 {
		t.Errorf("it is made of %+v", report.Parts)
	}
}

func TestErrorsThatTheProfileExcludesCostNothing(t *testing.T) {
	r := newRoom(t)
	r.pass(4, load{requests: 100, errors: 50, excluded: 50, ticks: fast}, "se-one")
	report, graded := r.service()
	r.wants("all are excluded", report, graded, score.Good, 100, "")
	r.pass(4, load{requests: 100, errors: 50, excluded: 25, ticks: fast}, "se-one")
	report, graded = r.service()
	r.wants("some are not", report, graded, score.Good, 93, "12 % of requests failed")
}

func TestResetsByServersCostNothingWhileTheProfileExcludesThem(t *testing.T) {
	r := newRoom(t)
	profile := schema.Defaults[kinds.AnalyticsProfile]()
	r.VS.HTTP, r.VS.Analytics, r.VS.Pool.Analytics = nil, profile, profile
	r.Want(12, "vs-1", "pool-1")
	resets := load{requests: 100, cause: "server_reset", server: "10.0.0.1:80", serverBucket: serverFast, resets: 100}
	check := func(what string, service, server int) {
		t.Helper()
		report, _ := r.service()
		of, _ := r.grades.ServerScore(fleet.ServerKey{Pool: "pool-1", Server: "10.0.0.1:80"})
		if report.Score.Value != service || of.Value != server {
			t.Errorf("%s: the service has %s, the server %s", what, report.Score.Formula, of.Formula)
		}
	}
	profile.ExcludeServerReset = true
	r.pass(4, resets, "se-one")
	check("excluded", 100, 100)
	profile.ExcludeServerReset = false
	r.pass(4, load{requests: 100, server: "10.0.0.1:80", serverBucket: serverFast}, "se-one")
	check("not excluded any more, and there are none", 100, 100)
	r.pass(8, resets, "se-one")
	check("half of all count", 50, 50)
}

func TestScoreOfAProcessThatEndsGoesOnWithTheNext(t *testing.T) {
	r := newRoom(t)
	r.pass(4, load{requests: 100, ticks: slow}, "se-one")
	r.total["se-one"] = nil
	r.Now = r.Now.Add(every)
	r.count("se-one", load{requests: 100, ticks: fast}) // of a process with less CPU time, so another one
	r.total["se-one"].Pid = 8
	r.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Sample{Sample: r.total["se-one"]}})
	r.grades.Grade()
	report, graded := r.service()
	r.wants("four of five slow", report, graded, score.Poor, 52, "80 % of requests slower than 2 s")
}

func TestServerThatIsSlowCostsThePoolAndTheServiceByItsShareOfRequests(t *testing.T) {
	r := newRoom(t)
	r.pass(1, load{server: "10.0.0.1:80", serverBucket: serverFast}, "se-one")
	r.pass(1, load{server: "10.0.0.2:80", serverBucket: serverSlow}, "se-two")
	r.pass(4, load{requests: 300, server: "10.0.0.1:80", serverBucket: serverFast}, "se-one")
	r.pass(4, load{requests: 100, server: "10.0.0.2:80", serverBucket: serverSlow}, "se-two")
	const reason = "server 10.0.0.2:80: 100 % of requests slower than 1.6 s"
	report, graded := r.grades.Pool("pool-1")
	r.wants("pool", report, graded, score.Fair, 75, reason)
	report, graded = r.service()
	r.wants("virtual service", report, graded, score.Good, 90, reason)
	one, _ := r.grades.ServerScore(fleet.ServerKey{Pool: "pool-1", Server: "10.0.0.2:80"})
	if one.Value != 0 || one.Band != score.Poor {
		t.Errorf("the server: %+v", one)
	}
}

func TestDownDisabledAndPartlyServed(t *testing.T) {
	r := newRoom(t)
	r.pass(9, load{requests: 100, ticks: fast}, "se-one", "se-two")
	r.Disconnected("se-two", "heartbeat lost")
	r.pass(1, load{requests: 100, ticks: fast}, "se-one")
	report, graded := r.service()
	r.wants("one of two engines", report, graded, score.Good, 87, "1 of 2 engines serve")
	engine, graded := r.grades.Engine("se-two")
	r.wants("the lost engine", engine, graded, score.Down, 0, "heartbeat lost")
	r.Disconnected("se-one", "heartbeat lost")
	r.pass(2, load{})
	report, graded = r.service()
	if !graded || report.Score.Band != score.Down || !strings.Contains(report.Score.Reason(), "heartbeat lost") {
		t.Errorf("without engines: %+v", report.Score)
	}
	r.Serve("se-one", "se-two")
	r.Judge("se-one", "10.0.0.1:80", true, "")
	r.Judge("se-one", "10.0.0.2:80", true, "")
	r.pass(1, load{requests: 100, ticks: fast}, "se-one", "se-two")
	report, graded = r.service()
	r.wants("up again", report, graded, score.Good, 86, "no engine for 30 s")
	r.VS.Enabled = false
	r.Want(12)
	r.pass(1, load{})
	report, graded = r.service()
	r.wants("disabled", report, graded, score.Grey, 0, "enabled is false")
}

func TestEngineThatIsBusyOrFullCostsWhatItServes(t *testing.T) {
	r := newRoom(t)
	r.pass(4, load{cpuShare: 0.5}, "se-one", "se-two")
	r.pass(4, load{cpuShare: 0.89}, "se-one")
	report, graded := r.service()
	r.wants("busy", report, graded, score.Good, 87, "one CPU 89 %")
	engine, graded := r.grades.Engine("se-one")
	r.wants("busy engine", engine, graded, score.Good, 87, "one CPU 89 %")
	r.pass(1, load{requests: 40, cause: "engine_evicted"}, "se-two")
	report, graded = r.service()
	r.wants("full", report, graded, score.Fair, 75, "two sent 40 clients away for want of a place")
}

func TestAttacksAndWhatIsUnusualCost(t *testing.T) {
	r := newRoom(t)
	r.grades.Unusual = func(uuid string) []score.Anomalous {
		if uuid == "vs-1" {
			return []score.Anomalous{{Metric: "l4_client.avg_bandwidth", High: true, Text: "bandwidth"}}
		}
		return nil
	}
	r.pass(1, load{requests: 1000 * 15, cause: "client_flood"}, "se-one")
	report, _ := r.service()
	got := fmt.Sprint(report.Score.Anomaly, report.Score.Security, report.Score.DoS)
	if got != "2 20 1" {
		t.Errorf("anomaly, security and level of attacks are %s: %+v", got, report.Score.Reasons)
	}
}

func TestForgetsWhatIsGone(t *testing.T) {
	r := newRoom(t)
	r.State.Model.VirtualServices, r.State.Model.Pools = nil, nil
	left := *r.State.Model
	state := r.State
	state.Model = &left
	r.Observe(state)
	r.grades.Grade()
	if _, graded := r.grades.ServiceScore("vs-1"); graded || len(r.grades.services)+len(r.grades.pools) > 0 {
		t.Errorf("it still has %v and %v", r.grades.services, r.grades.pools)
	}
}
