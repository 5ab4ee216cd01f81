package route

import (
	"context"
	"time"

	"github.com/osrg/gobgp/v4/api"
)

// Graceful restart (RFC 4724): an agent whose data plane serves on is replaced, and routers keep its routes meanwhile.
const (
	// restartTime is how long routers keep the routes of an engine that has no agent.
	restartTime = 15 * time.Second
	// deferralS is how long routes wait for what routers have to say, which is nothing.
	deferralS = 1
	// toldWithin is how long after a session that resumes stands its router has heard the routes.
	toldWithin = deferralS*time.Second + 500*time.Millisecond
	// connectTime is how long the first sessions may take to begin.
	connectTime = 5 * time.Second
	// resumeWithin is how long routers are not spoken to while it is not known what the data plane serves: as long as
	// they keep the routes. A session before that is one without routes, and they drop them.
	resumeWithin = restartTime - connectTime
)

// offerRestart has the session's router keep our routes when it ends without a word. With resumed, they were kept, and
// the data plane has served on.
func offerRestart(made *api.Peer, resumed bool) {
	made.GracefulRestart = &api.GracefulRestart{
		Enabled: true, RestartTime: uint32(restartTime.Seconds()), DeferralTime: deferralS, LocalRestarting: resumed,
	}
	made.AfiSafis[0].MpGracefulRestart = &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: true}}
}

// keepsRoutes tells whether every router that knows our routes would keep them.
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

// toldBy is when routers will have heard the routes that they keep. One that has not drops them when the session ends
// again (RFC 4724 §4.2: consecutive restarts).
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

// resumption is the beginning of an agent that takes over a data plane: as long as it is not known what that serves,
// routers are told nothing, for they would take it as all there is.
type resumption uint8

const (
	resumed  resumption = iota // or there was nothing to resume
	resuming                   // it may serve
)

// heard goes on when the data plane turns out not to be there, or to have another Plan.
func (r resumption) heard(dataplane Dataplane) resumption {
	if dataplane == Away {
		return resumed
	}
	return r
}
