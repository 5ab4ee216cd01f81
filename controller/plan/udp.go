package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const (
	udpPath = "profile.udp_fast_path_profile."
	dnsPort = 53
)

// udpProfile converts a network profile of datagrams. Engines proxy them, whether the profile says fast path or proxy.
func udpProfile(vs *model.VirtualService, report *report) *dataplanev1.UdpProfile {
	if vs.UDP.DSR != nil {
		profile := about("networkprofile", vs.NetworkProfile.Identity, vs.NetworkProfile.Named)
		report.block(profile, udpPath+"dsr_profile", noDirectReturn)
	}
	return &dataplanev1.UdpProfile{
		IdleTimeoutS: vs.UDP.SessionIdleTimeoutS,
		PerDatagram:  vs.UDP.PerPacketBalancing,
		Answers:      udpAnswers(vs),

		KeepClientAddress: !vs.UDP.Snat,
	}
}

// udpAnswers says how many answers servers give, if that is known.
func udpAnswers(vs *model.VirtualService) dataplanev1.UdpAnswers {
	switch {
	case vs.ApplicationProfile.Type == "APPLICATION_PROFILE_TYPE_SYSLOG":
		return dataplanev1.UdpAnswers_UDP_ANSWERS_NONE
	case vs.ApplicationProfile.Type == "APPLICATION_PROFILE_TYPE_DNS" || isOfDNS(vs.Ports()):
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
		refuseUnkeptAddresses(subject, vs, report)
	}
	if vs.L4 != nil && vs.L4.ProxyProtocolEnabled {
		application := about("applicationprofile", vs.ApplicationProfile.Identity, vs.ApplicationProfile.Named)
		report.block(application, "tcp_app_profile.proxy_protocol_enabled", "virtual service %s cannot be served: "+
			"engines send PROXY headers over TCP only: use a profile without it for UDP", vs.Name)
	}
	for _, pool := range vs.Pools() {
		if pool.SSLProfile != nil {
			report.block(subject, "pool_ref",
				"pool %s has an SSL profile, and engines do not speak TLS over UDP: use a "+
					"pool without one", pool.Name)
		}
	}
}

// keptServersMax is the maximum of servers (addresses and ports) of an engine that see the addresses of clients. The
// agent refuses a Plan with more, as several virtual services may have them.
const keptServersMax = 512

// refuseUnkeptAddresses blocks virtual services whose clients' addresses engines cannot keep, and warns of those whose
// answers may not come back.
func refuseUnkeptAddresses(subject subject, vs *model.VirtualService, report *report) {
	if vs.Group != nil {
		group := about("serviceenginegroup", vs.Group.Identity, vs.Group.Named)
		const why = "servers see the addresses of clients of virtual service %s, and answer through the one engine " +
			"that is their gateway: set %s to 1"
		switch least, most := place.Limits(vs.Group); {
		case least > 1:
			report.block(group, "min_scaleout_per_vs", why, vs.Name, "min_scaleout_per_vs and max_scaleout_per_vs")
		case most > 1:
			report.warn(group, "max_scaleout_per_vs", why, vs.Name, "max_scaleout_per_vs")
		}
	}
	servers := 0
	for _, pool := range vs.Pools() {
		servers += len(pool.Members)
	}
	if servers > keptServersMax {
		report.block(subject, "pool_ref",
			"its pools have %d servers, and at most %d on an engine can see the addresses of "+
				"clients: split the pool, or set snat to true in %s", servers, keptServersMax, vs.NetworkProfile.Name)
		return
	}
	for _, pool := range vs.Pools() {
		refuseUnkeptPool(subject, vs, pool, report)
	}
}

func refuseUnkeptPool(subject subject, vs *model.VirtualService, pool *model.Pool, report *report) {
	for _, member := range pool.Members {
		if why := unkeptTowards(member.Address.Addr(), vs.Addresses); why != "" {
			report.block(subject, "pool_ref", "server %s of pool %s %s: use another pool, or set snat to true in %s",
				member.ID, pool.Name, why, vs.NetworkProfile.Name)
		}
	}
	if len(pool.HealthMonitors) == 0 {
		report.warn(about("pool", pool.Identity, pool.Named), "health_monitor_refs",
			"servers see the addresses of clients of virtual service %s, so engines do not hear that a server refuses "+
				"datagrams: give the pool a health monitor", vs.Name)
	}
}

// unkeptTowards says why no client's address can be kept towards a server; empty: it can.
func unkeptTowards(server netip.Addr, vips []netip.Addr) string {
	if server.IsLoopback() {
		return "is on the engine itself, and could not answer to the address of a client"
	}
	for _, vip := range vips {
		if vip.Is4() != server.Is4() {
			return fmt.Sprintf("has another kind of address than the clients of %s, whose addresses it is to see", vip)
		}
	}
	return ""
}
