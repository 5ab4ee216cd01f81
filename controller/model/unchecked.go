package model

import (
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Versions that did not act on these fields stored them as they came. Here they get the defaults that a write gives
// them; plan checks them.

// applicationProfile fills the limits of requests and connections, and the idle time of streams of TLS.
func (r *reading) applicationProfile(p *kinds.ApplicationProfile) *kinds.ApplicationProfile {
	fill(&p.SSL, r.object["l4_ssl_profile"])
	if p.DosRateLimit == nil || p.DosRateLimit.RateLimitProfile == nil {
		return p
	}
	fill(&p.DosRateLimit.RateLimitProfile, within(r.object["dos_rl_profile"])["rl_profile"])
	limits := p.DosRateLimit.RateLimitProfile
	complete(limits.ClientIPConnections, limits.ClientIPRequests, limits.URIRequests, limits.ClientIPToURIRequests,
		limits.ClientIPFailed, limits.URIFailed, limits.ClientIPToURIFailed, limits.ClientIPScanners,
		limits.URIScanners,
		limits.Custom)
	for i := range limits.HTTPHeaders {
		complete(&limits.HTTPHeaders[i])
	}
	return p
}

// complete gives limits what has been required of them since they have an effect.
func complete(limits ...*kinds.RateProfile) {
	for _, limit := range limits {
		if limit != nil {
			limit.RateLimiter, limit.Action = orDefaults(limit.RateLimiter), orDefaults(limit.Action)
		}
	}
}

// policySet fills the limits of security rules.
func (r *reading) policySet(s *kinds.HTTPPolicySet) *HTTPPolicySet {
	rules, _ := within(r.object["http_security_policy"])["rules"].([]any)
	for i := range rules {
		if action := s.Security.Rules[i].Action; action != nil {
			fill(&action.RateProfile, within(within(rules[i])["action"])["rate_profile"])
		}
	}
	return &HTTPPolicySet{HTTPPolicySet: *s}
}

// scriptSet fills the limits that scripts name.
func (r *reading) scriptSet(s *kinds.VSDataScriptSet) *ScriptSet {
	limiters, _ := r.object["rate_limiters"].([]any)
	for i := range limiters {
		limiter := &s.RateLimiters[i]
		fill(&limiter, limiters[i])
		s.RateLimiters[i] = *limiter
	}
	return &ScriptSet{VSDataScriptSet: *s, InScripts: s.Names()}
}

// virtualService fills the limits of requests and connections, what a child compares requests with, and which clients
// have other SSL profiles.
func (r *reading) virtualService(vs *kinds.VirtualService) *VirtualService {
	fill(&vs.RequestsRateLimit, r.object["requests_rate_limit"])
	fill(&vs.ConnectionsRateLimit, r.object["connections_rate_limit"])
	complete(vs.RequestsRateLimit, vs.ConnectionsRateLimit)
	matches, _ := r.object["vh_matches"].([]any)
	for i := range matches {
		rules, _ := within(matches[i])["rules"].([]any)
		for j := range rules {
			fill(&vs.VHMatches[i].Rules[j].Matches, within(rules[j])["matches"])
		}
	}
	selectors, _ := r.object["ssl_profile_selectors"].([]any)
	for i := range selectors {
		fill(&vs.SSLProfileSelectors[i].Clients, within(selectors[i])["client_ip_list"])
	}
	return &VirtualService{VirtualService: *vs}
}

func within(value any) schema.Object {
	inner, _ := value.(schema.Object)
	return inner
}

// fill replaces what was read from a stored object by the same with defaults; nil stays nil.
func fill[T any](read **T, stored any) {
	if object := within(stored); object != nil {
		if filled, err := schema.IntoFilled[T](object); err == nil {
			*read = filled
		}
	}
}
