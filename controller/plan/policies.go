package plan

import (
	"fmt"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/shadow"
)

// compiledSet is a set of HTTP policies as resources: the groups that its rules name, then the set itself. It is the
// same in the Plans of all virtual services that use the set.
type compiledSet struct {
	parts  []part
	report report

	rules       shadow.Policies   // of HTTP
	connections shadow.List       // of a network policy
	found       []shadow.Shadowed // the rules without effect, which the report names
}

// setReader converts the rules of a set. A rule that engines cannot carry out blocks all virtual services with the set:
// to leave it out could let in whom it keeps out.
type setReader struct {
	set     *model.HTTPPolicySet
	subject subject
	report  report
	faults  map[*kinds.StringGroup]string // of groups of expressions, empty if there is none
}

func (c *Compiler) compileSet(set *model.HTTPPolicySet) *compiledSet {
	r := &setReader{set: set, subject: about("httppolicyset", set.Identity, set.Named)}
	to := r.lists()
	compiled := &compiledSet{parts: c.groupsOf(set), report: r.report}
	if !r.report.blocked {
		compiled.rules = shadow.Of(to, groupsIn(compiled.parts))
		compiled.found = compiled.rules.Find()
		compiled.report.shadowed(r.subject, compiled.found)
	}
	body := &enginev1.Resource_HttpPolicySet{HttpPolicySet: to}
	compiled.parts = append(compiled.parts, partOf(&enginev1.Resource{Uuid: set.UUID, Body: body}))
	return compiled
}

// lists converts the rules in force of all lists.
func (r *setReader) lists() *dataplanev1.HttpPolicySet {
	set := r.set
	to := &dataplanev1.HttpPolicySet{Uuid: set.UUID, Name: set.Name}
	for _, placed := range set.SecurityRules() {
		rule := r.rule("http_security_policy", placed.At, placed.Rule.Name)
		to.SecurityRules = append(to.SecurityRules, rule.security(placed.Rule))
	}
	for _, placed := range set.RequestRules() {
		rule := r.rule("http_request_policy", placed.At, placed.Rule.Name)
		to.RequestRules = append(to.RequestRules, rule.request(placed.Rule))
	}
	for _, placed := range set.ResponseRules() {
		rule := r.rule("http_response_policy", placed.At, placed.Rule.Name)
		to.ResponseRules = append(to.ResponseRules, rule.response(placed.Rule))
	}
	return to
}

// groupsOf returns the groups of a set, by uuid.
func (c *Compiler) groupsOf(set *model.HTTPPolicySet) (parts []part) {
	for _, from := range set.StringGroups {
		parts = append(parts, partOf(stringGroup(from)))
	}
	return sortedByUUID(append(parts, c.addressGroupsOf(set.AddressGroups)...))
}

func sortedByUUID(parts []part) []part {
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.GetUuid(), b.GetUuid()) })
	return parts
}

func stringGroup(from *kinds.StringGroup) *enginev1.Resource {
	to := &dataplanev1.StringGroup{Uuid: from.UUID, Name: from.Name, LongestMatch: from.LongestMatch}
	for _, pair := range from.Pairs {
		to.Pairs = append(to.Pairs, &dataplanev1.StringPair{Key: pair.Key, Value: pair.Value})
	}
	return &enginev1.Resource{Uuid: from.UUID, Body: &enginev1.Resource_StringGroup{StringGroup: to}}
}

// ruleReader converts one rule.
type ruleReader struct {
	*setReader
	field string // "http_request_policy.rules[0]."
	at    int
	name  string
}

func (r *setReader) rule(policy string, at int, name string) *ruleReader {
	return &ruleReader{r, fmt.Sprintf("%s.rules[%d].", policy, at), at, name}
}

// refuse says why engines cannot carry out the rule.
func (r *ruleReader) refuse(field, format string, args ...any) {
	r.report.block(r.subject, r.field+field, "rule %s: %s", r.name, fmt.Sprintf(format, args...))
}

// warn says what the rule does not do.
func (r *ruleReader) warn(field, format string, args ...any) {
	r.report.warn(r.subject, r.field+field, "rule %s: %s", r.name, fmt.Sprintf(format, args...))
}

func (r *ruleReader) common(match *dataplanev1.HttpMatch, log, allHeaders bool) *dataplanev1.HttpRule {
	return &dataplanev1.HttpRule{
		Name: r.name, Position: uint32(r.at), Match: match, Log: log || allHeaders, AllHeaders: allHeaders,
	}
}

func (r *ruleReader) security(from *kinds.HTTPSecurityRule) *dataplanev1.HttpSecurityRule {
	to := &dataplanev1.HttpSecurityRule{Rule: r.common(r.match(from.Match, true), from.Log, false)}
	switch action := from.Action; action.Action {
	case kinds.CloseConnection:
		to.Action = &dataplanev1.HttpSecurityRule_Close{Close: &dataplanev1.Close{}}
	case kinds.SendResponse:
		to.Action = &dataplanev1.HttpSecurityRule_Response{
			Response: localResponse(kinds.StatusIn(action.StatusCode), action.File)}
	case kinds.AllowRequest:
		to.Action = &dataplanev1.HttpSecurityRule_Allow{Allow: &dataplanev1.Allow{}}
	case kinds.RedirectToHTTPS:
		to.Action = &dataplanev1.HttpSecurityRule_RedirectToHttps{
			RedirectToHttps: &dataplanev1.RedirectToHttps{Port: action.HTTPSPort}}
	case kinds.LimitRate:
		to.Action = &dataplanev1.HttpSecurityRule_RateLimit{RateLimit: r.rateLimit(action.RateProfile, from.Match)}
	default:
		r.refuse("action.action", "engines cannot do %s yet", action.Action)
	}
	return to
}

func (r *ruleReader) request(from *kinds.HTTPRequestRule) *dataplanev1.HttpRequestRule {
	to := &dataplanev1.HttpRequestRule{
		Rule:  r.common(r.match(from.Match, false), from.Log, from.AllHeaders),
		Edits: r.edits(from.Edits),
	}
	if from.Redirect != nil {
		to.Action = &dataplanev1.HttpRequestRule_Redirect{Redirect: r.redirect("redirect_action",
			from.Redirect, from.Match)}
	}
	if from.Rewrite != nil {
		to.Rewrite = r.rewrite(from.Rewrite, from.Match)
	}
	if from.Switching != nil {
		r.switching(from.Switching, to)
	}
	return to
}

func (r *ruleReader) switching(from *kinds.HTTPSwitchingAction, to *dataplanev1.HttpRequestRule) {
	const field = "switching_action."
	switch from.Action {
	case kinds.SelectLocal:
		to.Action = &dataplanev1.HttpRequestRule_Response{Response: localResponse(from.Status(), from.File)}
	case kinds.SelectPool:
		pool := r.set.PoolOf(from.PoolRef)
		if pool == nil {
			r.report.blocked = true // model has a finding about that
			return
		}
		choice := &dataplanev1.PoolChoice{PoolUuid: pool.UUID}
		if from.Server != nil {
			choice.ServerId = from.Server.ID(pool.DefaultServerPort)
			if !slices.ContainsFunc(pool.Members, func(m model.Member) bool { return m.ID == choice.ServerId }) {
				r.refuse(field+"server", "pool %s has no server %s", pool.Name, choice.ServerId)
			}
		}
		to.Action = &dataplanev1.HttpRequestRule_Pool{Pool: choice}
	case kinds.SelectPoolGroup:
		group := r.set.GroupOf(from.PoolGroupRef)
		if group == nil {
			r.report.blocked = true // model has a finding about that
			return
		}
		to.Action = &dataplanev1.HttpRequestRule_Pool{Pool: &dataplanev1.PoolChoice{PoolGroupUuid: group.UUID}}
	default:
		r.refuse(field+"action", "engines cannot do %s yet: use %s", from.Action, kinds.SelectPool)
	}
}

func (r *ruleReader) response(from *kinds.HTTPResponseRule) *dataplanev1.HttpResponseRule {
	var match *dataplanev1.HttpMatch
	if from.Match != nil {
		match = r.match(&from.Match.MatchTarget, false)
		r.matchResponse(from.Match, match)
	}
	to := &dataplanev1.HttpResponseRule{
		Rule:  r.common(match, from.Log, from.AllHeaders),
		Edits: r.edits(from.Edits),
	}
	if location := from.Location; location != nil {
		to.Location = &dataplanev1.HttpRedirect{
			Tls: location.Protocol == "HTTPS", Port: location.Port, KeepQuery: location.KeepQuery,
			Host: r.tokens("loc_hdr_action.host", location.Host, nil),
			Path: r.tokens("loc_hdr_action.path", location.Path, nil),
		}
	}
	return to
}

func localResponse(status uint32, file *kinds.HTTPLocalFile) *dataplanev1.LocalResponse {
	response := &dataplanev1.LocalResponse{Status: status}
	if file != nil {
		response.ContentType, response.Content = file.ContentType, []byte(file.Content)
	}
	return response
}

var editKinds = map[string]dataplanev1.EditKind{
	"HTTP_ADD_HDR":      dataplanev1.EditKind_EDIT_KIND_ADD,
	kinds.RemoveHeader:  dataplanev1.EditKind_EDIT_KIND_REMOVE,
	kinds.ReplaceHeader: dataplanev1.EditKind_EDIT_KIND_REPLACE,
}

var headerVariables = map[string]dataplanev1.HeaderVariable{
	"":                                dataplanev1.HeaderVariable_HEADER_VARIABLE_NONE,
	"HTTP_POLICY_VAR_CLIENT_IP":       dataplanev1.HeaderVariable_HEADER_VARIABLE_CLIENT_ADDRESS,
	"HTTP_POLICY_VAR_SOURCE_IP":       dataplanev1.HeaderVariable_HEADER_VARIABLE_SOURCE_ADDRESS,
	"HTTP_POLICY_VAR_VS_IP":           dataplanev1.HeaderVariable_HEADER_VARIABLE_LISTENER_ADDRESS,
	"HTTP_POLICY_VAR_VS_PORT":         dataplanev1.HeaderVariable_HEADER_VARIABLE_LISTENER_PORT,
	kinds.VarOfHeader:                 dataplanev1.HeaderVariable_HEADER_VARIABLE_FIELD,
	"HTTP_POLICY_VAR_SSL_PROTOCOL":    dataplanev1.HeaderVariable_HEADER_VARIABLE_TLS_VERSION,
	"HTTP_POLICY_VAR_SSL_CIPHER":      dataplanev1.HeaderVariable_HEADER_VARIABLE_TLS_CIPHER,
	"HTTP_POLICY_VAR_SSL_SERVER_NAME": dataplanev1.HeaderVariable_HEADER_VARIABLE_TLS_SERVER_NAME,
	"HTTP_POLICY_VAR_REQUEST_ID":      dataplanev1.HeaderVariable_HEADER_VARIABLE_REQUEST_ID,
	"HTTP_POLICY_VAR_USER_NAME":       dataplanev1.HeaderVariable_HEADER_VARIABLE_USER,

	"HTTP_POLICY_VAR_SSL_CLIENT_FINGERPRINT":    dataplanev1.HeaderVariable_HEADER_VARIABLE_CLIENT_FINGERPRINT,
	"HTTP_POLICY_VAR_SSL_CLIENT_SERIAL":         dataplanev1.HeaderVariable_HEADER_VARIABLE_CLIENT_SERIAL,
	"HTTP_POLICY_VAR_SSL_CLIENT_ISSUER":         dataplanev1.HeaderVariable_HEADER_VARIABLE_CLIENT_ISSUER,
	"HTTP_POLICY_VAR_SSL_CLIENT_SUBJECT":        dataplanev1.HeaderVariable_HEADER_VARIABLE_CLIENT_SUBJECT,
	"HTTP_POLICY_VAR_SSL_CLIENT_RAW":            dataplanev1.HeaderVariable_HEADER_VARIABLE_CLIENT_RAW,
	"HTTP_POLICY_VAR_SSL_CLIENT_ESCAPED":        dataplanev1.HeaderVariable_HEADER_VARIABLE_CLIENT_ESCAPED,
	"HTTP_POLICY_VAR_SSL_CLIENT_VERSION":        dataplanev1.HeaderVariable_HEADER_VARIABLE_CLIENT_VERSION,
	"HTTP_POLICY_VAR_SSL_CLIENT_SIGALG":         dataplanev1.HeaderVariable_HEADER_VARIABLE_CLIENT_SIGNATURE,
	"HTTP_POLICY_VAR_SSL_CLIENT_NOTVALIDBEFORE": dataplanev1.HeaderVariable_HEADER_VARIABLE_CLIENT_NOT_BEFORE,
	"HTTP_POLICY_VAR_SSL_CLIENT_NOTVALIDAFTER":  dataplanev1.HeaderVariable_HEADER_VARIABLE_CLIENT_NOT_AFTER,
}

// edits converts the changes of header fields, in their order.
func (r *ruleReader) edits(actions []kinds.HTTPHdrAction) (edits []*dataplanev1.HeaderEdit) {
	for _, at := range kinds.EditOrder(actions) {
		action := actions[at]
		edit := &dataplanev1.HeaderEdit{Kind: editKinds[action.Action]}
		if cookie := action.Cookie; cookie != nil {
			edit.Name, edit.Cookie = cookie.Name, true
			if cookie.Value != "" {
				edit.Value = &dataplanev1.HeaderValue{Text: cookie.Value}
			}
		} else if edit.Name = action.Hdr.Name; action.Hdr.Value != nil {
			edit.Value = r.headerValue(fmt.Sprintf("hdr_action[%d].hdr.value", at), action.Hdr.Value)
		}
		edits = append(edits, edit)
	}
	return edits
}

// headerValue returns nil for a value without content.
func (r *ruleReader) headerValue(field string, from *kinds.HTTPHdrValue) *dataplanev1.HeaderValue {
	variable, known := headerVariables[from.Var]
	switch {
	case !known:
		r.refuse(field+".var", "engines do not know %s yet", from.Var)
		return nil
	case from.Var == kinds.VarOfHeader:
		return &dataplanev1.HeaderValue{Variable: variable, Field: from.Text}
	case from.Var == "" && from.Text == "":
		return nil
	}
	return &dataplanev1.HeaderValue{Variable: variable, Text: from.Text}
}

func (r *ruleReader) redirect(
	field string, from *kinds.HTTPRedirectAction, match *kinds.MatchTarget,
) *dataplanev1.HttpRedirect {
	r.checkTokens(field+".host", from.Host, match)
	r.checkTokens(field+".path", from.Path, match)
	return redirect(from)
}

func redirect(from *kinds.HTTPRedirectAction) *dataplanev1.HttpRedirect {
	return &dataplanev1.HttpRedirect{
		Status: kinds.StatusIn(from.StatusCode), Tls: from.Protocol == "HTTPS", Port: from.Port,
		Host: tokens(from.Host), Path: tokens(from.Path), KeepQuery: from.KeepQuery, AddQuery: from.Add,
	}
}

func (r *ruleReader) rewrite(from *kinds.HTTPRewriteURLAction, match *kinds.MatchTarget) *dataplanev1.HttpRewrite {
	to := &dataplanev1.HttpRewrite{
		Host:      r.tokens("rewrite_url_action.host_hdr", from.Host, match),
		Path:      r.tokens("rewrite_url_action.path", from.Path, match),
		KeepQuery: true,
	}
	if from.Query != nil {
		to.KeepQuery, to.AddQuery = from.Query.Keep, from.Query.Add
	}
	return to
}

var tokenKinds = map[string]dataplanev1.UriTokenKind{
	"URI_TOKEN_TYPE_STRING":       dataplanev1.UriTokenKind_URI_TOKEN_KIND_TEXT,
	"URI_TOKEN_TYPE_HOST":         dataplanev1.UriTokenKind_URI_TOKEN_KIND_HOST,
	"URI_TOKEN_TYPE_PATH":         dataplanev1.UriTokenKind_URI_TOKEN_KIND_PATH,
	"URI_TOKEN_TYPE_STRING_GROUP": dataplanev1.UriTokenKind_URI_TOKEN_KIND_GROUP_VALUE,
	"URI_TOKEN_TYPE_REGEX":        dataplanev1.UriTokenKind_URI_TOKEN_KIND_PATH_REGEX,
	"URI_TOKEN_TYPE_REGEX_QUERY":  dataplanev1.UriTokenKind_URI_TOKEN_KIND_QUERY_REGEX,
}

func (r *ruleReader) tokens(
	field string, from *kinds.URIParam, match *kinds.MatchTarget,
) []*dataplanev1.UriToken {
	r.checkTokens(field, from, match)
	return tokens(from)
}

// checkTokens refuses values of string groups that have none.
func (r *ruleReader) checkTokens(field string, from *kinds.URIParam, match *kinds.MatchTarget) {
	if from != nil && from.UsesGroupValue() && !r.hasValues(match) {
		r.refuse(field, "none of its string groups has values: use one of type SG_TYPE_KEYVAL")
	}
}

func tokens(from *kinds.URIParam) (tokens []*dataplanev1.UriToken) {
	if from == nil {
		return nil
	}
	for _, token := range from.Tokens {
		tokens = append(tokens, &dataplanev1.UriToken{
			Kind: tokenKinds[token.Type], First: token.First, Last: token.Last, Text: token.Text,
		})
	}
	return tokens
}

// hasValues tells whether a string group that a match names has values.
func (r *ruleReader) hasValues(match *kinds.MatchTarget) bool {
	return slices.ContainsFunc(match.StringGroupRefs(), func(reference string) bool {
		group := r.set.StringGroups[reference]
		return group != nil && group.HasValues()
	})
}
