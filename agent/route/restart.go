package route

import (
	"context"
	"time"

	"github.com/osrg/gobgp/v4/api"
)

// Graceful restart (RFC 4724): an agent is replaced while its data plane serves, and routers keep its routes meanwhile.
const (
	// restartTime is how long routers keep the routes of an engine that has no agent.
	restartTime = 15 * time.Second
	// deferralS is how long the library waits for routes of routers after a restart. Routers send none.
	deferralS = 1
	// toldWithin is how long a router needs to receive the routes, after a resumed session is established.
	toldWithin = deferralS*time.Second + 500*time.Millisecond
	// connectTime is how long the first sessions may take to be established.
	connectTime = 5 * time.Second
	// resumeWithin is how long the agent opens no session while it does not know what the data plane serves. Routers
	// keep the routes that long. They would drop them after a session without routes.
	resumeWithin = restartTime - connectTime
)

// offerRestart makes the router keep our routes when the session ends without a NOTIFICATION. With resumed, it also
// says that the router has kept them, and that the data plane has served on.
func offerRestart(made *api.Peer, resumed bool) {
	made.GracefulRestart = &api.GracefulRestart{
		Enabled: true, RestartTime: uint32(restartTime.Seconds()), DeferralTime: deferralS, LocalRestarting: resumed,
	}
	made.AfiSafis[0].MpGracefulRestart = &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: true}}
}

// keepsRoutes tells whether every router that has our routes would keep them.
func (s *speaker) keepsRoutes() bool {
	sessions := 0
	for _, peer := range s.peers {
		if peer.up && !peer.keepsRoutes {
			return false
		}
		if peer.up {
			sessions++
		}
	}
	return sessions > 0
}

// toldBy is when all routers have received the routes that they keep. A router that has not received them drops them
// when the session ends again (RFC 4724 §4.2: consecutive restarts).
func (s *speaker) toldBy() (last time.Time) {
	for _, peer := range s.peers {
		if told := peer.since.Add(toldWithin); peer.up && peer.resumes && told.After(last) {
			last = told
		}
	}
	return last
}

// pause ends every session without a word.
func (s *speaker) pause() {
	if s.bgp == nil {
		return
	}
	if err := s.bgp.StopBgp(context.Background(), &api.StopBgpRequest{AllowGracefulRestart: true}); err != nil {
		s.log.Error("routers may drop the routes of this engine", "reason", err)
	}
	s.forget()
}

// resumption is the start of an agent that takes over a data plane. While the agent does not know what the data plane
// serves, it announces nothing, because routers would take that for all routes.
type resumption uint8

const (
	resumed  resumption = iota // or there was nothing to resume
	resuming                   // it may serve
)

// heard ends the resumption if the data plane is not there, or has another Plan.
func (r resumption) heard(dataplane Dataplane) resumption {
	if dataplane == Away {
		return resumed
	}
	return r
}
