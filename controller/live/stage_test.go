package live

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/slowness"
)

// stage is what happens in a fleet whose clock stands still until the test moves it.
type stage struct {
	*fleettest.Stage
	live    *Live
	sampled map[string]time.Time // when each engine sent its last sample
	scores  map[string]score.Score
}

func (s *stage) score(uuid string) (score.Score, bool) {
	of, graded := s.scores[uuid]
	return of, graded
}

// newStage has two engines, which serve these virtual services.
func newStage(t *testing.T, services ...string) *stage {
	t.Helper()
	s := &stage{Stage: fleettest.Empty(t), sampled: map[string]time.Time{}}
	s.live = New(s.Fleet, s.score, noneSlow, func() time.Time { return s.Now })
	s.live.pace.begin(s.Now)
	s.have(services...)
	s.Serve("se-one", "se-two")
	return s
}

// have makes these the virtual services: "vs-a", or "vs-a@blue" if it belongs to the tenant blue. They have requests
// and no pool.
func (s *stage) have(services ...string) {
	s.Helper()
	m := &model.Model{}
	plans := map[string]*enginev1.Plan{}
	var assignments []place.Assignment
	var uuids []string
	for _, named := range services {
		vs := &model.VirtualService{HTTP: &kinds.HTTPProfile{}}
		vs.Enabled, vs.TrafficEnabled = true, true
		vs.TenantRef = "/api/tenant/admin"
		for i := range named {
			if named[i] == '@' {
				vs.TenantRef, named = "/api/tenant/"+named[i+1:], named[:i]
				break
			}
		}
		vs.UUID, vs.Name = named, named[len("vs-"):]
		m.VirtualServices = append(m.VirtualServices, vs)
		assignments = append(assignments, fleettest.Both(vs))
		uuids = append(uuids, named)
	}
	for _, name := range []string{"one", "two"} {
		engine := &model.Engine{}
		engine.UUID, engine.Name = "se-"+name, name
		m.Engines = append(m.Engines, engine)
		plans[engine.UUID] = fleettest.PlanOf(10, uuids...)
	}
	s.Observe(reconcile.State{Model: m, Assignments: place.Assignments(nil).With(assignments), Plans: plans})
}

// row is what an engine has counted for a virtual service since its data plane began.
type row struct {
	uuid               string
	requests, failures uint64 // failures are responses with 500, too
	open               uint64
	times              *dataplanev1.Times
}

// sample has an engine send a sample at the present time. Its data plane has used 100 ms of CPU time in each second.
func (s *stage) sample(engine string, pid uint32, rows ...row) {
	ms := uint64(s.Now.UnixMilli())
	sample := &dataplanev1.Sample{
		Pid: pid, UnixMs: ms, Workers: 2, RssBytes: 1 << 20,
		CpuUserUs: (ms - uint64(fleettest.Clock.UnixMilli())) * 100,
	}
	for _, row := range rows {
		sample.VirtualServices = append(sample.VirtualServices, &dataplanev1.VirtualServiceCounters{
			Uuid: row.uuid, RequestsTotal: row.requests, OpenConnections: row.open, ConnectionsTotal: row.requests,
			ResponsesTotal: []uint64{0, row.requests - row.failures, 0, 0, row.failures}, Times: row.times,
			ReceivedBytesTotal: 100 * row.requests, SentBytesTotal: 1000 * row.requests,
			Errors: []*dataplanev1.ErrorCounter{{Cause: "server_reset", Total: row.failures}},
		})
	}
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: sample}})
}

// second lets a second pass, has engines report, and ends the step. The step is longer if an engine does not report.
func (s *stage) second(report func()) {
	s.Helper()
	before := s.live.ring.clocks[fineSize].step
	s.Now = s.Now.Add(time.Second)
	if report != nil {
		report()
	}
	if s.live.tick(); s.live.ring.clocks[fineSize].step == before {
		s.Now = s.Now.Add(stepMost - time.Second)
		s.live.tick()
	}
	if s.live.ring.clocks[fineSize].step != before+1 {
		s.Fatal("the step did not end")
	}
}

// seconds lets some pass, in which each engine counts a number of requests per second for a virtual service. It
// returns what they have counted by then.
func (s *stage) seconds(count int, uuid string, perSecond map[string]uint64, from map[string]uint64) map[string]uint64 {
	s.Helper()
	now := map[string]uint64{}
	for engine := range perSecond {
		now[engine] = from[engine]
	}
	for range count {
		s.second(func() {
			for engine, rate := range perSecond {
				took := time.Second
				if last := s.sampled[engine]; !last.IsZero() {
					took = s.Now.Sub(last)
				}
				s.sampled[engine] = s.Now
				now[engine] += rate * uint64(took) / uint64(time.Second)
				s.sample(engine, 7, row{uuid: uuid, requests: now[engine], open: 3,
					times: fleettest.Times(uint32(now[engine]))})
			}
		})
	}
	return now
}

// told is an event, as far as tests look at it.
type told struct {
	AtMs     int64 `json:"at_ms"`
	Overview struct {
		Points          []toldPoint
		EnginesTotal    int `json:"engines_total"`
		EnginesUp       int `json:"engines_up"`
		Total           int `json:"virtual_services_total"`
		VirtualServices []struct {
			Name, State, Attention string
			Point                  *toldPoint
			Recent                 []*float64 `json:"recent_requests_per_s"`
		} `json:"virtual_services"`
	}
	Engines []struct {
		Name, State string
		Points      []map[string]any
	}
	VirtualServices []struct {
		Name, State string
		Gone        bool
		StepS       int `json:"step_s"`
		Engines     []struct {
			Name  string
			Point toldPoint
		}
		Points []toldPoint
	} `json:"virtual_services"`
	Pools []struct {
		Name         string
		ServersTotal int `json:"servers_total"`
		Servers      []struct {
			ID, State string
			Requests  *float64 `json:"requests_per_s"`
			Failures  *float64 `json:"failures_per_s"`
		}
	}
}

type toldPoint struct {
	AtMs             int64 `json:"at_ms"`
	Seconds          float64
	Engines, Missing int
	Requests         *float64   `json:"requests_per_s"`
	Errors           float64    `json:"errors_per_s"`
	Responses        [5]float64 `json:"responses_per_s"`
	Open             float64    `json:"open_connections"`
	SentBytes        float64    `json:"sent_bytes_per_s"`
	P50              *float64   `json:"p50_ms"`
	Wait             *float64   `json:"wait_mean_ms"`
	Response         *float64   `json:"response_mean_ms"`
	Transfer         *float64   `json:"transfer_mean_ms"`
	Mean             *float64   `json:"mean_ms"`
}

// next returns the next event of a watch, which must be there.
func (s *stage) next(w *Watch, wantName string) (event told) {
	s.Helper()
	name, id, data, turned := w.take()
	if turned != nil {
		s.Fatal("there is no new event")
	}
	if name != wantName {
		s.Errorf("got a %s, want a %s", name, wantName)
	}
	if err := json.Unmarshal(data, &event); err != nil {
		s.Fatalf("%v: %s", err, data)
	}
	if id != fmt.Sprint(event.AtMs) {
		s.Errorf("event %s is of %d", id, event.AtMs)
	}
	return event
}

// ratesOf are the requests per second of points, rounded: "150 – 150" has a gap.
func ratesOf(points []toldPoint) (text string) {
	for i, p := range points {
		if i > 0 {
			text += " "
		}
		if p.Requests == nil {
			text += "–"
		} else {
			text += fmt.Sprintf("%.0f", *p.Requests)
		}
	}
	return text
}

func noScores(string) (score.Score, bool) { return score.Score{}, false }

func noneSlow(string) []slowness.Server { return nil }
