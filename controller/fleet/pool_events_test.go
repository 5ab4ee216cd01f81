package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/reconcile"
)

// listener looks at the pools and hears what events that brings.
type listener struct {
	*stage
	before verdicts
}

func newListener(t *testing.T) *listener { return &listener{newStage(t), newVerdicts()} }

// serveUp has engines serve, all of which find both servers up.
func (l *listener) serveUp(engines ...string) {
	l.serve(engines...)
	for _, engine := range engines {
		l.judge(engine, "10.0.0.1:80", true, "")
		l.judge(engine, "10.0.0.2:80", true, "")
	}
}

func (l *listener) look() (told []string) {
	before := len(l.events.Entries())
	l.tellPools(l.before)
	entries := l.events.Entries()
	for _, entry := range entries[:len(entries)-before] {
		told = append(told, strings.Join([]string{entry.ID, entry.Kind, entry.Name, entry.Message}, " "))
	}
	slices.Reverse(told)
	return told
}

func (l *listener) told(want ...string) {
	l.Helper()
	if got := l.look(); !slices.Equal(got, want) {
		l.Errorf("want %q, got %q", want, got)
	}
}

func TestEventsSayWhenServersAndPoolsComeUpAndGoDownButNotWhenTheyStart(t *testing.T) {
	l := newListener(t)
	l.told()
	l.serve("se-one")
	l.told() // nothing is checked yet
	l.judge("se-one", "10.0.0.1:80", true, "")
	l.told()
	l.judge("se-one", "10.0.0.2:80", false, "refused")
	l.told()
	l.judge("se-one", "10.0.0.2:80", true, "")
	l.told("SERVER_UP POOL web-pool server 10.0.0.2:80 is up")
	l.judge("se-one", "10.0.0.1:80", false, "timed out")
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.1:80 is down: timed out")
	l.judge("se-one", "10.0.0.2:80", false, "refused")
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.2:80 is down: refused",
		"POOL_DOWN POOL web-pool is down: server 10.0.0.1:80: timed out; server 10.0.0.2:80: refused")
	l.told()
	l.judge("se-one", "10.0.0.1:80", true, "")
	l.told("SERVER_UP POOL web-pool server 10.0.0.1:80 is up", "POOL_UP POOL web-pool is up")
}

func TestOneEventTellsOfAServerHoweverManyEnginesSeeItGo(t *testing.T) {
	l := newListener(t)
	l.serveUp("se-one", "se-two")
	l.told()
	l.judge("se-one", "10.0.0.1:80", false, "refused")
	l.told() // the other still reaches it
	l.judge("se-two", "10.0.0.1:80", false, "timed out")
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.1:80 is down: timed out")
	l.Disconnected("se-two", "gone")
	l.told()
}

func TestNobodyIsToldDownForWantOfAnEngineThatCouldTell(t *testing.T) {
	l := newListener(t)
	l.serveUp("se-one")
	l.told()
	l.Disconnected("se-one", "gone")
	l.told()
	l.serve("se-two")
	l.told() // it has yet to check
	l.judge("se-two", "10.0.0.1:80", false, "refused")
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.1:80 is down: refused") // and the pool may be up by the other
	l.judge("se-two", "10.0.0.2:80", true, "")
	l.told()
}

func TestAPoolWhoseServersAreAllDisabledIsDownAndTheyAreNot(t *testing.T) {
	l := newListener(t)
	l.serveUp("se-one")
	l.told()
	l.pool.Members[0].Enabled, l.pool.Members[1].Enabled = false, false
	l.told("POOL_DOWN POOL web-pool is down: none of its servers is enabled")
	l.pool.Members[0].Enabled, l.pool.Members[1].Enabled = true, true
	l.told("POOL_UP POOL web-pool is up")
}

func TestServersOfALargePoolThatGoTogetherAreCounted(t *testing.T) {
	const servers = serversTold + 30
	l := newListener(t)
	l.pool.Members = nil
	for i := range servers {
		l.pool.Members = append(l.pool.Members, member(fmt.Sprintf("10.0.1.%d", i)))
	}
	l.observe(11, "vs-1", "pool-1")
	l.serve("se-one")
	judgeAll := func(up bool) {
		for _, server := range l.pool.Members {
			l.judge("se-one", server.ID, up, "refused")
		}
	}
	judgeAll(true)
	l.told()
	judgeAll(false)
	told := l.look()
	if len(told) != serversTold+2 || told[serversTold] != "SERVER_DOWN POOL web-pool 30 more servers are down" {
		t.Errorf("%d events: %q", len(told), told)
	}
}

func TestPoolsAndServersThatAreGoneAreForgotten(t *testing.T) {
	l := newListener(t)
	l.serveUp("se-one")
	l.told()
	l.Observe(reconcile.State{Model: &model.Model{}, Plans: l.observe(11)})
	l.told()
	if len(l.before.pools)+len(l.before.servers) != 0 {
		t.Errorf("%+v", l.before)
	}
}

// suspected is a sample by which a server is suspect to so many of two workers.
func (s *stage) suspected(engine, server string, workers uint32) {
	s.Reported(engine, &enginev1.Report{Body: &enginev1.Report_Sample{Sample: &dataplanev1.Sample{
		Workers: 2, UnixMs: uint64(clock.UnixMilli()),
		Servers: []*dataplanev1.ServerCounters{{PoolUuid: "pool-1", ServerId: server, Up: true, SuspectingWorkers: workers}},
	}}})
}

func TestServerToWhichConnectionsComeToNothingIsDownThoughMonitorsDoNotSaySo(t *testing.T) {
	l := newListener(t)
	l.serveUp("se-one")
	l.told()
	l.news.Store(false)
	l.suspected("se-one", "10.0.0.1:80", 1)
	if !l.news.Load() {
		t.Error("nobody looks")
	}
	const why = "inline_health_monitor: new connections to it come to nothing on 1 of 2 workers"
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.1:80 is down: " + why)
	server := l.PoolServers("pool-1")[0]
	l.contains(server["oper_status"], "OPER_DOWN", why, "last_changed_time:"+clock.UTC().Format(time.RFC3339))
	l.contains(server["engines"], "se-one", "OPER_DOWN", why)
	l.contains(l.Pool("pool-1")["oper_status"], "OPER_UP")
	l.news.Store(false)
	l.suspected("se-one", "10.0.0.1:80", 2)
	if l.news.Load() {
		t.Error("somebody looks, though it was suspect before")
	}
	l.told()
	l.judge("se-one", "10.0.0.1:80", false, "refused")
	l.contains(l.PoolServers("pool-1")[0]["oper_status"], "OPER_DOWN", "[refused]")
	l.judge("se-one", "10.0.0.1:80", true, "")
	l.suspected("se-one", "10.0.0.1:80", 0)
	l.told("SERVER_UP POOL web-pool server 10.0.0.1:80 is up")
}

func TestServerThatOneEngineReachesIsUpHoweverSuspectItIsToAnother(t *testing.T) {
	l := newListener(t)
	l.pool.HealthMonitors = nil
	l.observe(12, "vs-1", "pool-1")
	l.serve("se-one", "se-two")
	l.told()
	l.suspected("se-one", "10.0.0.1:80", 2)
	l.told()
	server := l.PoolServers("pool-1")[0]
	l.contains(server["oper_status"], "OPER_UP", "not monitored")
	l.contains(server["engines"], "se-one", "OPER_DOWN", "2 of 2 workers")
	l.suspected("se-two", "10.0.0.1:80", 1)
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.1:80 is down: " +
		"inline_health_monitor: new connections to it come to nothing on 1 of 2 workers")
}
