package plan

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
)

// asHost matches what can be a host in a request, with a port or without.
var asHost = regexp.MustCompile(`^[A-Za-z0-9._:\[\]-]+$`)

// hostToServers is the host that servers are asked for instead of that of the client; empty: there is none.
func hostToServers(vs *model.VirtualService, report *report) string {
	host := vs.HostNameTranslation
	if host != "" && !asHost.MatchString(host) {
		report.warn(about("virtualservice", vs.Identity, vs.Named), "host_name_xlate",
			"%q is no host name: has no effect", host)
		return ""
	}
	return host
}

// namesHosts tells whether some servers of a pool want a host of their own in requests.
func namesHosts(pool *model.Pool) bool {
	return pool.RewriteHostToServerName || pool.RewriteHostToSNI ||
		slices.ContainsFunc(pool.Members, func(member model.Member) bool { return member.RewriteHostHeader })
}

// nameHosts says what requests to each server have as Host. A name of the server goes before the name for TLS.
func nameHosts(from *model.Pool, into *dataplanev1.Pool, report *report) {
	subject := about("pool", from.Identity, from.Named)
	ofTLS := ""
	if from.RewriteHostToSNI && from.SSLProfile != nil {
		ofTLS = from.ServerName
	}
	for i, member := range from.Members {
		host := ofTLS
		if from.RewriteHostToServerName || member.RewriteHostHeader {
			switch {
			case asHost.MatchString(member.Hostname):
				host = member.Hostname
			case member.Hostname == "":
				report.warn(subject, fmt.Sprintf("servers[%d].hostname", i), "is empty: requests to %s keep their Host",
					member.ID)
			default:
				report.warn(subject, fmt.Sprintf("servers[%d].hostname", i),
					"%q is no host name: requests to %s keep their Host", member.Hostname, member.ID)
			}
		}
		if host != "" {
			into.Servers[i].Host = withPort(host, member.Address.Port(), from.AppendPort)
		}
	}
}

// withPort appends the port of a server to a host, as append_port of its pool says.
func withPort(host string, port uint16, appendPort string) string {
	if appendPort == "NEVER" || appendPort == "NON_DEFAULT_80_443" && (port == 80 || port == 443) {
		return host
	}
	if address, err := netip.ParseAddr(host); err == nil && address.Is6() {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}
