package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
)

// serverTLS says how engines encrypt connections to the servers of a pool; nil: they do not. It also returns the
// resources that this needs. If an object that the pool refers to is missing, the virtual service is blocked: otherwise
// servers would get less protection than the operator believes.
func serverTLS(from *model.Pool, report *report) (*dataplanev1.ServerTls, []*enginev1.Resource) {
	missing := from.SSLProfileRef != "" && from.SSLProfile == nil ||
		from.PKIProfileRef != "" && from.PKIProfile == nil ||
		from.CertificateRef != "" && from.Certificate == nil
	if missing {
		report.blocked = true // model has a finding about that
		return nil, nil
	}
	warnUnencrypted(from, report)
	if from.SSLProfile == nil {
		return nil, nil
	}
	compiled := &dataplanev1.ServerTls{
		Profile:     tlsProfile(from.SSLProfile, report),
		Sni:         from.SNIEnabled,
		ServerName:  from.ServerName,
		HostCheck:   from.HostCheckEnabled,
		DomainNames: from.DomainNames,
	}
	var parts []*enginev1.Resource
	if profile := from.PKIProfile; profile != nil {
		compiled.PkiProfileUuid = profile.UUID
		parts = append(parts, pkiProfile(profile))
	}
	if from.Certificate != nil {
		compiled.CertificateUuid = from.Certificate.UUID
		parts = append(parts, certificate(from.Certificate))
	}
	return compiled, parts
}

// warnUnencrypted warns of settings that have no effect because another setting is missing.
func warnUnencrypted(from *model.Pool, report *report) {
	subject := about("pool", from.Identity, from.Named)
	without := func(field, what string, set bool) {
		if set {
			report.warn(subject, field, "has no effect without %s", what)
		}
	}
	if from.SSLProfile == nil {
		without("pki_profile_ref", "ssl_profile_ref: servers are spoken to in plain", from.PKIProfile != nil)
		without("ssl_key_and_certificate_ref", "ssl_profile_ref: servers are spoken to in plain",
			from.Certificate != nil)
		without("server_name", "ssl_profile_ref: servers are spoken to in plain", from.ServerName != "")
	}
	without("host_check_enabled", "pki_profile_ref: the certificates of servers are not verified",
		from.HostCheckEnabled && from.PKIProfile == nil)
	without("domain_name", "host_check_enabled", len(from.DomainNames) > 0 && !from.HostCheckEnabled)
}

// tlsByService tells whether connections to servers are encrypted only if those of the clients are.
func tlsByService(pool *model.Pool) bool { return pool.UseServicePort && pool.UseServiceSSLMode }

// checkTLSByService blocks what would send requests in plain text that came by TLS.
func checkTLSByService(from *model.Pool, report *report) {
	subject := about("pool", from.Identity, from.Named)
	switch {
	case !tlsByService(from):
	case from.SSLProfile == nil:
		report.block(subject, "use_service_ssl_mode", "needs ssl_profile_ref: requests of ports with enable_ssl go to "+
			"servers by TLS")
	case from.EnableHTTP2:
		report.block(subject, "use_service_ssl_mode", "cannot be with enable_http2, whose requests say by what they "+
			"come: turn one of them off, or use a pool for each kind of port")
	}
}
