package plan

import (
	"net/netip"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const (
	udpPath = "profile.udp_fast_path_profile."
	dnsPort = 53
)

// udpProfile converts a network profile of datagrams. Engines proxy them, whether the profile says fast path or proxy.
func udpProfile(vs *model.VirtualService) *dataplanev1.UdpProfile {
	return &dataplanev1.UdpProfile{
		IdleTimeoutS: vs.UDP.SessionIdleTimeoutS,
		PerDatagram:  vs.UDP.PerPacketBalancing,
		Answers:      udpAnswers(vs),
	}
}

// udpAnswers says how many answers servers give, if that is known.
func udpAnswers(vs *model.VirtualService) dataplanev1.UdpAnswers {
	switch {
	case vs.ApplicationProfile.Type == "APPLICATION_PROFILE_TYPE_SYSLOG":
		return dataplanev1.UdpAnswers_UDP_ANSWERS_NONE
	case vs.ApplicationProfile.Type == "APPLICATION_PROFILE_TYPE_DNS" || isOfDNS(vs.Services):
		return dataplanev1.UdpAnswers_UDP_ANSWERS_ONE_EACH
	default:
		return dataplanev1.UdpAnswers_UDP_ANSWERS_UNKNOWN
	}
}

// isOfDNS tells whether all ports are that of DNS.
func isOfDNS(services []kinds.Service) bool {
	for _, service := range services {
		if service.Port != dnsPort || service.PortRangeEnd != dnsPort {
			return false
		}
	}
	return len(services) > 0
}

// refuseUnservedUDP blocks what engines cannot do with datagrams. A virtual service that would work otherwise than its
// operator expects is not served.
func refuseUnservedUDP(subject subject, vs *model.VirtualService, report *report) {
	network := about("networkprofile", vs.NetworkProfile.Identity, vs.NetworkProfile.Named)
	if vs.HTTP != nil {
		report.block(subject, "application_profile_ref", "%s is for HTTP, which needs TCP: use one of "+
			"APPLICATION_PROFILE_TYPE_L4, _DNS or _SYSLOG for UDP", vs.ApplicationProfile.Name)
	}
	if port := httpsPort(vs); port != 0 {
		report.block(subject, strings.TrimSuffix(portField(vs, port), ".port")+".enable_ssl",
			"engines do not speak TLS over UDP: remove it")
	}
	if slices.ContainsFunc(vs.Addresses, netip.Addr.IsUnspecified) {
		report.block(subject, "vsvip_ref", "has 0.0.0.0 or ::, and engines answer datagrams from the address that a "+
			"client asked: give the VsVip that address")
	}
	if !vs.UDP.Snat {
		report.block(network, udpPath+"snat", "virtual service %s cannot be served: servers see the address of the "+
			"engine, because their answers must come back to it: set snat to true", vs.Name)
	}
	if vs.UDP.DSR != nil {
		report.block(network, udpPath+"dsr_profile", "virtual service %s cannot be served: answers of servers pass "+
			"through the engine: remove it", vs.Name)
	}
	if vs.L4 != nil && vs.L4.ProxyProtocolEnabled {
		application := about("applicationprofile", vs.ApplicationProfile.Identity, vs.ApplicationProfile.Named)
		report.block(application, "tcp_app_profile.proxy_protocol_enabled", "virtual service %s cannot be served: "+
			"engines send PROXY headers over TCP only: use a profile without it for UDP", vs.Name)
	}
	if vs.Pool != nil && vs.Pool.SSLProfile != nil {
		report.block(subject, "pool_ref", "pool %s has an SSL profile, and engines do not speak TLS over UDP: use a "+
			"pool without one", vs.Pool.Name)
	}
}
