package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const tcpPath = "profile.tcp_proxy_profile."

// tcpProfile converts the settings that an engine can choose. The kernel decides about the rest of a network profile.
func tcpProfile(vs *model.VirtualService, report *report) *dataplanev1.TcpProfile {
	subject, tcp := about("networkprofile", vs.NetworkProfile.Identity, vs.NetworkProfile.Named), vs.TCP
	warnUnheeded(subject, unheededOfTCP, tcp, report)
	if vs.HTTP != nil {
		warnUnheeded(subject, unheededOfTCPUnderHTTP, tcp, report)
	}
	return &dataplanev1.TcpProfile{
		IdleTimeoutS:         tcp.IdleTimeoutS,
		KeepaliveProbes:      tcp.IdleConnectionType == "KEEP_ALIVE",
		CloseHalfClosed:      !tcp.KeepaliveInHalfClose,
		Nagle:                tcp.NaglesAlgorithm,
		ProxyProtocolSources: sourcesOf(tcp),
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
