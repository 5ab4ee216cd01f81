package live

import (
	"cmp"
	"slices"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/runtime"
)

// listedMost is the number of virtual services in an overview, and of servers of a pool: those that need attention
// most.
const listedMost = 200

type overviewJSON struct {
	Points               []pointJSON   `json:"points"`
	EnginesTotal         int           `json:"engines_total"`
	EnginesUp            int           `json:"engines_up"`
	VirtualServicesTotal int           `json:"virtual_services_total"`
	VirtualServices      []serviceLine `json:"virtual_services"`
}

type serviceLine struct {
	UUID    string   `json:"uuid"`
	Name    string   `json:"name"`
	State   string   `json:"state"`
	Reasons []string `json:"reasons,omitempty"`
	*scoreJSON
	Attention string     `json:"attention,omitempty"` // why it needs some
	Point     *pointJSON `json:"point"`               // of the last step; null: no engine reported
	Slow      []slowJSON `json:"slow_servers,omitempty"`
	Recent    []*float32 `json:"recent_requests_per_s"`
}

// overview shows the sums of a tenant's virtual services ("": of all tenants), and the virtual services in order of
// need. It reads the fleet in turns: there may be thousands of virtual services.
func (l *Live) overview(tenant string, afterMs int64) overviewJSON {
	shown := overviewJSON{VirtualServices: []serviceLine{}}
	var all []ranked
	l.fleet.Read(func(known *fleet.Known) {
		for vs := range known.VirtualServices() {
			if tenant == "" || vs.Tenant() == tenant {
				all = append(all, ranked{vs: vs})
			}
		}
		for _, engine := range known.Engines() {
			shown.EnginesTotal++
			if engine.Works() {
				shown.EnginesUp++
			}
		}
	})
	l.statuses.refresh(l.fleet, tenant, all, l.now())
	for i := range all {
		all[i].weigh(l)
	}
	slices.SortFunc(all, ranked.compare)
	shown.Points, shown.VirtualServicesTotal = shownSince(l, l.ring.sums[tenant], afterMs, showPoint), len(all)
	fleet.ReadEach(l.fleet, all[:min(len(all), listedMost)], func(known *fleet.Known, one ranked) {
		if one.vs = known.VirtualService(one.vs.UUID); one.vs != nil { // it is not deleted meanwhile
			shown.VirtualServices = append(shown.VirtualServices, l.line(known, one))
		}
	})
	return shown
}

// scoreJSON is a health score; absent: there is none yet.
type scoreJSON struct {
	Value  *int   `json:"health_score"` // null: the virtual service is not graded
	Band   string `json:"health_band"`
	Reason string `json:"health_reason,omitempty"`
}

func (l *Live) score(uuid string) *scoreJSON {
	of, graded := l.scores(uuid)
	if !graded {
		return nil
	}
	shown := &scoreJSON{Band: of.Band.String(), Reason: of.Reason()}
	if of.Band != score.Grey {
		shown.Value = &of.Value
	}
	return shown
}

func (l *Live) line(known *fleet.Known, of ranked) serviceLine {
	status := l.statuses.now(known, of.vs)
	line := serviceLine{
		UUID: of.vs.UUID, Name: of.vs.Name, State: runtime.StateName(status.State), Reasons: status.Reasons,
		scoreJSON: l.score(of.vs.UUID), Attention: of.why.String(), Slow: l.slowServers(of.vs), Recent: []*float32{},
	}
	if of.service == nil {
		return line
	}
	series := &of.service.series
	if !series.newest.isGap() {
		shown := showPoint(moment[point]{endMs: series.newestMs, seconds: l.secondsOf(series), shot: series.newest})
		line.Point = &shown
	}
	line.Recent = l.recent(&series.coarse)
	return line
}

// secondsOf is the length of the newest step of a series.
func (l *Live) secondsOf(of *series[point]) float32 {
	for size := range l.ring.clocks {
		clock := &l.ring.clocks[size]
		if clock.step > 0 && clock.endMs(clock.step) == of.newestMs {
			return clock.seconds[clock.step%len(clock.seconds)]
		}
	}
	return 0
}

// recentSteps are the coarse steps of a minute.
const recentSteps = 12

// recent is the requests per second of the last minute, oldest first; null is a gap.
func (l *Live) recent(of *track[point]) []*float32 {
	clock, list := &l.ring.clocks[coarseSize], []*float32{}
	for step := max(clock.first(), clock.step-recentSteps+1); step <= clock.step; step++ {
		shot := of.at(step, clock.step, coarseSteps)
		if shot.isGap() {
			list = append(list, nil)
			continue
		}
		list = append(list, &shot.counts[requests])
	}
	return list
}

// need says why a virtual service needs attention, the most urgent first.
type need int

const (
	isDown need = iota
	hasErrors
	isDegraded
	isSlow
	isFine
	isDisabled
)

func (n need) String() string { return [...]string{"down", "errors", "degraded", "slow", "", ""}[n] }

const (
	// errorShare is the share of requests, or of connections at layer 4, that may fail.
	errorShare = 0.01
	// littleTraffic is the rate below which shares and percentiles say nothing.
	littleTraffic = 1.0 // per second
	// slowMs is the 95 % percentile of the total time above which a virtual service is slow.
	slowMs = 500
)

// ranked is a virtual service with its place in the order of need.
type ranked struct {
	vs      *model.VirtualService
	service *service // nil: no engine has reported it
	why     need
}

func (r *ranked) weigh(l *Live) {
	r.service = l.ring.services[r.vs.UUID]
	var newest point
	if r.service != nil {
		newest = r.service.series.newest
	}
	status := l.statuses.of[r.vs.UUID]
	rate := max(newest.counts[requests], newest.counts[connections])
	switch {
	case status.State == health.Disabled:
		r.why = isDisabled
	case status.State != health.Up && status.State != health.Initializing:
		r.why = isDown
	case rate >= littleTraffic && newest.counts[errored] >= errorShare*rate:
		r.why = hasErrors
	case len(status.Reasons) > 0 || newest.missing > 0:
		r.why = isDegraded
	case newest.counts[requests] >= littleTraffic && (newest.times[p95] > slowMs || l.hasSlowServers(r.vs)):
		r.why = isSlow
	default:
		r.why = isFine
	}
}

func (r ranked) compare(other ranked) int {
	return cmp.Or(
		cmp.Compare(r.why, other.why),
		cmp.Compare(other.weight(), r.weight()),
		cmp.Compare(r.vs.Name, other.vs.Name),
		cmp.Compare(r.vs.UUID, other.vs.UUID),
	)
}

// weight orders virtual services with the same need, the largest first.
func (r ranked) weight() float32 {
	if r.service == nil {
		return 0
	}
	newest := &r.service.series.newest
	switch r.why {
	case hasErrors:
		return newest.counts[errored]
	case isSlow:
		return newest.times[p95]
	default:
		return max(newest.counts[requests], newest.counts[connections])
	}
}
