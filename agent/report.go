package agent

import (
	"math"
	"net/netip"
	"time"

	"github.com/weir-lb/weir/agent/dataplane"
	"github.com/weir-lb/weir/agent/fastpath/detour"
	"github.com/weir-lb/weir/agent/monitor"
	"github.com/weir-lb/weir/agent/route"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/host"
)

// This file converts what the parts of an agent report into what the controller receives.

var wireStates = map[dataplane.State]enginev1.DataplaneState{
	dataplane.Starting:   enginev1.DataplaneState_DATAPLANE_STATE_STARTING,
	dataplane.Running:    enginev1.DataplaneState_DATAPLANE_STATE_RUNNING,
	dataplane.BackingOff: enginev1.DataplaneState_DATAPLANE_STATE_BACKING_OFF,
	dataplane.Stopped:    enginev1.DataplaneState_DATAPLANE_STATE_STOPPED,
}

func wireStatus(status dataplane.Status) *enginev1.Status {
	return &enginev1.Status{
		Dataplane: wireStates[status.State], Reason: status.Reason, DataplanePid: uint32(status.PID),
		DataplaneRestarts: status.Restarts, ServingRevision: status.ServingRevision, SinceUnixMs: status.SinceUnixMs,
	}
}

func wireVerdicts(verdicts []monitor.Verdict) *enginev1.ServerVerdicts {
	all := new(enginev1.ServerVerdicts)
	for _, verdict := range verdicts {
		said := &enginev1.ServerVerdict{
			PoolUuid: verdict.Pool, ServerId: verdict.Server, Up: verdict.Up, Reason: verdict.Reason,
			SinceUnixMs: verdict.SinceUnixMs,
		}
		for _, each := range verdict.Monitors {
			said.Monitors = append(said.Monitors, &enginev1.MonitorVerdict{
				HealthMonitorUuid: each.UUID, Up: each.Up, Reason: each.Reason,
				ResponseTimeUs: uint32(each.Took.Microseconds()),
			})
		}
		all.Verdicts = append(all.Verdicts, said)
	}
	return all
}

// wireDetours is nil if nothing is passed on.
func wireDetours(counts *detour.Counts) *enginev1.Detours {
	if counts == nil {
		return nil
	}
	return &enginev1.Detours{
		Strays: counts.Strays, Searched: counts.Searched, Found: counts.Found, PassedOn: counts.PassedOn,
		Taken: counts.Taken, Unowned: counts.Unowned, Dropped: counts.Dropped,
	}
}

// checkTimesMax bounds the servers of one sample.
const checkTimesMax = 1000

// checkTimes are those of the servers from a position on, and the position at which the next ones begin.
func checkTimes(verdicts []monitor.Verdict, from int) (times []*enginev1.CheckTime, next int) {
	if from >= len(verdicts) {
		from = 0
	}
	to := min(len(verdicts), from+checkTimesMax)
	for _, verdict := range verdicts[from:to] {
		slowest := time.Duration(0)
		for _, each := range verdict.Monitors {
			slowest = max(slowest, each.Took)
		}
		if slowest > 0 {
			times = append(times, &enginev1.CheckTime{PoolUuid: verdict.Pool, ServerId: verdict.Server,
				TookUs: uint32(min(slowest.Microseconds(), math.MaxUint32))})
		}
	}
	return times, to
}

func wireHost(counts host.Counts, at time.Time) *enginev1.HostSample {
	sample := &enginev1.HostSample{
		UnixMs: uint64(at.UnixMilli()), CpuBusyUs: counts.CPUBusyUs, CpuTotalUs: counts.CPUTotalUs,
		MemoryBytes: counts.MemoryBytes, MemoryAvailableBytes: counts.MemoryAvailableBytes,
		DiskBytes: counts.DiskBytes, DiskFreeBytes: counts.DiskFreeBytes,
		ListenOverflowsTotal: counts.ListenOverflows, ListenDropsTotal: counts.ListenDrops,
		SynCookiesTotal: counts.SYNCookies, TcpSentSegmentsTotal: counts.SentSegments,
		TcpRetransmittedSegmentsTotal: counts.RetransmittedSegments, AgentCpuUs: counts.OwnCPUUs,
		AgentRssBytes: counts.OwnRSSBytes,
	}
	for _, each := range counts.Interfaces {
		sample.Interfaces = append(sample.Interfaces, &enginev1.NetworkInterface{
			Name: each.Name, RxBytesTotal: each.RxBytes, TxBytesTotal: each.TxBytes, RxPacketsTotal: each.RxPackets,
			TxPacketsTotal: each.TxPackets, RxDroppedTotal: each.RxDropped, TxDroppedTotal: each.TxDropped,
			RxErrorsTotal: each.RxErrors, TxErrorsTotal: each.TxErrors,
		})
	}
	return sample
}

var wireBGPStates = map[route.BGPState]enginev1.BgpState{
	route.SessionIdle: enginev1.BgpState_BGP_STATE_IDLE,
	route.Connect:     enginev1.BgpState_BGP_STATE_CONNECT,
	route.Active:      enginev1.BgpState_BGP_STATE_ACTIVE,
	route.OpenSent:    enginev1.BgpState_BGP_STATE_OPEN_SENT,
	route.OpenConfirm: enginev1.BgpState_BGP_STATE_OPEN_CONFIRM,
	route.Established: enginev1.BgpState_BGP_STATE_ESTABLISHED,
}

var wireBFDStates = map[route.BFDState]enginev1.BfdState{
	route.BFDOff:  enginev1.BfdState_BFD_STATE_OFF,
	route.BFDDown: enginev1.BfdState_BFD_STATE_DOWN,
	route.BFDInit: enginev1.BfdState_BFD_STATE_INIT,
	route.BFDUp:   enginev1.BfdState_BFD_STATE_UP,
}

func wireRouting(routing *route.Routing) *enginev1.Routing {
	said := &enginev1.Routing{NextHop: textOf(routing.NextHop)}
	for _, peer := range routing.Peers {
		said.Peers = append(said.Peers, &enginev1.PeerState{
			Address: peer.Address.String(), Label: peer.Label, LocalAs: peer.LocalAS, RemoteAs: peer.RemoteAS,
			LocalAddress: peer.LocalAddress, RouterId: peer.RouterID, State: wireBGPStates[peer.State],
			SinceUnixMs: peer.SinceUnixMs, Reason: peer.Reason, EstablishedCount: peer.EstablishedCount,
			Bfd: wireBFDStates[peer.BFD], HoldS: peer.HoldS,
		})
	}
	for _, each := range routing.Routes {
		announced := &enginev1.AnnouncedRoute{
			Prefix: each.Prefix.String(), Communities: each.Communities, LocalPreference: each.LocalPreference,
			AsPathPrepend: each.ASPathPrepend, VirtualServiceUuids: each.Services, SinceUnixMs: each.SinceUnixMs,
		}
		for _, peer := range each.Peers {
			announced.Peers = append(announced.Peers, peer.String())
		}
		said.Routes = append(said.Routes, announced)
	}
	return said
}

// textOf is an address as text; empty: the address is invalid.
func textOf(address netip.Addr) string {
	if !address.IsValid() {
		return ""
	}
	return address.String()
}

func wireEvent(event route.Event) *enginev1.Event {
	return &enginev1.Event{
		UnixMs: event.UnixMs, Id: event.ID, ObjectKind: "vrfcontext", ObjectUuid: event.VRF, Message: event.Message,
	}
}
