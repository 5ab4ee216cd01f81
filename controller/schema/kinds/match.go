package kinds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/weir-lb/weir/controller/schema"
)

// MatchTarget is what a request is compared with. All of its parts must match.
type MatchTarget struct {
	ClientIP *IPAddrMatch      `json:"client_ip"` // as a PROXY header gives it, else that of the connection
	SourceIP *IPAddrMatch      `json:"source_ip"` // where the connection comes from
	VSPort   *PortMatch        `json:"vs_port"`
	Protocol *ProtocolMatch    `json:"protocol"`
	Method   *MethodMatch      `json:"method"`
	Version  *HTTPVersionMatch `json:"version"`
	Path     *PathMatch        `json:"path"`
	Query    *QueryMatch       `json:"query"`
	Hdrs     []HdrMatch        `json:"hdrs" items:"64"` // all of them must match
	HostHdr  *HostHdrMatch     `json:"host_hdr"`
	Cookie   *CookieMatch      `json:"cookie"`

	GeoMatches []GeoMatch `json:"geo_matches" items:"1"` // where the client is
}

// ResponseMatchTarget is what a response, and the request that it answers, are compared with.
type ResponseMatchTarget struct {
	MatchTarget
	Status       *HTTPStatusMatch  `json:"status"`
	Location     *LocationHdrMatch `json:"loc_hdr"`
	ResponseHdrs []HdrMatch        `json:"rsp_hdrs" items:"64"`
}

// PortMatch compares the port that clients connect to.
type PortMatch struct {
	Criteria string   `json:"match_criteria" enum:"MatchOperation" required:"true"`
	Ports    []uint32 `json:"ports" min:"1" max:"65535" items:"256"`
}

// ProtocolMatch tells requests with TLS from requests without.
type ProtocolMatch struct {
	Criteria string `json:"match_criteria" enum:"MatchOperation" required:"true"`
	Protocol string `json:"protocols" enum:"HTTPProtocol" required:"true"`
}

// MethodMatch compares the method of a request.
type MethodMatch struct {
	Criteria string   `json:"match_criteria" enum:"MatchOperation" required:"true"`
	Methods  []string `json:"methods" enum:"HTTPMethod" items:"16"`
}

// HTTPVersionMatch compares the version of HTTP that the client speaks.
type HTTPVersionMatch struct {
	Criteria string   `json:"match_criteria" enum:"MatchOperation" required:"true"`
	Versions []string `json:"versions" enum:"HTTPVersion" items:"8"`
}

// PathMatch compares the path of a request with texts.
type PathMatch struct {
	Criteria  string   `json:"match_criteria" enum:"PathCriteria" default:"CONTAINS"`
	Values    []string `json:"match_str" items:"256"`
	GroupRefs []string `json:"string_group_refs" ref:"stringgroup" items:"64"`
	Case      string   `json:"match_case" enum:"MatchCase" default:"INSENSITIVE"`
	Decoded   bool     `json:"match_decoded_string" default:"true"`
}

// QueryMatch compares what follows the question mark of a request.
type QueryMatch struct {
	Criteria  string   `json:"match_criteria" enum:"QueryCriteria" required:"true"`
	Values    []string `json:"match_str" items:"256"`
	GroupRefs []string `json:"string_group_refs" ref:"stringgroup" items:"64"`
	Case      string   `json:"match_case" enum:"MatchCase" default:"INSENSITIVE"`
	Decoded   bool     `json:"match_decoded_string" default:"true"`
}

// HdrMatch compares a header field.
type HdrMatch struct {
	Hdr      string   `json:"hdr" required:"true"`
	Criteria string   `json:"match_criteria" enum:"HeaderCriteria" required:"true"`
	Values   []string `json:"value" items:"256"`
	Case     string   `json:"match_case" enum:"MatchCase" default:"INSENSITIVE"`
}

// HostHdrMatch compares the host that a request is for.
type HostHdrMatch struct {
	Criteria string   `json:"match_criteria" enum:"HeaderCriteria" required:"true"`
	Values   []string `json:"value" items:"256"`
	Case     string   `json:"match_case" enum:"MatchCase" default:"INSENSITIVE"`
}

// LocationHdrMatch compares where a response redirects to.
type LocationHdrMatch struct {
	Criteria string   `json:"match_criteria" enum:"HeaderCriteria" required:"true"`
	Values   []string `json:"value" items:"256"`
	Case     string   `json:"match_case" enum:"MatchCase" default:"INSENSITIVE"`
}

// CookieMatch compares one cookie of a request.
type CookieMatch struct {
	Name     string `json:"name" required:"true"`
	Criteria string `json:"match_criteria" enum:"HeaderCriteria" required:"true"`
	Value    string `json:"value"`
	Case     string `json:"match_case" enum:"MatchCase" default:"INSENSITIVE"`
}

// HTTPStatusMatch compares the status of a response. Engines look at final responses only.
type HTTPStatusMatch struct {
	Criteria string        `json:"match_criteria" enum:"MatchOperation" required:"true"`
	Codes    []uint32      `json:"status_codes" min:"200" max:"599" items:"256"`
	Ranges   []StatusRange `json:"ranges" items:"256"`
}

var (
	_ = schema.Enum("HeaderCriteria",
		"HDR_EXISTS", "HDR_DOES_NOT_EXIST", "HDR_BEGINS_WITH", "HDR_DOES_NOT_BEGIN_WITH", "HDR_CONTAINS",
		"HDR_DOES_NOT_CONTAIN", "HDR_ENDS_WITH", "HDR_DOES_NOT_END_WITH", "HDR_EQUALS", "HDR_DOES_NOT_EQUAL",
	)
	_ = schema.Enum("HTTPMethod",
		"HTTP_METHOD_GET", "HTTP_METHOD_HEAD", "HTTP_METHOD_PUT", "HTTP_METHOD_DELETE", "HTTP_METHOD_POST",
		"HTTP_METHOD_OPTIONS", "HTTP_METHOD_TRACE", "HTTP_METHOD_CONNECT", "HTTP_METHOD_PATCH",
		"HTTP_METHOD_PROPFIND", "HTTP_METHOD_PROPPATCH", "HTTP_METHOD_MKCOL", "HTTP_METHOD_COPY", "HTTP_METHOD_MOVE",
		"HTTP_METHOD_LOCK", "HTTP_METHOD_UNLOCK",
	)
	_ = schema.Enum("HTTPVersion", noVersion, "ONE_ZERO", "ONE_ONE", "TWO_ZERO")
	_ = schema.Enum("MatchCase", "SENSITIVE", "INSENSITIVE")
	_ = schema.Enum("PathCriteria",
		"BEGINS_WITH", "DOES_NOT_BEGIN_WITH", "CONTAINS", "DOES_NOT_CONTAIN", "ENDS_WITH", "DOES_NOT_END_WITH",
		"EQUALS", "DOES_NOT_EQUAL", regexMatch, "REGEX_DOES_NOT_MATCH",
	)
	_ = schema.Enum("QueryCriteria",
		"QUERY_MATCH_CONTAINS", "QUERY_MATCH_DOES_NOT_CONTAIN", "QUERY_MATCH_EXISTS", "QUERY_MATCH_DOES_NOT_EXIST",
		"QUERY_MATCH_BEGINS_WITH", "QUERY_MATCH_DOES_NOT_BEGIN_WITH", "QUERY_MATCH_ENDS_WITH",
		"QUERY_MATCH_DOES_NOT_END_WITH", "QUERY_MATCH_EQUALS", "QUERY_MATCH_DOES_NOT_EQUAL",
		"QUERY_MATCH_"+regexMatch, "QUERY_MATCH_REGEX_DOES_NOT_MATCH",
	)
)

const (
	regexMatch = "REGEX_MATCH"
	noVersion  = "ZERO_NINE"
)

// textMost is the length of the longest text of a rule, in bytes.
const textMost = 4096

const finalStatuses = "%d is no status that rules see, which are those of final responses: give 200 to 599"

// refuse makes the error of a field.
func refuse(field, problem string, args ...any) *schema.FieldError {
	return &schema.FieldError{Field: field, Problem: fmt.Sprintf(problem, args...)}
}

// check returns what is wrong with a match.
func (m *MatchTarget) check(field string) *schema.FieldError {
	return m.checkReading(field, new(Expressions))
}

func (m *MatchTarget) checkReading(field string, expressions *Expressions) *schema.FieldError {
	if m == nil {
		return nil
	}
	return cmp.Or(
		m.ClientIP.check(field+".client_ip"), m.SourceIP.check(field+".source_ip"), m.VSPort.check(field+".vs_port"),
		m.Method.check(field+".method"), m.Version.check(field+".version"), m.Path.check(field+".path", expressions),
		m.Query.check(field+".query", expressions), checkHdrs(field+".hdrs", m.Hdrs),
		m.HostHdr.check(field+".host_hdr"),
		m.Cookie.check(field+".cookie"), CheckPlaces(field+".geo_matches", m.GeoMatches))
}

// Check says what a write would refuse. Objects from before a field had an effect were stored without checks.
func (m *MatchTarget) Check(field string) *schema.FieldError {
	if problem := schema.CheckFields(field, m); problem != nil {
		return problem
	}
	return m.check(field)
}

func (m *ResponseMatchTarget) check(field string) *schema.FieldError {
	if m == nil {
		return nil
	}
	return cmp.Or(m.MatchTarget.check(field), m.Status.check(field+".status"), m.Location.check(field+".loc_hdr"),
		checkHdrs(field+".rsp_hdrs", m.ResponseHdrs))
}

func (m *IPAddrMatch) check(field string) *schema.FieldError {
	switch {
	case m == nil:
		return nil
	case len(m.Addrs)+len(m.Ranges)+len(m.Prefixes)+len(m.GroupRefs) == 0:
		return refuse(field, "names no address: give addrs, ranges, prefixes or group_refs")
	}
	return m.problem(field)
}

func (m *PortMatch) check(field string) *schema.FieldError {
	if m != nil && len(m.Ports) == 0 {
		return refuse(field+".ports", "is empty: give at least one port")
	}
	return nil
}

func (m *MethodMatch) check(field string) *schema.FieldError {
	if m != nil && len(m.Methods) == 0 {
		return refuse(field+".methods", "is empty: give at least one method")
	}
	return nil
}

func (m *HTTPVersionMatch) check(field string) *schema.FieldError {
	switch {
	case m == nil:
		return nil
	case len(m.Versions) == 0:
		return refuse(field+".versions", "is empty: give at least one version")
	}
	if i := slices.Index(m.Versions, noVersion); i >= 0 {
		return refuse(fmt.Sprintf("%s.versions[%d]", field, i), "engines do not speak HTTP/0.9: remove %s", noVersion)
	}
	return nil
}

func (m *PathMatch) check(field string, expressions *Expressions) *schema.FieldError {
	if m == nil {
		return nil
	}
	return expressions.checkTexts(field, "match_str", m.Criteria, m.Values, len(m.GroupRefs))
}

// checkRoots refuses texts that no path begins with, where they would never match, or always.
func (m *MatchTarget) checkRoots(field string) *schema.FieldError {
	if m == nil || m.Path == nil || !ComparesBeginning(m.Path.Criteria) {
		return nil
	}
	for i, text := range m.Path.Values {
		if !strings.HasPrefix(text, "/") {
			return refuse(fmt.Sprintf("%s.path.match_str[%d]", field, i), "no path begins with %s: begin it with /",
				schema.Show(text))
		}
	}
	return nil
}

// ComparesBeginning tells whether a criterion compares the beginning of a path, or all of it.
func ComparesBeginning(criteria string) bool {
	switch criteria {
	case "BEGINS_WITH", "DOES_NOT_BEGIN_WITH", "EQUALS", "DOES_NOT_EQUAL":
		return true
	}
	return false
}

func (m *QueryMatch) check(field string, expressions *Expressions) *schema.FieldError {
	if m == nil {
		return nil
	}
	return expressions.checkTexts(field, "match_str", m.Criteria, m.Values, len(m.GroupRefs))
}

func checkHdrs(field string, matches []HdrMatch) *schema.FieldError {
	for i, match := range matches {
		at := fmt.Sprintf("%s[%d]", field, i)
		if problem := cmp.Or(checkFieldName(at+".hdr", match.Hdr),
			checkTexts(at, "value", match.Criteria, match.Values, 0)); problem != nil {
			return problem
		}
	}
	return nil
}

func (m *HostHdrMatch) check(field string) *schema.FieldError {
	if m == nil {
		return nil
	}
	return checkTexts(field, "value", m.Criteria, m.Values, 0)
}

func (m *LocationHdrMatch) check(field string) *schema.FieldError {
	if m == nil {
		return nil
	}
	return checkTexts(field, "value", m.Criteria, m.Values, 0)
}

func (m *CookieMatch) check(field string) *schema.FieldError {
	if m == nil {
		return nil
	}
	return cmp.Or(checkFieldName(field+".name", m.Name),
		checkTexts(field, "value", m.Criteria, m.Texts(), 0))
}

// StringGroupRefs are the string groups that a path or a query is compared with.
func (m *MatchTarget) StringGroupRefs() (references []string) {
	if m != nil && m.Path != nil {
		references = append(references, m.Path.GroupRefs...)
	}
	if m != nil && m.Query != nil {
		references = append(references, m.Query.GroupRefs...)
	}
	return references
}

// Texts are what the cookie is compared with: at most one text.
func (m *CookieMatch) Texts() []string {
	if m.Value == "" {
		return nil
	}
	return []string{m.Value}
}

func (m *HTTPStatusMatch) check(field string) *schema.FieldError {
	if m == nil {
		return nil
	}
	if len(m.Codes)+len(m.Ranges) == 0 {
		return refuse(field, "names no status: give status_codes or ranges")
	}
	for i, span := range m.Ranges {
		at := fmt.Sprintf("%s.ranges[%d]", field, i)
		switch {
		case span.Begin < 200 || span.Begin > 599:
			return refuse(at+".begin", finalStatuses, span.Begin)
		case span.End < 200 || span.End > 599:
			return refuse(at+".end", finalStatuses, span.End)
		case span.End < span.Begin:
			return refuse(at+".end", "%d is before begin %d", span.End, span.Begin)
		}
	}
	return nil
}

// Comparison is a criterion without the name of what it is about: "BEGINS_WITH" of "HDR_BEGINS_WITH".
func Comparison(criteria string) string {
	return strings.TrimPrefix(strings.TrimPrefix(criteria, "HDR_"), "QUERY_MATCH_")
}

// checkTexts checks the texts that something is compared with. name is the field with them; groups is the number of
// string groups beside them.
func checkTexts(field, name, criteria string, texts []string, groups int) *schema.FieldError {
	return new(Expressions).checkTexts(field, name, criteria, texts, groups)
}

func (e *Expressions) checkTexts(field, name, criteria string, texts []string, groups int) *schema.FieldError {
	how := Comparison(criteria)
	if strings.HasSuffix(how, "EXIST") || strings.HasSuffix(how, "EXISTS") {
		if len(texts)+groups > 0 {
			return refuse(field+".match_criteria", "%s compares with no text: remove the texts", criteria)
		}
		return nil
	}
	if len(texts)+groups == 0 {
		return refuse(field+"."+name, "is empty: %s needs a text to compare with", criteria)
	}
	for i, text := range texts {
		at := fmt.Sprintf("%s.%s[%d]", field, name, i)
		switch {
		case text == "":
			return refuse(at, "is empty")
		case len(text) > textMost:
			return refuse(at, "has %d bytes: give at most %d", len(text), textMost)
		}
	}
	if strings.HasPrefix(how, "REGEX") {
		if at, err := e.Check(texts); err != nil {
			return refuse(fmt.Sprintf("%s.%s[%d]", field, name, at), "%v", err)
		}
	}
	return nil
}

func checkFieldName(field, name string) *schema.FieldError {
	if len(name) <= 256 && httpguts.ValidHeaderFieldName(name) {
		return nil
	}
	return refuse(field, "%s is no name: use letters, digits and - only, at most 256", schema.Show(name))
}

func checkFieldValue(field, value string) *schema.FieldError {
	switch {
	case len(value) > textMost:
		return refuse(field, "has %d bytes: give at most %d", len(value), textMost)
	case !httpguts.ValidHeaderFieldValue(value):
		return refuse(field, "%s has a character that a header field cannot carry, such as the end of a line",
			schema.Show(value))
	}
	return nil
}
