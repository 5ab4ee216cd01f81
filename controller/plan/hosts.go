package plan

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
)

// asName matches a name or an address of IPv4.
var asName = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// asHost returns a host as requests have it, without a port; empty: it is none. Engines refuse a Plan that has another
// character in a host than this one lets through: a zone of IPv6 means nothing to a server.
func asHost(host string) string {
	inside := host
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		inside = host[1 : len(host)-1]
	}
	if address, err := netip.ParseAddr(inside); err == nil && address.Is6() && address.Zone() == "" {
		return "[" + address.String() + "]"
	}
	if asName.MatchString(host) {
		return host
	}
	return ""
}

// asHostAndPort is the same for a host with a port, or without.
func asHostAndPort(text string) string {
	if host := asHost(text); host != "" {
		return host
	}
	at := max(strings.LastIndexByte(text, ':'), 0)
	host, port := asHost(text[:at]), strings.TrimPrefix(text[at:], ":")
	number, err := strconv.ParseUint(port, 10, 16)
	isBare := strings.Contains(text[:at], ":") && !strings.HasPrefix(text, "[")
	if host == "" || err != nil || number == 0 || isBare {
		return ""
	}
	return host + ":" + strconv.FormatUint(number, 10)
}

// hostToServers is the host that servers are asked for instead of that of the client; empty: there is none.
func hostToServers(vs *model.VirtualService, report *report) string {
	host := asHostAndPort(vs.HostNameTranslation)
	if host == "" && vs.HostNameTranslation != "" {
		report.warn(about("virtualservice", vs.Identity, vs.Named), "host_name_xlate",
			"%q is no host name: has no effect", vs.HostNameTranslation)
	}
	return host
}

// noteHostsOfHTTP warns of hosts for servers in the pool of a virtual service of layer 4.
func noteHostsOfHTTP(pool *model.Pool, report *report) {
	for _, setting := range []struct {
		field string
		isSet bool
	}{
		{"rewrite_host_header_to_server_name", pool.RewriteHostToServerName},
		{"rewrite_host_header_to_sni", pool.RewriteHostToSNI},
		{"servers.rewrite_host_header", slices.ContainsFunc(pool.Members, wantsItsName)},
	} {
		if setting.isSet {
			report.warn(about("pool", pool.Identity, pool.Named), setting.field,
				"needs HTTP: has no effect for layer 4 virtual services")
		}
	}
}

func wantsItsName(member model.Member) bool { return member.RewriteHostHeader }

// namesHosts tells whether some servers of a pool want a host of their own in requests.
func namesHosts(pool *model.Pool) bool {
	return pool.RewriteHostToServerName || pool.RewriteHostToSNI || slices.ContainsFunc(pool.Members, wantsItsName)
}

// nameHosts says what requests to each server have as Host. A name of the server goes before the name for TLS.
func nameHosts(from *model.Pool, into *dataplanev1.Pool, report *report) {
	subject := about("pool", from.Identity, from.Named)
	ofTLS := ""
	if from.RewriteHostToSNI && from.SSLProfile != nil {
		ofTLS = asHost(from.ServerName)
	}
	appendPort := from.AppendPort
	if from.UseServicePort { // the port is another one for each port of a virtual service
		appendPort = "NEVER"
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
			into.Servers[i].Host = withPort(host, member.Address.Port(), appendPort)
		}
	}
	if len(namesClient) > 0 {
		report.warn(subject, "server_name", "is empty: TLS to %s names the client's host, but Host names the server; "+
			"set server_name", strings.Join(namesClient[:min(len(namesClient), 3)], ", "))
	}
}

var appendPorts = map[string]enginev1.AppendPort{
	"ALWAYS": enginev1.AppendPort_APPEND_PORT_ALWAYS, "NEVER": enginev1.AppendPort_APPEND_PORT_NEVER,
}

// isAskedForHost tells whether a monitor asks servers for a host.
func isAskedForHost(monitor *model.HealthMonitor) bool {
	return monitor.Check != nil || monitor.Type == "HEALTH_MONITOR_WEIR_GRPC"
}

// withPort appends the port of a server to a host, as append_port of its pool says.
func withPort(host string, port uint16, appendPort string) string {
	if appendPort == "NEVER" || appendPort == "NON_DEFAULT_80_443" && (port == 80 || port == 443) {
		return host
	}
	return host + ":" + strconv.Itoa(int(port))
}
