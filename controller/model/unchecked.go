package model

import (
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Versions that did not act on these fields stored them as they came. Here they get the defaults that a write gives
// them; plan checks them.

// applicationProfile fills the limit of what scripts give.
func (r *reading) applicationProfile(p *kinds.ApplicationProfile) *kinds.ApplicationProfile {
	if p.DosRateLimit == nil || p.DosRateLimit.RateLimitProfile == nil {
		return p
	}
	limits := within(within(r.object["dos_rl_profile"])["rl_profile"])
	fill(&p.DosRateLimit.RateLimitProfile.Custom, limits["custom_requests_rate_limit"])
	return p
}

// scriptSet fills the limits that scripts name.
func (r *reading) scriptSet(s *kinds.VSDataScriptSet) *ScriptSet {
	limiters, _ := r.object["rate_limiters"].([]any)
	for i := range limiters {
		limiter := &s.RateLimiters[i]
		fill(&limiter, limiters[i])
		s.RateLimiters[i] = *limiter
	}
	return &ScriptSet{VSDataScriptSet: *s}
}

// virtualService fills what a child compares requests with.
func (r *reading) virtualService(vs *kinds.VirtualService) *VirtualService {
	matches, _ := r.object["vh_matches"].([]any)
	for i := range matches {
		rules, _ := within(matches[i])["rules"].([]any)
		for j := range rules {
			fill(&vs.VHMatches[i].Rules[j].Matches, within(rules[j])["matches"])
		}
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
