package events_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/runtime"
	"github.com/weir-lb/weir/controller/slowness"
)

// listener compares states and checks the events that follow.
type listener struct {
	*fleettest.Stage
	watcher *events.Watcher
	pages   *runtime.Pages
	about   string // kind of the objects whose events are checked
}

func newListener(t *testing.T, about string) *listener {
	s := fleettest.New(t)
	now := func() time.Time { return s.Now }
	pages := runtime.New(s.Fleet, slowness.New(s.Fleet, s.Events, now).Of, nil, now)
	return &listener{s, events.NewWatcher(s.Events, s.Fleet), pages, about}
}

// serveUp has engines serve, and find both servers up.
func (l *listener) serveUp(engines ...string) {
	l.Serve(engines...)
	for _, engine := range engines {
		l.Judge(engine, "10.0.0.1:80", true, "")
		l.Judge(engine, "10.0.0.2:80", true, "")
	}
}

func (l *listener) look() []string {
	all := l.Told(l.watcher.Look)
	return slices.DeleteFunc(all, func(event string) bool { return !strings.Contains(event, " "+l.about+" ") })
}

func (l *listener) told(want ...string) {
	l.Helper()
	if got := l.look(); !slices.Equal(got, want) {
		l.Errorf("want %q, got %q", want, got)
	}
}

func TestEventsSayWhenServersAndPoolsComeUpAndGoDownButNotWhenTheyStart(t *testing.T) {
	l := newListener(t, "POOL")
	l.told()
	l.Serve("se-one")
	l.told() // no engine has checked a server yet
	l.Judge("se-one", "10.0.0.1:80", true, "")
	l.told()
	l.Judge("se-one", "10.0.0.2:80", false, "refused")
	l.told()
	l.Judge("se-one", "10.0.0.2:80", true, "")
	l.told("SERVER_UP POOL web-pool server 10.0.0.2:80 is up")
	l.Judge("se-one", "10.0.0.1:80", false, "timed out")
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.1:80 is down: timed out")
	l.Judge("se-one", "10.0.0.2:80", false, "refused")
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.2:80 is down: refused",
		"POOL_DOWN POOL web-pool is down: server 10.0.0.1:80: timed out; server 10.0.0.2:80: refused")
	l.told()
	l.Judge("se-one", "10.0.0.1:80", true, "")
	l.told("SERVER_UP POOL web-pool server 10.0.0.1:80 is up", "POOL_UP POOL web-pool is up")
}

func TestOneEventTellsOfAServerHoweverManyEnginesSeeItGo(t *testing.T) {
	l := newListener(t, "POOL")
	l.serveUp("se-one", "se-two")
	l.told()
	l.Judge("se-one", "10.0.0.1:80", false, "refused")
	l.told() // the other engine still reaches it
	l.Judge("se-two", "10.0.0.1:80", false, "timed out")
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.1:80 is down: timed out")
	l.Disconnected("se-two", "gone")
	l.told()
}

func TestNobodyIsToldDownForWantOfAnEngineThatCouldTell(t *testing.T) {
	l := newListener(t, "POOL")
	l.serveUp("se-one")
	l.told()
	l.Disconnected("se-one", "gone")
	l.told()
	l.Serve("se-two")
	l.told() // the other engine has yet to check it
	l.Judge("se-two", "10.0.0.1:80", false, "refused")
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.1:80 is down: refused") // the pool may be up on the other engine
	l.Judge("se-two", "10.0.0.2:80", true, "")
	l.told()
}

func TestAPoolWhoseServersAreAllDisabledIsDownAndTheyAreNot(t *testing.T) {
	l := newListener(t, "POOL")
	l.serveUp("se-one")
	l.told()
	enable := func(servers bool) {
		l.WebPool.Members = slices.Clone(l.WebPool.Members)
		l.WebPool.Members[0].Enabled, l.WebPool.Members[1].Enabled = servers, servers
		l.Want(10, "vs-1", "pool-1")
	}
	enable(false)
	l.told("POOL_DOWN POOL web-pool is down: none of its servers is enabled")
	enable(true)
	l.told("POOL_UP POOL web-pool is up")
}

func TestServersOfALargePoolThatGoTogetherAreCounted(t *testing.T) {
	const servers = 20 + 30
	l := newListener(t, "POOL")
	l.WebPool.Members = nil
	for i := range servers {
		l.WebPool.Members = append(l.WebPool.Members, fleettest.Member(fmt.Sprintf("10.0.1.%d", i)))
	}
	l.Want(11, "vs-1", "pool-1")
	l.Serve("se-one")
	judgeAll := func(up bool) {
		for _, server := range l.WebPool.Members {
			l.Judge("se-one", server.ID, up, "refused")
		}
	}
	judgeAll(true)
	l.told()
	judgeAll(false)
	told := l.look()
	if len(told) != 20+2 || told[20] != "SERVER_DOWN POOL web-pool 30 more servers are down" {
		t.Errorf("%d events: %q", len(told), told)
	}
}

func TestPoolsAndServersThatAreGoneAreForgotten(t *testing.T) {
	l := newListener(t, "POOL")
	l.serveUp("se-one")
	l.told()
	l.Observe(reconcile.State{Model: &model.Model{}, Plans: l.Want(11)})
	l.told()
	l.Want(12, "vs-1", "pool-1")
	l.Judge("se-one", "10.0.0.1:80", false, "refused")
	l.Judge("se-one", "10.0.0.2:80", false, "refused")
	l.told() // the servers are new
}

func TestServerToWhichConnectionsComeToNothingIsDownThoughMonitorsDoNotSaySo(t *testing.T) {
	l := newListener(t, "POOL")
	l.serveUp("se-one")
	l.told()
	l.Suspected("se-one", "10.0.0.1:80", 1)
	const why = "inline_health_monitor: new connections to it fail on 1 of 2 workers"
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.1:80 is down: " + why)
	server := l.pages.PoolServers("pool-1")[0]
	l.Contains(server["oper_status"], "OPER_DOWN", why, "last_changed_time:"+fleettest.Clock.UTC().Format(time.RFC3339))
	l.Contains(server["engines"], "se-one", "OPER_DOWN", why)
	l.Contains(l.pages.Pool("pool-1")["oper_status"], "OPER_UP")
	l.Suspected("se-one", "10.0.0.1:80", 2)
	if news := l.News(); len(news.Pools)+len(news.Services) > 0 {
		t.Errorf("it was suspect before, and news is %+v", news)
	}
	l.told()
	l.Judge("se-one", "10.0.0.1:80", false, "refused")
	l.Contains(l.pages.PoolServers("pool-1")[0]["oper_status"], "OPER_DOWN", "[refused]")
	l.Judge("se-one", "10.0.0.1:80", true, "")
	l.Suspected("se-one", "10.0.0.1:80", 0)
	l.told("SERVER_UP POOL web-pool server 10.0.0.1:80 is up")
}

func TestServerWhoseResponsesAreErrorsIsDownAndSaysWhy(t *testing.T) {
	l := newListener(t, "POOL")
	l.serveUp("se-one")
	l.told()
	l.Ejected("se-one", "10.0.0.1:80", 2)
	const why = "inline_health_monitor: most of its responses are errors, on 2 of 2 workers"
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.1:80 is down: " + why)
	l.Contains(l.pages.PoolServers("pool-1")[0]["oper_status"], "OPER_DOWN", why)
	l.Ejected("se-one", "10.0.0.1:80", 0)
	l.told("SERVER_UP POOL web-pool server 10.0.0.1:80 is up")
}

func TestServerThatOneEngineReachesIsUpHoweverSuspectItIsToAnother(t *testing.T) {
	l := newListener(t, "POOL")
	l.WebPool.HealthMonitors = nil
	l.Want(12, "vs-1", "pool-1")
	l.Serve("se-one", "se-two")
	l.told()
	l.Suspected("se-one", "10.0.0.1:80", 2)
	l.told()
	server := l.pages.PoolServers("pool-1")[0]
	l.Contains(server["oper_status"], "OPER_UP", "not monitored")
	l.Contains(server["engines"], "se-one", "OPER_DOWN", "2 of 2 workers")
	l.Suspected("se-two", "10.0.0.1:80", 1)
	l.told("SERVER_DOWN POOL web-pool server 10.0.0.1:80 is down: " +
		"inline_health_monitor: new connections to it fail on 1 of 2 workers")
}
