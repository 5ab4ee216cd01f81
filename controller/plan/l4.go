package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
)

var proxyProtocols = map[string]dataplanev1.ProxyProtocol{
	"PROXY_PROTOCOL_VERSION_1": dataplanev1.ProxyProtocol_PROXY_PROTOCOL_V1,
	"PROXY_PROTOCOL_VERSION_2": dataplanev1.ProxyProtocol_PROXY_PROTOCOL_V2,
}

// l4Profile converts the settings of virtual services other than HTTP. Engines do not parse the traffic of these
// services.
func l4Profile(vs *model.VirtualService, report *report) *dataplanev1.L4Profile {
	subject := about("applicationprofile", vs.ApplicationProfile.Identity, vs.ApplicationProfile.Named)
	warnUnheeded(subject, unheededOfApplicationProfile, vs.ApplicationProfile, report)
	noteUncountedAttacks(subject, vs, report)
	if limitsRequests(vs.ApplicationProfile) {
		report.warn(subject, "dos_rl_profile.rl_profile", "limits requests, and %s", noRequests)
	}
	if dns := vs.ApplicationProfile.DNSService; dns != nil {
		warnUnheeded(subject, unheededOfDNS, dns, report)
	}
	for _, pool := range vs.Pools() {
		noteHashOfHTTP(pool, report)
		noteReselectOfHTTP(pool, report)
		noteHostsOfHTTP(pool, report)
		if pool.EnableHTTP2 {
			report.warn(about("pool", pool.Identity, pool.Named), "enable_http2",
				"layer 4 passes on what clients speak: has no effect")
		}
	}
	if len(vs.L4.ALPNProtocols) > 0 && httpsPort(vs) == 0 {
		report.warn(subject, "tcp_app_profile.weir_alpn_protocols",
			"clients without TLS offer no protocols: has no effect")
	}
	profile := &dataplanev1.L4Profile{AlpnProtocols: vs.L4.ALPNProtocols}
	if vs.L4.ProxyProtocolEnabled {
		profile.ProxyProtocol = proxyProtocols[vs.L4.ProxyProtocolVersion]
	}
	return profile
}

func noteReselectOfHTTP(pool *model.Pool, report *report) {
	if pool.ServerReselect != nil && pool.ServerReselect.Enabled {
		report.warn(about("pool", pool.Identity, pool.Named), "server_reselect",
			"needs HTTP: has no effect for layer 4 virtual services")
	}
}

func noteHashOfHTTP(pool *model.Pool, report *report) {
	if pool.Algorithm != "LB_ALGORITHM_CONSISTENT_HASH" || keptByAddress(pool) {
		return
	}
	switch hashInputs[pool.Hash] {
	case dataplanev1.HashInput_HASH_INPUT_URI, dataplanev1.HashInput_HASH_INPUT_HEADER:
		report.warn(about("pool", pool.Identity, pool.Named), "lb_algorithm_hash",
			"%s needs HTTP: clients of layer 4 virtual services go by their address", pool.Hash)
	}
}
