package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/schema"
)

// tcpProfile converts what the engine's kernel lets it choose; the rest of a network profile is the kernel's business.
func tcpProfile(profile *schema.NetworkProfile, tcp *schema.TCPProxy, report *report) *dataplanev1.TcpProfile {
	subject := about("networkprofile", profile.Identity, profile.Named)
	warnUnheeded(subject, "profile.tcp_proxy_profile.", unheededOfTCP, tcp, report)
	return &dataplanev1.TcpProfile{
		IdleTimeoutS:    tcp.IdleTimeoutS,
		KeepaliveProbes: tcp.IdleConnectionType == "KEEP_ALIVE",
		Nagle:           tcp.NaglesAlgorithm,
	}
}
