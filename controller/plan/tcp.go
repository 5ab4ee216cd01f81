package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const (
	tcpPath  = "profile.tcp_proxy_profile."
	fastPath = "PROTOCOL_TYPE_TCP_FAST_PATH"

	noDirectReturn = "answers of servers pass through the engine: remove it"
)

// tcpProfile converts the settings that an engine can choose. The kernel decides about the rest of a network profile.
func tcpProfile(vs *model.VirtualService, report *report) *dataplanev1.TcpProfile {
	tcp := vs.TCP
	noteUnheededTCP(vs, report)
	profile := &dataplanev1.TcpProfile{
		IdleTimeoutS:         tcp.IdleTimeoutS,
		KeepaliveProbes:      tcp.IdleConnectionType == "KEEP_ALIVE",
		CloseHalfClosed:      !tcp.KeepaliveInHalfClose,
		Nagle:                tcp.NaglesAlgorithm,
		ProxyProtocolSources: sourcesOf(tcp),
	}
	if idleS := streamIdleS(vs); idleS > 0 {
		if isShorter := tcp.IdleTimeoutS > 0 && tcp.IdleTimeoutS < idleS; profile.KeepaliveProbes || !isShorter {
			profile.IdleTimeoutS = idleS
		}
		profile.KeepaliveProbes = false
	}
	return profile
}

// streamIdleS is how long a stream of layer 4 with TLS may be silent, in seconds; 0: the application profile does not
// say.
func streamIdleS(vs *model.VirtualService) uint32 {
	profile := vs.ApplicationProfile
	if profile == nil || profile.Type != profileOfSSL || profile.SSL == nil {
		return 0
	}
	return profile.SSL.StreamIdleS
}

const profileOfSSL = "APPLICATION_PROFILE_TYPE_SSL"

// noteUnheededTCP warns of the settings of a network profile that have no effect. Engines proxy a fast path, too.
func noteUnheededTCP(vs *model.VirtualService, report *report) {
	subject, setting := about("networkprofile", vs.NetworkProfile.Identity, vs.NetworkProfile.Named),
		vs.NetworkProfile.Profile
	warnUnheeded(subject, unheededOfNetworkProfile, setting, report)
	if setting.Type == fastPath {
		if setting.TCPFastPath != nil && setting.TCPFastPath.DSR != nil {
			report.block(subject, "profile.tcp_fast_path_profile.dsr_profile", noDirectReturn)
		}
		if vs.HTTP != nil && setting.TCPFastPath != nil {
			warnUnheeded(subject, unheededOfFastPathUnderHTTP, setting.TCPFastPath, report)
		}
		return
	}
	warnUnheeded(subject, unheededOfTCP, vs.TCP, report)
	if vs.HTTP != nil {
		warnUnheeded(subject, unheededOfTCPUnderHTTP, vs.TCP, report)
	}
}

// sourcesOf returns the subnets from which PROXY headers are accepted.
func sourcesOf(tcp *kinds.TCPProxy) []string {
	var sources []string
	for i := range tcp.ProxyProtocolSources {
		sources = append(sources, tcp.ProxyProtocolSources[i].Prefix().String())
	}
	return sources
}
