package kinds

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// RateProfile is a rate limit, and what happens above it.
type RateProfile struct {
	RateLimiter *RateLimiter       `json:"rate_limiter"`
	Action      *RateLimiterAction `json:"action" required:"true"`
	HTTPHeader  string             `json:"http_header"`
	HTTPCookie  string             `json:"http_cookie"`
}

// RateLimiter allows count events in each period, and a burst.
type RateLimiter struct {
	Name   string `json:"name"`
	Count  uint32 `json:"count" min:"1" max:"1000000000" default:"1000000000"`
	Period uint32 `json:"period" min:"1" max:"1000000000" default:"1"`
	Burst  uint32 `json:"burst_sz" max:"1000000000" default:"0"`
}

// RateLimiterAction is what happens to an event above the rate.
type RateLimiterAction struct {
	Type       string              `json:"type" enum:"RateLimiterActionType" default:"RL_ACTION_NONE"`
	StatusCode string              `json:"status_code" enum:"LocalResponseStatus" default:"HTTP_LOCAL_RESPONSE_STATUS_CODE_429"`
	File       *HTTPLocalFile      `json:"file"`
	Redirect   *HTTPRedirectAction `json:"redirect"`
}

// DosRateLimit limits what one client, or all clients together, may do.
type DosRateLimit struct {
	DosProfile       *DosProfile       `json:"dos_profile"`
	RateLimitProfile *RateLimitProfile `json:"rl_profile"`
}

// RateLimitProfile limits how often requests and connections come: of each client, for each path, of each value of a
// header field.
type RateLimitProfile struct {
	ClientIPConnections   *RateProfile  `json:"client_ip_connections_rate_limit"`
	ClientIPRequests      *RateProfile  `json:"client_ip_requests_rate_limit"`
	URIRequests           *RateProfile  `json:"uri_requests_rate_limit"`
	ClientIPToURIRequests *RateProfile  `json:"client_ip_to_uri_requests_rate_limit"`
	HTTPHeaders           []RateProfile `json:"http_header_rate_limits" items:"16"`

	// Of requests that fail: beyond the rate, all requests of the client or path are acted on.
	ClientIPFailed      *RateProfile `json:"client_ip_failed_requests_rate_limit"`
	URIFailed           *RateProfile `json:"uri_failed_requests_rate_limit"`
	ClientIPToURIFailed *RateProfile `json:"client_ip_to_uri_failed_requests_rate_limit"`

	// Of requests of clients, or for paths, that engines do not know to be good.
	ClientIPScanners *RateProfile `json:"client_ip_scanners_requests_rate_limit"`
	URIScanners      *RateProfile `json:"uri_scanners_requests_rate_limit"`

	// Of texts that DataScripts give.
	Custom *RateProfile `json:"custom_requests_rate_limit"`
}

const (
	ReportExcess   = "RL_ACTION_NONE"
	DropExcess     = "RL_ACTION_DROP_CONN"
	ResetExcess    = "RL_ACTION_RESET_CONN"
	CloseExcess    = "RL_ACTION_CLOSE_CONN"
	RespondExcess  = "RL_ACTION_LOCAL_RSP"
	RedirectExcess = "RL_ACTION_REDIRECT"
)

var _ = schema.Enum("RateLimiterActionType",
	ReportExcess, DropExcess, ResetExcess, CloseExcess, RespondExcess, RedirectExcess)

// eachRate are fields of all limits of an application profile.
func eachRate(fields string) string {
	var all []string
	for _, limit := range strings.Fields("client_ip_connections client_ip_requests client_ip_failed_requests " +
		"uri_requests uri_failed_requests client_ip_to_uri_requests client_ip_to_uri_failed_requests custom_requests " +
		"client_ip_scanners_requests uri_scanners_requests") {
		for _, field := range strings.Fields(fields) {
			all = append(all, "dos_rl_profile.rl_profile."+limit+"_rate_limit."+field)
		}
	}
	for _, field := range strings.Fields(fields) {
		all = append(all, "dos_rl_profile.rl_profile.http_header_rate_limits."+field)
	}
	return strings.Join(all, " ")
}

// exactRates says why Avi's choices between speed and exactness have no function.
const exactRates = "engines count every request of each key"

// secondsToFill is how long it may take until a whole burst is allowed again, at most: beyond it, engines could not
// count.
const secondsToFill = 1_000_000_000

func (p *RateProfile) check(field string) *schema.FieldError {
	switch {
	case p == nil:
		return nil
	case p.RateLimiter == nil:
		return refuse(field+".rate_limiter", "is required: say how many are allowed in which time")
	}
	problem := cmp.Or(p.RateLimiter.check(field+".rate_limiter"), p.Action.check(field+".action", nil))
	if problem == nil && p.HTTPHeader != "" {
		problem = checkFieldName(field+".http_header", p.HTTPHeader)
	}
	if problem == nil && p.HTTPCookie != "" {
		problem = checkFieldName(field+".http_cookie", p.HTTPCookie)
	}
	return problem
}

// checkOfConnections checks a limit of connections: they have no fields, and get no response.
func (p *RateProfile) checkOfConnections(field string) *schema.FieldError {
	switch {
	case p == nil:
		return nil
	case p.HTTPHeader != "":
		return refuse(field+".http_header", "is for limits of requests: connections have no header fields")
	case p.HTTPCookie != "":
		return refuse(field+".http_cookie", "is for limits of requests: connections have no cookies")
	case p.Action.Type == RespondExcess || p.Action.Type == RedirectExcess:
		return refuse(field+".action.type", "%s is for limits of requests: use %s, %s, %s or %s", p.Action.Type,
			ReportExcess, DropExcess, ResetExcess, CloseExcess)
	}
	return p.check(field)
}

// Check says what a write would refuse of a limit of requests; CheckOfHeaders and the like, of limits of other things.
// Limits from before they had an effect were stored without checks.
func (p *RateProfile) Check(field string) *schema.FieldError { return p.checkStored(field, p.check) }

func (p *RateProfile) CheckOfHeaders(field string) *schema.FieldError {
	return p.checkStored(field, p.checkOfHeaders)
}

func (p *RateProfile) CheckOfConnections(field string) *schema.FieldError {
	return p.checkStored(field, p.checkOfConnections)
}

func (p *RateProfile) CheckOfScripts(field string) *schema.FieldError {
	return p.checkStored(field, p.checkOfScripts)
}

func (p *RateProfile) CheckOfScanners(field string) *schema.FieldError {
	return p.checkStored(field, p.checkOfScanners)
}

func (p *RateProfile) CheckOfServers(field string) *schema.FieldError {
	return p.checkStored(field, p.checkOfServers)
}

func (p *RateProfile) checkStored(field string, check func(string) *schema.FieldError) *schema.FieldError {
	if p == nil {
		return nil
	}
	if problem := schema.CheckFields(field, p); problem != nil {
		return problem
	}
	return check(field)
}

// checkOfHeaders checks a limit of each value of a header field or a cookie.
func (p *RateProfile) checkOfHeaders(field string) *schema.FieldError {
	if p.HTTPHeader == "" && p.HTTPCookie == "" {
		return refuse(field+".http_header", "is required: name the header field, each of whose values has the limit")
	}
	return p.check(field)
}

// checkOfScripts checks the limit of what scripts give: they say what is counted.
func (p *RateProfile) checkOfScripts(field string) *schema.FieldError {
	switch {
	case p != nil && p.HTTPHeader != "":
		return refuse(field+".http_header", "is for other limits: the script says what is counted")
	case p != nil && p.HTTPCookie != "":
		return refuse(field+".http_cookie", "is for other limits: the script says what is counted")
	}
	return p.check(field)
}

// checkOfScanners checks a limit of strangers, who are clients or paths.
func (p *RateProfile) checkOfScanners(field string) *schema.FieldError {
	switch {
	case p != nil && p.HTTPHeader != "":
		return refuse(field+".http_header", "is for other limits: each client, or each path, has this one")
	case p != nil && p.HTTPCookie != "":
		return refuse(field+".http_cookie", "is for other limits: each client, or each path, has this one")
	}
	return p.check(field)
}

// checkOfServers checks a limit of connections to servers, of which no request is known: a redirect says all of where
// to.
func (p *RateProfile) checkOfServers(field string) *schema.FieldError {
	problem := p.check(field)
	if problem != nil || p == nil || p.Action.Type != RedirectExcess {
		return problem
	}
	field += ".action.redirect"
	to := p.Action.Redirect
	if to.Host == nil {
		return refuse(field+".host", "is required: a limit of connections to servers knows no host of a request")
	}
	return cmp.Or(to.Host.checkOfText(field+".host"), to.Path.checkOfText(field+".path"))
}

func (d *DosRateLimit) check(field string) *schema.FieldError {
	if d == nil {
		return nil
	}
	if problem := d.DosProfile.check(field + ".dos_profile"); problem != nil || d.RateLimitProfile == nil {
		return problem
	}
	profile, field := d.RateLimitProfile, field+".rl_profile."
	for i := range profile.HTTPHeaders {
		at := fmt.Sprintf("%shttp_header_rate_limits[%d]", field, i)
		if problem := profile.HTTPHeaders[i].checkOfHeaders(at); problem != nil {
			return problem
		}
	}
	return cmp.Or(profile.ClientIPConnections.checkOfConnections(field+"client_ip_connections_rate_limit"),
		profile.ClientIPRequests.check(field+"client_ip_requests_rate_limit"),
		profile.URIRequests.check(field+"uri_requests_rate_limit"),
		profile.ClientIPToURIRequests.check(field+"client_ip_to_uri_requests_rate_limit"),
		profile.ClientIPFailed.check(field+"client_ip_failed_requests_rate_limit"),
		profile.URIFailed.check(field+"uri_failed_requests_rate_limit"),
		profile.ClientIPToURIFailed.check(field+"client_ip_to_uri_failed_requests_rate_limit"),
		profile.ClientIPScanners.checkOfScanners(field+"client_ip_scanners_requests_rate_limit"),
		profile.URIScanners.checkOfScanners(field+"uri_scanners_requests_rate_limit"),
		profile.Custom.checkOfScripts(field+"custom_requests_rate_limit"))
}

// Check says what a write would refuse. Limiters from before they had an effect were stored without checks.
func (l *RateLimiter) Check(field string) *schema.FieldError {
	if problem := schema.CheckFields(field, l); problem != nil {
		return problem
	}
	return l.check(field)
}

func (l *RateLimiter) check(field string) *schema.FieldError {
	seconds := uint64(l.Period) * uint64(max(l.Burst, l.Count)) / uint64(l.Count)
	if seconds > secondsToFill {
		return refuse(field+".burst_sz", "%d would take %d seconds to be allowed again: lower it", l.Burst, seconds)
	}
	return nil
}

// check checks what happens to a request that matches; match is nil for a limit outside of rules.
func (a *RateLimiterAction) check(field string, match *MatchTarget) *schema.FieldError {
	switch {
	case a.Type != RespondExcess && a.File != nil:
		return refuse(field+".file", "is for %s", RespondExcess)
	case a.Type != RedirectExcess && a.Redirect != nil:
		return refuse(field+".redirect", "is for %s", RedirectExcess)
	case a.Type == RedirectExcess && a.Redirect == nil:
		return refuse(field+".redirect", "is required by %s", RedirectExcess)
	}
	return cmp.Or(a.File.check(field+".file", StatusIn(a.StatusCode)), a.Redirect.check(field+".redirect", match))
}

// Check says what a write would refuse. Rules from before limits had an effect were stored without checks.
func (p *HTTPSecurityActionRateProfile) Check(field string, match *MatchTarget) *schema.FieldError {
	if p == nil {
		return refuse(field, "is required by %s", LimitRate)
	}
	if problem := schema.CheckFields(field, p); problem != nil {
		return problem
	}
	return p.check(field, match)
}

func (p *HTTPSecurityActionRateProfile) check(field string, match *MatchTarget) *schema.FieldError {
	return cmp.Or(p.RateLimiter.check(field+".rate_limiter"), p.Action.check(field+".action", match))
}
