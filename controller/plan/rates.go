package plan

import (
	"encoding/binary"
	"fmt"
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// checkOfLimit says which field of a limit engines would refuse.
type checkOfLimit = func(limit *kinds.RateProfile, field string) *schema.FieldError

// soundLimit converts a limit of a virtual service. nil: there is none, or engines would refuse it; then the virtual
// service is not served.
func (d *draft) soundLimit(
	owner subject, field string, profile *kinds.RateProfile, check checkOfLimit,
) *dataplanev1.RateLimit {
	if profile == nil {
		return nil
	}
	if problem := check(profile, field); problem != nil {
		d.report.block(owner, problem.Field, "%s; no virtual service with this limit is served", problem.Problem)
		return nil
	}
	limit := rateLimit(profile.RateLimiter, profile.Action)
	limit.Name = field
	return limit
}

// limitingProfile is the application profile, whose limits the virtual service has.
func (d *draft) limitingProfile() subject {
	if profile := d.vs.ApplicationProfile; profile != nil {
		return about("applicationprofile", profile.Identity, profile.Named)
	}
	return d.subject
}

// limitRequests has engines limit the requests of a virtual service beside its rules, in the order in which engines
// count: by its own limit, then by those of its application profile.
func (d *draft) limitRequests() {
	type counted struct{ byClient, byPath, ofFailures bool }
	add := func(owner subject, field string, profile *kinds.RateProfile, check checkOfLimit, of counted) {
		if limit := d.soundLimit(owner, field, profile, check); limit != nil {
			limit.ByClient, limit.ByPath, limit.OfFailures = of.byClient, of.byPath, of.ofFailures
			limit.ByField, limit.ByCookie = profile.HTTPHeader, profile.HTTPCookie
			d.service.RequestLimits = append(d.service.RequestLimits, limit)
		}
	}
	ofClient, ofPath, ofBoth := counted{byClient: true}, counted{byPath: true}, counted{byClient: true, byPath: true}
	failed := func(of counted) counted { return counted{of.byClient, of.byPath, true} }

	add(d.subject, "requests_rate_limit", d.vs.RequestsRateLimit, (*kinds.RateProfile).Check, counted{})
	profile := d.limitingProfile()
	addNumber := func(field string, most uint32, of counted) {
		add(profile, "http_profile."+field, perSecond(most, kinds.RespondExcess), checkNumber, of)
	}
	http := d.vs.HTTP
	addNumber("max_rps_cip", http.MaxRPSPerCIP, ofClient)
	addNumber("max_rps_cip_uri", http.MaxRPSPerCIPURI, ofBoth)
	addNumber("max_rps_uri", http.MaxRPSPerURI, ofPath)
	addNumber("max_bad_rps_cip", http.MaxBadRPSPerCIP, failed(ofClient))
	addNumber("max_bad_rps_cip_uri", http.MaxBadRPSPerCIPURI, failed(ofBoth))
	addNumber("max_bad_rps_uri", http.MaxBadRPSPerURI, failed(ofPath))
	limits := rateLimits(d.vs.ApplicationProfile)
	if limits == nil {
		return
	}
	addOne := func(field string, limit *kinds.RateProfile, of counted) {
		add(profile, ofProfile+field, limit, (*kinds.RateProfile).Check, of)
	}
	addOne("client_ip_requests_rate_limit", limits.ClientIPRequests, ofClient)
	for i := range limits.HTTPHeaders {
		add(profile, fmt.Sprintf(ofProfile+"http_header_rate_limits[%d]", i), &limits.HTTPHeaders[i],
			(*kinds.RateProfile).CheckOfHeaders, counted{})
	}
	addOne("client_ip_to_uri_requests_rate_limit", limits.ClientIPToURIRequests, ofBoth)
	addOne("uri_requests_rate_limit", limits.URIRequests, ofPath)
	addOne("client_ip_failed_requests_rate_limit", limits.ClientIPFailed, failed(ofClient))
	addOne("client_ip_to_uri_failed_requests_rate_limit", limits.ClientIPToURIFailed, failed(ofBoth))
	addOne("uri_failed_requests_rate_limit", limits.URIFailed, failed(ofPath))
}

// limitStrangers has engines limit the requests of clients, or for paths, that they do not know to be good. Engines
// count them behind the others. They have a place of their own, so that older engines do not take them for limits of
// all. Older versions stored limits of scanners without a check, and served the virtual service without them.
func (d *draft) limitStrangers() {
	profile := d.limitingProfile()
	add := func(field string, limit *kinds.RateProfile, ofPaths bool) {
		if problem := limit.CheckOfScanners(ofProfile + field); problem != nil {
			d.report.warn(profile, problem.Field, "%s: has no effect", problem.Problem)
			return
		}
		if limit := d.soundLimit(profile, ofProfile+field, limit, (*kinds.RateProfile).CheckOfScanners); limit != nil {
			limit.ByClient, limit.ByPath = !ofPaths, ofPaths
			limit.Strangers = &dataplanev1.Strangers{ByPath: ofPaths, BadCount: stricter(limit.GetCount())}
			d.service.StrangerLimits = append(d.service.StrangerLimits, limit)
		}
	}
	addNumber := func(field string, most uint32, ofPaths bool) {
		limit := d.soundLimit(profile, "http_profile."+field, perSecond(most, kinds.RespondExcess), checkNumber)
		if limit != nil {
			limit.Strangers = &dataplanev1.Strangers{ByPath: ofPaths}
			d.service.StrangerLimits = append(d.service.StrangerLimits, limit)
		}
	}
	addNumber("max_rps_unknown_cip", d.vs.HTTP.MaxRPSUnknownCIP, false)
	addNumber("max_rps_unknown_uri", d.vs.HTTP.MaxRPSUnknownURI, true)
	if limits := rateLimits(d.vs.ApplicationProfile); limits != nil {
		add("client_ip_scanners_requests_rate_limit", limits.ClientIPScanners, false)
		add("uri_scanners_requests_rate_limit", limits.URIScanners, true)
	}
}

// stricter is the count of those who are known to be bad, or to come far too often.
func stricter(count uint32) uint32 { return max(1, count/10) }

// perSecond is a limit that a number says: so many in a second, and an action for the others; nil: there is none.
func perSecond(most uint32, action string) *kinds.RateProfile {
	if most == 0 {
		return nil
	}
	limit := &kinds.RateProfile{
		RateLimiter: schema.Defaults[kinds.RateLimiter](), Action: schema.Defaults[kinds.RateLimiterAction](),
	}
	limit.RateLimiter.Count, limit.Action.Type = most, action
	return limit
}

// checkNumber checks a limit by perSecond: the number is the field itself.
func checkNumber(limit *kinds.RateProfile, field string) *schema.FieldError {
	if limit.Check(field) == nil {
		return nil
	}
	return &schema.FieldError{
		Field: field, Problem: fmt.Sprintf("%d is more than engines count: lower it", limit.RateLimiter.Count),
	}
}

// limitConnections has engines limit the connections of a virtual service: how often they come, and how many there are.
func (d *draft) limitConnections() {
	add := func(owner subject, field string, profile *kinds.RateProfile, check checkOfLimit, byClient bool) {
		if limit := d.soundLimit(owner, field, profile, check); limit != nil {
			limit.ByClient = byClient
			d.service.ConnectionLimits = append(d.service.ConnectionLimits, limit)
		}
	}
	ofConnections := (*kinds.RateProfile).CheckOfConnections
	add(d.subject, "connections_rate_limit", d.vs.ConnectionsRateLimit, ofConnections, false)
	add(d.subject, "max_cps_per_client", perSecond(d.vs.MaxCPSPerClient, kinds.DropExcess), checkNumber, true)
	d.slowDosers()
	if limits := rateLimits(d.vs.ApplicationProfile); limits != nil {
		add(d.limitingProfile(), ofProfile+"client_ip_connections_rate_limit", limits.ClientIPConnections,
			ofConnections, true)
	}
	if limits := d.vs.PerformanceLimits; limits != nil {
		d.service.MaxOpenConnections = uint32(limits.MaxConcurrentConnections)
		d.service.MaxThroughputMbps = uint32(limits.MaxThroughput)
	}
}

// slowDosers has a client that connects far more often than max_cps_per_client says have a lower rate for a while.
func (d *draft) slowDosers() {
	limits := d.service.ConnectionLimits
	if last := len(limits) - 1; d.vs.LimitDoser && last >= 0 && limits[last].GetName() == "max_cps_per_client" {
		count := limits[last].GetCount()
		limits[last].Dosers = &dataplanev1.Dosers{Count: 2 * count, SlowedCount: stricter(count), ForS: doserFor}
	}
}

// doserFor is for how many seconds a client that connects far too often has a lower rate.
const doserFor = 60

// hasLimits tells whether there are limits of rates: of the virtual service, or of its rules.
func (d *draft) hasLimits() bool {
	if len(d.service.GetConnectionLimits()) > 0 || len(d.service.GetRequestLimits()) > 0 ||
		len(d.service.GetStrangerLimits()) > 0 || d.service.GetScriptLimit() != nil {
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
		limits.URIFailed != nil || limits.ClientIPToURIFailed != nil || limits.Custom != nil ||
		limits.ClientIPScanners != nil || limits.URIScanners != nil)
}

// scriptLimit is the limit that scripts ask without a name; nil: there is none.
func scriptLimit(profile *kinds.ApplicationProfile, report *report) *dataplanev1.RateLimit {
	limits := rateLimits(profile)
	if limits == nil || limits.Custom == nil {
		return nil
	}
	if problem := limits.Custom.CheckOfScripts(ofProfile + "custom_requests_rate_limit"); problem != nil {
		report.block(about("applicationprofile", profile.Identity, profile.Named), problem.Field,
			"%s; no virtual service with this profile and DataScripts is served", problem.Problem)
		return nil
	}
	return rateLimit(limits.Custom.RateLimiter, limits.Custom.Action)
}

// rateLimit converts the limit of a security rule. A rule from before it had an effect may have a wrong one.
func (r *ruleReader) rateLimit(
	from *kinds.HTTPSecurityActionRateProfile, match *kinds.MatchTarget,
) *dataplanev1.RateLimit {
	const field = "action.rate_profile"
	if problem := from.Check(field, match); problem != nil {
		r.refuse(problem.Field, "%s", problem.Problem)
		return nil
	}
	if redirect := from.Action.Redirect; redirect != nil {
		r.checkTokens(field+".action.redirect.host", redirect.Host, match)
		r.checkTokens(field+".action.redirect.path", redirect.Path, match)
	}
	limit := rateLimit(from.RateLimiter, from.Action)
	limit.ByClient, limit.ByPath = from.PerClient, from.PerPath
	return limit
}

// rateLimit converts a limit that has been checked.
func rateLimit(from *kinds.RateLimiter, action *kinds.RateLimiterAction) *dataplanev1.RateLimit {
	to := &dataplanev1.RateLimit{Count: from.Count, PeriodS: from.Period, Burst: from.Burst}
	switch action.Type {
	case kinds.DropExcess, kinds.ResetExcess:
		to.Action = &dataplanev1.RateLimit_Close{Close: &dataplanev1.Close{Reset_: true}}
	case kinds.CloseExcess:
		to.Action = &dataplanev1.RateLimit_Close{Close: &dataplanev1.Close{}}
	case kinds.RespondExcess:
		to.Action = &dataplanev1.RateLimit_Response{
			Response: localResponse(kinds.StatusIn(action.StatusCode), action.File)}
	case kinds.RedirectExcess:
		to.Action = &dataplanev1.RateLimit_Redirect{Redirect: redirect(action.Redirect)}
	}
	return to
}
