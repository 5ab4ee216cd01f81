package plan

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
)

// asName matches a name or an address of IPv4.
var asName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// asHost returns a host as requests have it, without a port; empty: it is none.
func asHost(host string) string {
	if address, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && address.Is6() {
		return "[" + address.String() + "]"
	}
	if asName.MatchString(host) {
		return host
	}
	return ""
}

// hasHost tells whether a text is a host, with a port or without.
func hasHost(text string) bool {
	if at := strings.LastIndexByte(text, ':'); at > 0 && asHost(text) == "" {
		_, err := strconv.ParseUint(text[at+1:], 10, 16)
		return err == nil && asHost(text[:at]) != ""
	}
	return asHost(text) != ""
}

// hostToServers is the host that servers are asked for instead of that of the client; empty: there is none.
func hostToServers(vs *model.VirtualService, report *report) string {
	host := vs.HostNameTranslation
	if host != "" && !hasHost(host) {
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
		ofTLS = asHost(from.ServerName)
	}
	var namesClient []string
	for i, member := range from.Members {
		host := ofTLS
		if from.RewriteHostToServerName || member.RewriteHostHeader {
			if host = asHost(member.Hostname); host == "" {
				report.warn(subject, fmt.Sprintf("servers[%d].hostname", i),
					"%q is no host name: requests to %s keep their Host", member.Hostname, member.ID)
			} else if from.SSLProfile != nil && from.SNIEnabled && from.ServerName == "" {
				namesClient = append(namesClient, member.ID)
			}
		}
		if host != "" {
			into.Servers[i].Host = withPort(host, member.Address.Port(), from.AppendPort)
		}
	}
	if len(namesClient) > 0 {
		report.warn(subject, "server_name", "is empty: in TLS, engines name the client's host, and in requests that of the "+
			"server, to %s", strings.Join(namesClient[:min(len(namesClient), 3)], ", "))
	}
}

// withPort appends the port of a server to a host, as append_port of its pool says.
func withPort(host string, port uint16, appendPort string) string {
	if appendPort == "NEVER" || appendPort == "NON_DEFAULT_80_443" && (port == 80 || port == 443) {
		return host
	}
	return host + ":" + strconv.Itoa(int(port))
}
