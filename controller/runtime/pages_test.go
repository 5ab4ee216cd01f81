package runtime

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

var writeGolden = flag.Bool("write", false, "write testdata/pages.txt anew")

// book is a fleet of two engines behind routers, and the text of its runtime pages.
type book struct {
	*testing.T
	fleet *fleet.Fleet
	pages *Pages
	now   time.Time
	model *model.Model
	plans map[string]*enginev1.Plan
	text  strings.Builder
	last  map[string]string // the last lines of each page
}

func newBook(t *testing.T) *book {
	b := &book{
		T: t, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), model: modelOfTheBook(), last: map[string]string{},
	}
	quiet, clock := slog.New(slog.DiscardHandler), func() time.Time { return b.now }
	b.fleet = fleet.New(func(uuid string) (string, bool) { return uuid, true }, events.New(quiet, clock), clock)
	b.pages = New(b.fleet, noneSlow, nil, clock)
	return b
}

func modelOfTheBook() *model.Model {
	server := func(address string, enabled bool) model.Member {
		at := netip.AddrPortFrom(netip.MustParseAddr(address), 80)
		ip := &kinds.IPAddr{Addr: address, Type: "V4"}
		return model.Member{
			Server: kinds.Server{IP: ip, Enabled: enabled, Hostname: "host-" + address}, ID: at.String(), Address: at,
		}
	}
	named := func(uuid, name string) (kinds.Identity, kinds.Named) {
		return kinds.Identity{UUID: uuid}, kinds.Named{Name: name}
	}
	pool := &model.Pool{
		Pool:    kinds.Pool{Enabled: true, Servers: make([]kinds.Server, 3)},
		Members: []model.Member{server("10.0.0.1", true), server("10.0.0.2", true), server("10.0.0.3", false)},
		HealthMonitors: []*model.HealthMonitor{
			{HealthMonitor: kinds.HealthMonitor{Identity: kinds.Identity{UUID: "hm-1"}}},
		},
	}
	pool.Identity, pool.Named = named("pool-1", "web-pool")
	plain := &model.Pool{
		Pool:    kinds.Pool{Enabled: true, Servers: make([]kinds.Server, 1)},
		Members: []model.Member{server("10.0.1.1", true)},
	}
	plain.Identity, plain.Named = named("pool-2", "plain-pool")
	group := &model.Group{}
	group.Identity, group.Named = named("group-1", "group")
	m := &model.Model{Pools: []*model.Pool{pool, plain}, Groups: []*model.Group{group}}
	for _, name := range []string{"one", "two"} {
		engine := &model.Engine{ServiceEngine: kinds.ServiceEngine{EnableState: "SE_STATE_ENABLED"}}
		engine.Identity, engine.Named = named("se-"+name, name)
		m.Engines = append(m.Engines, engine)
	}
	group.Engines = m.Engines
	routers := &kinds.BGPProfile{
		Peers: []kinds.BGPPeer{{PeerIP: &kinds.IPAddr{Addr: "10.0.0.254", Type: "V4"}, AdvertiseVip: true}},
	}
	for i, name := range []string{"web", "plain", "off", "lone"} {
		vs := &model.VirtualService{
			VirtualService: kinds.VirtualService{
				Enabled: true, TrafficEnabled: name != "off", Vips: []kinds.Vip{{VipID: "1"}},
			}, Group: group,
		}
		vs.Identity, vs.Named = named(fmt.Sprint("vs-", i+1), name)
		m.VirtualServices = append(m.VirtualServices, vs)
	}
	web := m.VirtualServices[0]
	web.Pool, m.VirtualServices[1].Pool = pool, plain
	web.EnableRHI, web.Addresses = true, []netip.Addr{netip.MustParseAddr("3.3.3.3")}
	web.VrfContext = &kinds.VrfContext{BGP: routers}
	return m
}

// decide sets the engines that serve each virtual service, from a revision on.
func (b *book) decide(revision uint64, web []place.Seat, calledOff *place.Failure) {
	assignments := place.Assignments{
		{VirtualService: "vs-1", Seats: web, CalledOff: calledOff},
		{VirtualService: "vs-2", Seats: []place.Seat{
			{Engine: "se-two", State: place.Serving, Since: b.now, Cause: place.New},
		}},
	}
	resource := func(uuid string) *enginev1.Resource { return &enginev1.Resource{Uuid: uuid} }
	b.plans = map[string]*enginev1.Plan{}
	for _, engine := range []string{"se-one", "se-two"} {
		plan := &enginev1.Plan{Revision: revision}
		for _, uuid := range []string{"vs-1", "vs-2"} {
			if engine == "se-one" && uuid == "vs-2" {
				continue
			}
			service := resource(uuid)
			service.Body = &enginev1.Resource_VirtualService{VirtualService: &dataplanev1.VirtualService{
				Uuid: uuid, Name: fmt.Sprint(revision), Duty: dataplanev1.Duty_DUTY_SERVE,
			}}
			plan.Resources = append(plan.Resources, service)
		}
		b.plans[engine] = plan
	}
	b.fleet.Observe(reconcile.State{
		Model: b.model, Assignments: assignments, Plans: b.plans,
		Findings: []model.Finding{
			{Kind: "virtualservice", UUID: "vs-1", Name: "web", Field: "flow_dist", Message: "has no effect"},
		},
		Unplaced: []place.Unplaced{
			{VirtualService: "vs-4", Wanted: 1, Why: "group group has no engine left: let one join"},
			{VirtualService: "vs-2", Wanted: 2, Placed: 1, Why: "group group has no engine left: let one join"},
		},
	})
}

func (b *book) connect(engine string) {
	b.fleet.Connected(engine, &enginev1.Hello{
		Version: "1.2.3", Status: &enginev1.Status{
			Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_RUNNING, DataplanePid: 7, DataplaneRestarts: 1,
			SinceUnixMs: 1_000, ServingRevision: 9,
		},
		Resources: &enginev1.Resources{
			Cores: 4, MemoryBytes: 1 << 30, Hostname: "host-" + engine, Addresses: []string{"10.0.0.11"},
		},
		Detours: &enginev1.Detours{Strays: 5, Searched: 4, Found: 3, PassedOn: 2, Taken: 1},
	})
}

func (b *book) report(engine string, body *enginev1.Report) { b.fleet.Reported(engine, body) }

func (b *book) route(engine string, up bool) {
	state, reason := enginev1.BgpState_BGP_STATE_ESTABLISHED, ""
	if !up {
		state, reason = enginev1.BgpState_BGP_STATE_ACTIVE, "hold timer expired"
	}
	b.report(engine, &enginev1.Report{Body: &enginev1.Report_Routing{Routing: &enginev1.Routing{
		Peers: []*enginev1.PeerState{{
			Address: "10.0.0.254", Label: "rack", LocalAs: 65000, RemoteAs: 65001, State: state, Reason: reason,
			RouterId:     "10.0.0.254",
			LocalAddress: "10.0.0.11", HoldS: 180, SinceUnixMs: 1_000, EstablishedCount: 1,
			Bfd: enginev1.BfdState_BFD_STATE_UP,
		}},
		Routes: []*enginev1.AnnouncedRoute{{
			Prefix: "3.3.3.3/32", Peers: []string{"10.0.0.254"}, Communities: []uint32{65000<<16 | 7},
			LocalPreference: 300,
			AsPathPrepend:   2, VirtualServiceUuids: []string{"vs-1"}, SinceUnixMs: 2_000,
		}},
	}}})
}

func (b *book) judge(engine, server string, up bool, reason string) {
	verdicts := []*enginev1.ServerVerdict{{
		PoolUuid: "pool-1", ServerId: server, Up: up, Reason: reason, SinceUnixMs: 5_000,
		Monitors: []*enginev1.MonitorVerdict{{HealthMonitorUuid: "hm-1", Up: up, Reason: reason, ResponseTimeUs: 321}},
	}}
	b.report(engine, &enginev1.Report{
		Body: &enginev1.Report_Verdicts{Verdicts: &enginev1.ServerVerdicts{Verdicts: verdicts}},
	})
}

func (b *book) sample(engine string, unixMs, connections, suspecting uint64) {
	b.report(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
		Pid: 7, UnixMs: unixMs, CpuUserUs: 100 * unixMs, CpuSystemUs: 50 * unixMs, RssBytes: 1 << 20, Workers: 2,
		PinnedWorkers: 1,
		VirtualServices: []*dataplanev1.VirtualServiceCounters{{
			Uuid: "vs-1", ConnectionsTotal: connections, OpenConnections: 5, RequestsTotal: 2 * connections,
			TlsHandshakesTotal:  3,
			TlsResumptionsTotal: 2, TlsFailuresTotal: 1, LocalResponsesTotal: 4,
			ReselectsTotal: 3, ClientAbortsTotal: 6,
			Http2ConnectionsTotal: connections / 2, OpenHttp2Connections: 4, Http2RequestsTotal: connections,
			OpenHttp2Requests: 11, GrpcCallsTotal: 9, Tls13HandshakesTotal: 2,
			RequestsByMethodTotal:      []uint64{connections, 0, 2},
			LocalResponsesByClassTotal: []uint64{0, 0, 0, 1, 3},
			Tls: &dataplanev1.TlsCounters{
				Rows: []*dataplanev1.TlsRow{
					{Version: "TLS 1.2", CipherSuite: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", Group: "P-256",
						Key: "RSA", Total: 1},
					{Version: "TLS 1.3", CipherSuite: "TLS_AES_128_GCM_SHA256", Group: "X25519", Resumed: true,
						Total: 2},
				},
				OthersTotal: 1, Failures: []*dataplanev1.ErrorCounter{{Cause: "no_version", Total: 1}},
			},
			ReceivedBytesTotal: 7,
			SentBytesTotal:     8,
			ResponsesTotal:     []uint64{0, connections, 0, 1, 0},
			Errors:             []*dataplanev1.ErrorCounter{{Cause: "server_reset", Total: connections / 10}},
			Times:              fleettest.Times(uint32(connections)),
			ClientRtt:          fleettest.Times(uint32(connections) / 8).GetWait(),
		}},
		Servers: []*dataplanev1.ServerCounters{{
			PoolUuid: "pool-1", ServerId: "10.0.0.1:80", ConnectionsTotal: connections, OpenConnections: 2,
			RequestsTotal: connections, Http2ConnectionsTotal: connections / 4,
			FailuresTotal: 1, ReusedTotal: 3, SuspectingWorkers: uint32(suspecting),
			ReceivedBytesTotal: 10 * connections, SentBytesTotal: 20 * connections,
			ResponsesTotal: []uint64{0, connections, 0, 0, 1}, ConnectTicksTotal: connections << 10,
			AppResponse: fleettest.ServerTimes(uint32(connections)),
		}},
		WorkerCounters: []*dataplanev1.WorkerCounters{
			{Worker: 0, CpuUs: 140 * unixMs, BatchesTotal: 3 * unixMs, EventsTotal: 5 * unixMs, OpenConnections: 9},
			{Worker: 1, CpuUs: 10 * unixMs, BatchesTotal: unixMs, EventsTotal: unixMs, OpenConnections: 1},
		},
	}}})
}

// page writes all pages that have changed.
func (b *book) page(title string) {
	fmt.Fprintf(&b.text, "# %s\n", title)
	for _, uuid := range []string{"vs-1", "vs-2", "vs-3", "vs-4", "vs-unknown"} {
		b.write(uuid, b.pages.VirtualService(uuid))
	}
	for _, uuid := range []string{"pool-1", "pool-2", "pool-unknown"} {
		b.write(uuid, b.pages.Pool(uuid))
		b.write(uuid+" servers", b.pages.PoolServers(uuid))
	}
	for _, uuid := range []string{"se-one", "se-two", "se-unknown"} {
		b.write(uuid, b.pages.Engine(uuid))
		b.write(uuid+" peers", b.pages.EnginePeers(uuid))
		b.write(uuid+" routes", b.pages.EngineRoutes(uuid))
		b.write(uuid+" BFD", b.pages.EngineBFD(uuid))
	}
}

func (b *book) write(what string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		b.Fatal(err)
	}
	if line := fmt.Sprintf("%s: %s\n", what, text); line != b.last[what] {
		b.last[what] = line
		b.text.WriteString(line)
	}
}

func seat(engine string, state place.SeatState, cause place.Cause) place.Seat {
	return place.Seat{Engine: engine, State: state, Cause: cause, Since: time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC)}
}

func TestRuntimePagesOfAStory(t *testing.T) {
	b := newBook(t)
	b.page("nothing is known")
	both := []place.Seat{seat("se-one", place.Serving, place.New), seat("se-two", place.Serving, place.ScaleOut)}
	b.decide(10, both, nil)
	b.page("nobody has connected")
	b.connect("se-one")
	b.connect("se-two")
	b.page("both are applying it")
	b.fleet.Applied(
		"se-one", b.plans["se-one"],
		[]*dataplanev1.Finding{{Kind: "virtualservice", Uuid: "vs-1", Name: "web", Field: "x", Message: "ignored"}},
	)
	b.fleet.Refused(
		"se-two", b.plans["se-two"],
		[]*dataplanev1.Finding{{Kind: "virtualservice", Uuid: "vs-1", Name: "web", Field: "services[0]",
			Message: "in use"}},
	)
	b.route("se-one", true)
	b.route("se-two", false)
	b.page("one has applied it, the other refused")
	b.fleet.Applied("se-two", b.plans["se-two"], nil)
	b.judge("se-one", "10.0.0.1:80", true, "")
	b.judge("se-one", "10.0.0.2:80", false, "timed out")
	b.judge("se-two", "10.0.0.1:80", false, "refused")
	b.page("one router is lost, one server is down")
	b.route("se-two", true)
	for i, connections := range []uint64{100, 160} {
		b.now = b.now.Add(time.Second)
		b.sample("se-one", uint64(1000*(i+1)), connections, 0)
		b.sample("se-two", uint64(1000*(i+1)), 2*connections, uint64(i))
	}
	b.page("samples came")
	failure := &place.Failure{Event: "VS_MIGRATE_FAILED", Why: "it did not serve in time", At: b.now}
	b.decide(11, []place.Seat{
		seat("se-one", place.Draining, place.ScaleIn), seat("se-two", place.Starting, place.Migrate),
		seat("se-unknown", place.Standby, place.New),
	}, failure)
	b.page("it is moved")
	b.report("se-one", &enginev1.Report{Body: &enginev1.Report_Status{Status: &enginev1.Status{
		Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_BACKING_OFF, Reason: "exit status 101",
	}}})
	b.fleet.Disconnected("se-two", "heartbeat lost")
	b.page("one data plane died, one engine is away")
	const golden = "testdata/pages.txt"
	if *writeGolden {
		if err := os.WriteFile(golden, []byte(b.text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.Split(string(want), "\n")
	for i, line := range strings.Split(b.text.String(), "\n") {
		if i >= len(wanted) || line != wanted[i] {
			t.Fatalf("line %d of %s: got\n%s\nwant\n%s", i+1, golden, line, wanted[min(i, len(wanted)-1)])
		}
	}
}
