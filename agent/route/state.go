package route

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/apiutil"
	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
	"github.com/osrg/gobgp/v4/pkg/server"

	"github.com/weir-lb/weir/agent/route/bfd"
)

// bgpStates and bfdStates are what the libraries call the states of a report.
var bgpStates = map[bgp.FSMState]BGPState{
	bgp.BGP_FSM_IDLE:        SessionIdle,
	bgp.BGP_FSM_CONNECT:     Connect,
	bgp.BGP_FSM_ACTIVE:      Active,
	bgp.BGP_FSM_OPENSENT:    OpenSent,
	bgp.BGP_FSM_OPENCONFIRM: OpenConfirm,
	bgp.BGP_FSM_ESTABLISHED: Established,
}

var bfdStates = map[bfd.State]BFDState{bfd.Down: BFDDown, bfd.Init: BFDInit, bfd.Up: BFDUp}

// heard is the library's last report about a session.
type heard struct {
	state  BGPState
	reason string // why the last session ended; empty: none has, or a new one is established
	ended  bool   // a session has, since it was begun
}

func (s *speaker) last(peer netip.Addr) heard {
	last, _ := s.heard.Load(peer)
	now, _ := last.(heard)
	return now
}

// note is called by a goroutine of the library for each change of a session's state.
func (s *speaker) note(library *server.BgpServer, event *apiutil.WatchEventMessage_PeerEvent) {
	peer := event.Peer.State
	now := s.last(peer.NeighborAddress)
	now.ended = now.ended || now.state == Established && peer.SessionState != bgp.BGP_FSM_ESTABLISHED
	now.state = bgpStates[peer.SessionState]
	switch {
	case peer.SessionState == bgp.BGP_FSM_ESTABLISHED:
		now.reason = ""
		if !stands(library, peer.NeighborAddress) {
			return
		}
	case peer.SessionState == bgp.BGP_FSM_IDLE && peer.DisconnectMessage != "" &&
		(now.reason == "" || !endedByUs(peer)):
		now.reason = disconnection(peer)
	}
	s.heard.Store(peer.NeighborAddress, now)
	s.changed()
}

// stands waits until a session is really established: the library reports it a moment before. It tells whether the
// session is still the same one, because it may have ended and another may have begun.
func stands(library *server.BgpServer, peer netip.Addr) bool {
	const confirming = api.PeerState_SESSION_STATE_OPENCONFIRM
	state := stateOf(library, peer)
	for end := time.Now().Add(beat); time.Now().Before(end) && state == confirming; state = stateOf(library, peer) {
		time.Sleep(time.Millisecond)
	}
	return state >= confirming
}

// stateOf is the present state of a session, and not the last report about it; unspecified: there is no session with
// that peer.
func stateOf(library *server.BgpServer, peer netip.Addr) (state api.PeerState_SessionState) {
	err := library.ListPeer(context.Background(), &api.ListPeerRequest{Address: peer.String()}, func(found *api.Peer) {
		state = found.GetState().GetSessionState()
	})
	if err != nil {
		return api.PeerState_SESSION_STATE_UNSPECIFIED
	}
	return state
}

// endedByUs tells whether this engine ended the session in order (RFC 4486). Then the reason is known already, for
// instance BFD.
func endedByUs(state apiutil.PeerState) bool {
	return state.DisconnectReason == api.PeerState_DISCONNECT_REASON_NOTIFICATION_SENT &&
		strings.Contains(state.DisconnectMessage, "(cease)")
}

// disconnection is why a session ended, in words.
func disconnection(state apiutil.PeerState) string {
	text := strings.TrimPrefix(state.DisconnectReason.String(), "DISCONNECT_REASON_")
	text = strings.ToLower(strings.ReplaceAll(text, "_", " "))
	if state.DisconnectMessage != "" && state.DisconnectMessage != strings.ReplaceAll(text, " ", "-") {
		text += ": " + state.DisconnectMessage
	}
	return text
}

// states are all sessions as they are now, sorted by address.
func (s *speaker) states() []PeerState {
	if s.bgp == nil {
		return nil
	}
	all := map[netip.Addr]*PeerState{}
	for address, peer := range s.peers {
		all[address] = &PeerState{
			Address: address, Label: peer.config.Label, LocalAS: peer.config.LocalAS, RemoteAS: peer.config.RemoteAS,
			State: SessionIdle, Reason: peer.mute,
		}
		if peer.config.BFD.On {
			now, _ := s.bfd.State(address)
			all[address].BFD = bfdStates[now]
		}
	}
	err := s.bgp.ListPeer(context.Background(), &api.ListPeerRequest{}, func(found *api.Peer) {
		if address, err := netip.ParseAddr(found.GetConf().GetNeighborAddress()); err == nil && all[address] != nil {
			s.describe(all[address], found, s.peers[address])
		}
	})
	if err != nil {
		s.log.Warn("cannot read the states of the BGP peers", "reason", err)
	}
	sorted := make([]PeerState, 0, len(all))
	for _, state := range all {
		sorted = append(sorted, *state)
	}
	slices.SortFunc(sorted, func(a, b PeerState) int { return strings.Compare(a.Address.String(), b.Address.String()) })
	return sorted
}

// describe fills in what the library knows of a session.
func (s *speaker) describe(into *PeerState, found *api.Peer, peer *session) {
	address := netip.MustParseAddr(found.GetConf().GetNeighborAddress())
	now := s.last(address)
	into.State = cmp.Or(now.state, SessionIdle)
	if up := established(*into); up != peer.up {
		peer.up, peer.since = up, time.Now()
		if up {
			peer.count++
			s.bfd.Pardon(address)
			time.AfterFunc(watchAfter, s.changed)
		}
	}
	peer.keepsRoutes = s.keeps && slices.ContainsFunc(found.GetState().GetRemoteCap(), helps)
	into.EstablishedCount = peer.count
	into.SinceUnixMs = uint64(peer.since.UnixMilli())
	if !peer.up {
		into.Reason = cmp.Or(now.reason, peer.lack(into.LocalAS))
		return
	}
	into.LocalAddress, into.RouterID = found.GetTransport().GetLocalAddress(), found.GetState().GetRouterId()
	into.HoldS = uint32(found.GetTimers().GetState().GetNegotiatedHoldTime())
}

// lack says what may prevent a session.
func (p *session) lack(localAS uint32) string {
	text := fmt.Sprintf(
		"no session with it yet: it must answer at port 179 and have this engine as a neighbor of AS %d", localAS)
	if p.config.MD5Secret != "" {
		text += " with the same md5_secret"
	}
	return text
}

// helps tells whether a router's capability says that it keeps routes. A router that only helps may send no restart
// time of its own (RFC 4724 §3).
func helps(capability *api.Capability) bool { return capability.GetGracefulRestart() != nil }

// quiet logs only the library's warnings; states report everything else.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}
func (w warnings) WithAttrs(attributes []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attributes)}
}
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
