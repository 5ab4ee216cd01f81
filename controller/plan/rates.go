package plan

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// requestLimits are the limits of requests that a virtual service has beside its rules, in the order in which engines
// count: its own, then those of its application profile.
func requestLimits(vs *model.VirtualService) (limits []*dataplanev1.RateLimit) {
	add := func(field string, profile *kinds.RateProfile, byClient, byPath bool) {
		if profile == nil {
			return
		}
		limit := rateLimit(profile.RateLimiter, profile.Action)
		limit.Name, limit.ByClient, limit.ByPath = field, byClient, byPath
		limit.ByField, limit.ByCookie = profile.HTTPHeader, profile.HTTPCookie
		limits = append(limits, limit)
	}
	add("requests_rate_limit", vs.RequestsRateLimit, false, false)
	addFailed := func(field string, profile *kinds.RateProfile, byClient, byPath bool) {
		if add(field, profile, byClient, byPath); profile != nil {
			limits[len(limits)-1].OfFailures = true
		}
	}
	if http := vs.HTTP; http != nil {
		add("http_profile.max_rps_cip", perSecond(http.MaxRPSPerCIP), true, false)
		add("http_profile.max_rps_cip_uri", perSecond(http.MaxRPSPerCIPURI), true, true)
		add("http_profile.max_rps_uri", perSecond(http.MaxRPSPerURI), false, true)
		addFailed("http_profile.max_bad_rps_cip", perSecond(http.MaxBadRPSPerCIP), true, false)
		addFailed("http_profile.max_bad_rps_cip_uri", perSecond(http.MaxBadRPSPerCIPURI), true, true)
		addFailed("http_profile.max_bad_rps_uri", perSecond(http.MaxBadRPSPerURI), false, true)
	}
	profile := rateLimits(vs.ApplicationProfile)
	if profile == nil {
		return limits
	}
	add(ofProfile+"client_ip_requests_rate_limit", profile.ClientIPRequests, true, false)
	for i := range profile.HTTPHeaders {
		add(fmt.Sprintf(ofProfile+"http_header_rate_limits[%d]", i), &profile.HTTPHeaders[i], false, false)
	}
	add(ofProfile+"client_ip_to_uri_requests_rate_limit", profile.ClientIPToURIRequests, true, true)
	add(ofProfile+"uri_requests_rate_limit", profile.URIRequests, false, true)
	addFailed(ofProfile+"client_ip_failed_requests_rate_limit", profile.ClientIPFailed, true, false)
	addFailed(ofProfile+"client_ip_to_uri_failed_requests_rate_limit", profile.ClientIPToURIFailed, true, true)
	addFailed(ofProfile+"uri_failed_requests_rate_limit", profile.URIFailed, false, true)
	return limits
}

// perSecond is a limit of the HTTP profile: requests in a second, and 429 for the others; nil: there is none.
func perSecond(most uint32) *kinds.RateProfile {
	if most == 0 {
		return nil
	}
	action := schema.Defaults[kinds.RateLimiterAction]()
	action.Type = kinds.RespondExcess
	return &kinds.RateProfile{RateLimiter: &kinds.RateLimiter{Count: most, Period: 1}, Action: action}
}

// limitConnections has engines limit the connections of a virtual service: how often they come, and how many there are.
func limitConnections(vs *model.VirtualService, to *dataplanev1.VirtualService) {
	add := func(field string, profile *kinds.RateProfile, byClient bool) {
		if profile != nil {
			limit := rateLimit(profile.RateLimiter, profile.Action)
			limit.Name, limit.ByClient = field, byClient
			to.ConnectionLimits = append(to.ConnectionLimits, limit)
		}
	}
	add("connections_rate_limit", vs.ConnectionsRateLimit, false)
	if vs.MaxCPSPerClient > 0 {
		add("max_cps_per_client", &kinds.RateProfile{
			RateLimiter: &kinds.RateLimiter{Count: vs.MaxCPSPerClient, Period: 1},
			Action:      &kinds.RateLimiterAction{Type: kinds.DropExcess},
		}, true)
	}
	if profile := rateLimits(vs.ApplicationProfile); profile != nil {
		add(ofProfile+"client_ip_connections_rate_limit", profile.ClientIPConnections, true)
	}
	if vs.PerformanceLimits != nil {
		to.MaxOpenConnections = uint32(vs.PerformanceLimits.MaxConcurrentConnections)
		to.MaxThroughputMbps = uint32(vs.PerformanceLimits.MaxThroughput)
	}
}

// hasLimits tells whether there are limits of rates: of the virtual service, or of its rules.
func (d *draft) hasLimits() bool {
	if len(d.service.GetConnectionLimits()) > 0 || len(d.service.GetRequestLimits()) > 0 ||
		d.service.GetScriptLimit() != nil {
		return true
	}
	return slices.ContainsFunc(d.parts, func(part part) bool {
		ofRule := func(rule *dataplanev1.HttpSecurityRule) bool { return rule.GetRateLimit() != nil }
		ofNetwork := func(rule *dataplanev1.NetworkRule) bool { return rule.GetRate() != nil }
		return slices.ContainsFunc(part.GetHttpPolicySet().GetSecurityRules(), ofRule) ||
			slices.ContainsFunc(part.GetNetworkPolicy().GetRules(), ofNetwork) ||
			len(part.GetScriptSet().GetLimits()) > 0
	})
}

// keySeed is of the hashes of keys that engines of a virtual service count apart. Only who knows the secret can tell
// which keys share a place in a table.
func keySeed(secret []byte, virtualServiceUUID string) uint64 {
	return max(1, binary.BigEndian.Uint64(derive(secret, virtualServiceUUID)))
}

// ofConnections warns where a virtual service cannot have limits of connections.
func ofConnections(field string, isSet func(*model.VirtualService) bool) []unheeded[model.VirtualService] {
	return []unheeded[model.VirtualService]{
		{field, func(vs *model.VirtualService) bool { return vs.UDP != nil && isSet(vs) }, noConnections},
		{field, func(vs *model.VirtualService) bool { return vs.IsChild() && isSet(vs) }, ofParent},
	}
}

func limitsThroughput(vs *model.VirtualService) bool {
	return vs.PerformanceLimits != nil && vs.PerformanceLimits.MaxThroughput > 0
}

const ofProfile = "dos_rl_profile.rl_profile."

// rateLimits are the limits of an application profile; nil: it has none.
func rateLimits(profile *kinds.ApplicationProfile) *kinds.RateLimitProfile {
	if profile == nil || profile.DosRateLimit == nil {
		return nil
	}
	return profile.DosRateLimit.RateLimitProfile
}

// limitsRequests tells whether an application profile limits requests of HTTP.
func limitsRequests(profile *kinds.ApplicationProfile) bool {
	limits := rateLimits(profile)
	return limits != nil && (limits.ClientIPRequests != nil || limits.URIRequests != nil ||
		limits.ClientIPToURIRequests != nil || len(limits.HTTPHeaders) > 0 || limits.ClientIPFailed != nil ||
		limits.URIFailed != nil || limits.ClientIPToURIFailed != nil || limits.Custom != nil)
}

// scriptLimit is the limit that scripts ask without a name; nil: there is none.
func scriptLimit(profile *kinds.ApplicationProfile, report *report) *dataplanev1.RateLimit {
	limits := rateLimits(profile)
	if limits == nil || limits.Custom == nil {
		return nil
	}
	limit := *limits.Custom
	limit.RateLimiter = cmp.Or(limit.RateLimiter, usualRateLimiter)
	limit.Action = cmp.Or(limit.Action, usualAction)
	if problem := limit.CheckOfScripts(ofProfile + "custom_requests_rate_limit"); problem != nil {
		report.block(about("applicationprofile", profile.Identity, profile.Named), problem.Field,
			"%s; no virtual service with this profile and DataScripts is served", problem.Problem)
		return nil
	}
	return rateLimit(limit.RateLimiter, limit.Action)
}

// rateLimit converts the limit of a security rule.
func (r *ruleReader) rateLimit(
	from *kinds.HTTPSecurityActionRateProfile, match *kinds.MatchTarget,
) *dataplanev1.RateLimit {
	if redirect := from.Action.Redirect; redirect != nil {
		r.checkTokens("action.rate_profile.action.redirect.host", redirect.Host, match)
		r.checkTokens("action.rate_profile.action.redirect.path", redirect.Path, match)
	}
	limit := rateLimit(from.RateLimiter, from.Action)
	limit.ByClient, limit.ByPath = from.PerClient, from.PerPath
	return limit
}

func rateLimit(from *kinds.RateLimiter, action *kinds.RateLimiterAction) *dataplanev1.RateLimit {
	if from == nil { // of an object from before rate_limiter was required
		from = usualRateLimiter
	}
	if action == nil { // the same
		action = usualAction
	}
	status := kinds.StatusIn(cmp.Or(action.StatusCode, usualAction.StatusCode))
	to := &dataplanev1.RateLimit{
		Count: cmp.Or(from.Count, usualRateLimiter.Count), PeriodS: cmp.Or(from.Period, usualRateLimiter.Period),
		Burst: from.Burst,
	}
	switch action.Type {
	case kinds.DropExcess, kinds.ResetExcess:
		to.Action = &dataplanev1.RateLimit_Close{Close: &dataplanev1.Close{Reset_: true}}
	case kinds.CloseExcess:
		to.Action = &dataplanev1.RateLimit_Close{Close: &dataplanev1.Close{}}
	case kinds.RespondExcess:
		to.Action = &dataplanev1.RateLimit_Response{
			Response: localResponse(status, action.File)}
	case kinds.RedirectExcess:
		if action.Redirect == nil { // of an object from before redirect was required
			to.Action = &dataplanev1.RateLimit_Response{Response: localResponse(status, nil)}
			break
		}
		to.Action = &dataplanev1.RateLimit_Redirect{Redirect: redirect(action.Redirect)}
	}
	return to
}
