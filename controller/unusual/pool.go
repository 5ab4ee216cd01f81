package unusual

import (
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/model"
)

const (
	// poolsMost and serversMost bound the pools and the servers with habits. More have none. A server needs about
	// 3.5 KB, and a pool 6 KB.
	poolsMost   = 10_000
	serversMost = 10_000
	// sizeMost is the size of the largest pool that has habits.
	sizeMost = 1000
	// serverIdleMost is how long the habits of a server without traffic are kept. They are of an hour.
	serverIdleMost = 2 * time.Hour
	// toldMost limits the events about the servers of one pool in one minute. The next minute tells of the others.
	toldMost = 5
)

// The metrics of pools and servers, as an index.
const (
	openConnections = iota
	answerTime
	errorResponses
	failures
)

// ofPools are those of a pool. Avi marks the first as having a season.
var ofPools = metricsOf(true)

// ofServers are the same. Which share of the requests a server gets changes more often than the time of day shows, so
// its metrics are compared with the last hour.
var ofServers = metricsOf(false)

func metricsOf(seasonal bool) []metric {
	return []metric{
		openConnections: {id: "l4_server.avg_open_conns", seasonal: seasonal, name: "open connections", least: 50},
		answerTime: {id: "l7_server.avg_application_response_time", name: "mean time of answers", least: 5,
			rising: true}, // in ms
		errorResponses: {id: "l7_server.avg_resp_5xx", name: "responses with 5xx", least: 1, share: 0.01, rising: true},
		failures: {id: "l4_server.avg_errored_connections", name: "failed connections and requests", least: 1,
			share: 0.01, rising: true},
	}
}

// pool is a pool with its habits, and its servers with theirs.
type pool struct {
	object    *model.Pool // nil: it is only known from the history yet
	up        int         // servers
	changedAt time.Time
	server    // all of its servers together
	servers   map[string]*server
}

// server is a server that ever counted, with its habits: those of one that is idle are forgotten.
type server struct {
	last   *counted // nil: nothing was read yet
	busyAt time.Time
	habits
}

// habitsOf are those of a server; empty: those of the pool.
func (p *pool) habitsOf(server string) habits {
	if server == "" {
		return p.habits
	}
	if s := p.servers[server]; s != nil {
		return s.habits
	}
	return habits{}
}

// known is the number of its servers with habits.
func (p *pool) known() (count int) {
	for _, s := range p.servers {
		if s.of != nil {
			count++
		}
	}
	return count
}

// poolOf returns a pool, which is a new one if it has no habits yet; nil: there are too many.
func (w *Watch) poolOf(uuid string) *pool {
	if w.pools[uuid] == nil && len(w.pools) < poolsMost {
		w.pools[uuid] = &pool{server: server{busyAt: w.now(), habits: habitsOf(ofPools)}, servers: map[string]*server{}}
	}
	return w.pools[uuid]
}

// judgePools judges the minute that has ended.
func (w *Watch) judgePools(readings map[string]reading, at time.Time) {
	for uuid, is := range readings {
		if w.pools[uuid] == nil && is.isBusy() {
			w.poolOf(uuid)
		}
	}
	total := 0
	for _, p := range w.pools {
		total += p.known()
	}
	for uuid, p := range w.pools {
		is, exists := readings[uuid]
		if !exists {
			w.forgetPool(uuid, "it is deleted, or has too many servers")
			continue
		}
		p.meet(is, at)
		total += w.judgePool(p, is, total, at)
		if at.Sub(p.busyAt) > idleMost {
			w.forgetPool(uuid, "it has no traffic any more")
		}
	}
}

// meet notes whether an operator has changed the pool, or a server came up or went down: the others get its requests.
func (p *pool) meet(is reading, at time.Time) {
	if p.object != nil && (p.object != is.of || is.each != nil && p.up != is.up) {
		p.changedAt = at
	}
	if p.object = is.of; is.each != nil {
		p.up = is.up
	}
}

// judgePool judges a pool and its servers. total is the number of all servers with habits. judgePool returns how many
// more there are now.
func (w *Watch) judgePool(p *pool, is reading, total int, at time.Time) (more int) {
	quiet := isOff(p.object.Analytics) || at.Sub(p.changedAt) < settles
	w.judgeServer(&p.server, is.all(), p.about(), quiet, at)
	left, members := toldMost, make(map[string]bool, len(is.of.Members))
	if len(is.of.Members) <= int(score.Profile(is.of.Analytics).ServersScored) {
		for i, member := range is.of.Members {
			members[member.ID] = true
			s, now := p.servers[member.ID], is.ofMember(i)
			if s == nil && now.isBusy() {
				s = &server{}
				p.servers[member.ID] = s
			}
			if s == nil {
				continue
			}
			about := p.about()
			about.Part, about.left = member.ID, &left
			w.judgeServer(s, now, about, quiet, at)
			switch idle := at.Sub(s.busyAt); {
			case s.of == nil && idle == 0 && total+more < serversMost:
				s.habits = habitsOf(ofServers)
				more++
			case s.of != nil && idle > serverIdleMost:
				more -= w.forgetServer(p, member.ID, "it has no traffic any more")
			}
		}
	}
	for id := range p.servers {
		if !members[id] {
			more -= w.forgetServer(p, id, "it is gone, or its pool has too many servers")
			delete(p.servers, id)
		}
	}
	return more
}

// forgetServer forgets the habits of a server. What is unusual about it ends. It returns 1 if there were any.
func (w *Watch) forgetServer(p *pool, id, why string) int {
	s := p.servers[id]
	if s.of == nil {
		return 0
	}
	about := p.about()
	about.Part = id
	w.endAll(s.habits, about, why)
	s.habits = habits{}
	return 1
}

// judgeServer judges what a server, or all of a pool, did in the minute that has ended; nil: nothing was counted.
func (w *Watch) judgeServer(s *server, now *counted, about subject, quiet bool, at time.Time) {
	about.rate = s.take(now, at.Sub(w.lookedAt).Seconds())
	if about.rate > 0 {
		s.busyAt = at
	}
	w.look(s.habits, about, quiet || about.rate < busyLeast, at)
}

// take takes what was counted as the values of a minute. It returns how many requests or connections there were per
// second.
func (s *server) take(now *counted, seconds float64) (rate float64) {
	then := s.last
	if now == nil {
		if now = then; now == nil {
			return 0
		}
		now = now.later()
	}
	if s.last = now; then == nil || seconds <= 0 {
		return 0
	}
	failed := perSecond(now.failures, then.failures, seconds)
	if s.of != nil {
		s.of[openConnections].add(float64(now.open))
		if now.answers > 0 {
			s.of[answerTime].add(1000 * now.mean().Seconds())
		}
		if now.requests > 0 {
			s.of[errorResponses].add(perSecond(now.errors, then.errors, seconds))
		}
		s.of[failures].add(failed)
	}
	return failed + max(perSecond(now.requests, then.requests, seconds),
		perSecond(now.connections, then.connections, seconds))
}

// perSecond is how fast a count grew. One that fell is counted anew.
func perSecond(now, then int64, seconds float64) float64 { return float64(max(0, now-then)) / seconds }

// about is the subject of events about a pool.
func (p *pool) about() subject {
	if p.object == nil {
		return subject{}
	}
	return subject{Entry: events.Entry{Kind: "POOL", UUID: p.object.UUID, Name: p.object.Name,
		Tenant: p.object.Tenant()}}
}

// forgetPool forgets the habits of a pool and of its servers. What is unusual about them ends.
func (w *Watch) forgetPool(uuid, why string) {
	p := w.pools[uuid]
	w.endAll(p.habits, p.about(), why)
	for id := range p.servers {
		w.forgetServer(p, id, why)
	}
	delete(w.pools, uuid)
}
