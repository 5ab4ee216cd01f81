package grading

import (
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/histogram"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// pool is what was counted of the servers of a pool.
type pool struct {
	facts   score.Pool // of the last look
	turn    fleet.Turn // when its servers were last read
	servers map[string]*server
	sum     server // of all servers, if the pool has too many to grade each
}

// server is what was counted of a server.
type server struct {
	last    *tally
	timings map[string]fleet.ServerTiming
	window  window[serverPoint]
	facts   *score.Server // of the last look; nil: there was none
	score   score.Score
}

type serverPoint struct {
	counts score.Counts
	up     float64 // 1, or 0; of all servers, the share of those that are up
	known  bool
}

// ofServer is as ofService.
func ofServer(counted map[string]int64) *tally {
	t := &tally{
		connections: counted["connections"], requests: counted["requests"], failures: counted["failures"],
		resets: counted[fleet.Resets], errors: fleet.ErrorsIn(counted),
	}
	for _, class := range []string{"responses_2xx", "responses_3xx", "responses_4xx", "responses_5xx"} {
		t.responses += counted[class]
	}
	return t
}

// pool looks at a pool and its servers, and grades them.
func (g *Grades) pool(known *fleet.Known, of *model.Pool, into scores) {
	p := g.pools[of.UUID]
	if p == nil {
		p = &pool{servers: map[string]*server{}}
		g.pools[of.UUID] = p
	}
	state, profile := known.PoolHealth(of), score.Profile(of.Analytics)
	p.facts = score.Pool{
		Profile: profile, State: state.State, Reasons: state.Reasons, HTTP: isHTTP(known, of),
		Enabled: state.Enabled, Up: state.Up, Anomalies: g.unusual(of.UUID),
	}
	if len(of.Members) > int(profile.ServersScored) {
		p.lookAtAll(known, of, state)
	} else {
		p.lookAtEach(known, of, state, into)
	}
	into.pools[of.UUID] = score.OfPool(&p.facts)
}

// isHTTP tells whether virtual services send requests to a pool, and not tunnels.
func isHTTP(known *fleet.Known, pool *model.Pool) bool {
	for vs := range known.Users(pool) {
		if vs.HTTP == nil {
			return false
		}
	}
	return true
}

// lookAtEach looks at each server, and grades it.
func (p *pool) lookAtEach(known *fleet.Known, of *model.Pool, state health.Pool, into scores) {
	p.sum = server{}
	turn := known.PoolTurn(of.UUID)
	quiet := turn == p.turn
	p.turn = turn
	servers := make(map[string]*server, len(of.Members))
	for i, member := range of.Members {
		key := fleet.ServerKey{Pool: of.UUID, Server: member.ID}
		s := p.servers[member.ID]
		if s == nil {
			s = &server{}
		}
		servers[member.ID] = s
		if s.last == nil || !quiet {
			s.look(ofServer(known.CountedOfServer(key)), known.ServerTimingsOf(key), p.facts.Profile,
				score.ServerLimits(p.facts.Profile), state.Servers[i].State)
		} else {
			s.put(serverPoint{}, state.Servers[i].State)
		}
		facts := score.Server{
			ID: member.ID, Profile: p.facts.Profile, State: state.Servers[i].State, Reason: state.Servers[i].Reason,
			HTTP: p.facts.HTTP,
		}
		facts.Counts, facts.Up = s.totals()
		if s.facts == nil || *s.facts != facts { // otherwise the score is what it was
			kept := facts
			s.facts, s.score = &kept, score.OfServer(&kept)
		}
		into.servers[key] = s.score
		if facts.State == health.Up || facts.State == health.Down {
			p.facts.Servers = append(p.facts.Servers, s.facts)
		}
	}
	p.servers = servers
}

// lookAtAll looks at what all servers together do.
func (p *pool) lookAtAll(known *fleet.Known, of *model.Pool, state health.Pool) {
	p.servers = map[string]*server{}
	now := &tally{}
	for _, member := range of.Members {
		one := ofServer(known.CountedOfServer(fleet.ServerKey{Pool: of.UUID, Server: member.ID}))
		now.connections, now.requests = now.connections+one.connections, now.requests+one.requests
		now.responses, now.errors = now.responses+one.responses, now.errors+one.errors
		now.failures, now.resets = now.failures+one.failures, now.resets+one.resets
	}
	p.sum.look(now, nil, p.facts.Profile, score.Limits{}, health.Up)
	facts := &score.Server{ID: "*", Profile: p.facts.Profile, State: health.Up, HTTP: p.facts.HTTP}
	facts.Counts, _ = p.sum.totals()
	facts.Up = 1 // the share of servers that are up limits the score of the pool
	p.facts.Sum = facts
}

// look adds a point to the window, which begins when the server is up.
func (s *server) look(now *tally, timings map[string]fleet.ServerTiming, profile *kinds.AnalyticsProfile,
	limits score.Limits, state health.State) {
	then, before := s.last, s.timings
	s.last, s.timings = now, timings
	point := serverPoint{}
	if then != nil {
		point.counts = now.since(then, profile)
		var times histogram.Coarse
		for id, timing := range timings {
			last, seen := before[id]
			if !seen && !timing.Whole || last.Now == timing.Now {
				continue
			}
			if last.Process != timing.Process || !histogram.Continues(timing.Now, last.Now) {
				last.Now = nil
			}
			times.Add(timing.Now, last.Now)
		}
		judge(&point.counts, &times, limits)
	}
	s.put(point, state)
}

// put adds a point with what was counted.
func (s *server) put(point serverPoint, state health.State) {
	if state == health.Up {
		point.up = 1
	}
	if state == health.Disabled || s.window.length == 0 && point.up == 0 {
		s.window = window[serverPoint]{}
		return
	}
	point.known = state == health.Up || state == health.Down
	s.window.put(point)
}

// totals adds up the window.
func (s *server) totals() (counts score.Counts, up float64) {
	looks := 0
	for _, point := range s.window.all() {
		counts.Join(point.counts)
		if point.known {
			looks++
			up += point.up
		}
	}
	if looks == 0 {
		return counts, 1
	}
	return counts, up / float64(looks)
}
