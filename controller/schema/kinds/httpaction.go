package kinds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// HTTPHdrAction changes a header field, or a cookie.
type HTTPHdrAction struct {
	Action string          `json:"action" enum:"HTTPHdrActionType" required:"true"`
	Hdr    *HTTPHdrData    `json:"hdr"`
	Cookie *HTTPCookieData `json:"cookie"`
	Index  uint32          `json:"hdr_index"` // the order of the actions
}

// HTTPHdrData is a header field.
type HTTPHdrData struct {
	Name  string        `json:"name"`
	Value *HTTPHdrValue `json:"value"`
}

// HTTPHdrValue is a text, or something of the request that is known by its name.
type HTTPHdrValue struct {
	Text string `json:"val"`
	Var  string `json:"var" enum:"HTTPPolicyVar"`
}

// HTTPCookieData is a cookie.
type HTTPCookieData struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// HTTPRedirectAction sends the client elsewhere.
type HTTPRedirectAction struct {
	Protocol   string    `json:"protocol" enum:"HTTPProtocol" required:"true"`
	Host       *URIParam `json:"host"`
	Port       uint32    `json:"port" min:"1" max:"65535"`
	Path       *URIParam `json:"path"`
	KeepQuery  bool      `json:"keep_query" default:"true"`
	Add        string    `json:"add_string"`
	StatusCode string    `json:"status_code" enum:"RedirectStatus" default:"HTTP_REDIRECT_STATUS_CODE_302"`
}

// HTTPRewriteURLAction changes what the server is asked for.
type HTTPRewriteURLAction struct {
	Host  *URIParam      `json:"host_hdr"`
	Path  *URIParam      `json:"path"`
	Query *URIParamQuery `json:"query"`
}

// HTTPRewriteLocHdrAction changes where a response redirects to.
type HTTPRewriteLocHdrAction struct {
	Protocol  string    `json:"protocol" enum:"HTTPProtocol" required:"true"`
	Host      *URIParam `json:"host"`
	Port      uint32    `json:"port" min:"1" max:"65535"`
	Path      *URIParam `json:"path"`
	KeepQuery bool      `json:"keep_query" default:"true"`
}

// HTTPSwitchingAction says who answers a request: another pool, one server of it, or the engine itself.
type HTTPSwitchingAction struct {
	Action          string         `json:"action" enum:"HTTPSwitchingActionType" required:"true"`
	PoolRef         string         `json:"pool_ref" ref:"pool"`
	PoolGroupRef    string         `json:"pool_group_ref" ref:"poolgroup"`
	Server          *PoolServer    `json:"server"`
	StatusCode      string         `json:"status_code" enum:"LocalResponseStatus"`
	OtherStatusCode uint32         `json:"other_status_code" min:"200" max:"599"`
	File            *HTTPLocalFile `json:"file"`
}

// PoolServer is a server of a pool.
type PoolServer struct {
	IP   *IPAddr `json:"ip" required:"true"`
	Port uint32  `json:"port" min:"1" max:"65535"`
}

// HTTPLocalFile is a body of the engine itself.
type HTTPLocalFile struct {
	ContentType string `json:"content_type" required:"true"`
	Content     string `json:"file_content" required:"true"`
}

// HTTPSecurityAction says what becomes of a request.
type HTTPSecurityAction struct {
	Action      string                         `json:"action" enum:"HTTPSecurityActionType" required:"true"`
	StatusCode  string                         `json:"status_code" enum:"LocalResponseStatus"`
	File        *HTTPLocalFile                 `json:"file"`
	HTTPSPort   uint32                         `json:"https_port" min:"1" max:"65535"`
	RateProfile *HTTPSecurityActionRateProfile `json:"rate_profile"`
}

// HTTPSecurityActionRateProfile is a rate limit, and of which requests it is the limit.
type HTTPSecurityActionRateProfile struct {
	RateLimiter *RateLimiter       `json:"rate_limiter" required:"true"`
	Action      *RateLimiterAction `json:"action" required:"true"`
	PerClient   bool               `json:"per_client_ip"`
	PerPath     bool               `json:"per_uri_path"`
}

const (
	addHeader       = "HTTP_ADD_HDR"
	RemoveHeader    = "HTTP_REMOVE_HDR"
	ReplaceHeader   = "HTTP_REPLACE_HDR"
	SelectPool      = "HTTP_SWITCHING_SELECT_POOL"
	SelectLocal     = "HTTP_SWITCHING_SELECT_LOCAL"
	SelectPoolGroup = "HTTP_SWITCHING_SELECT_POOLGROUP"
	CloseConnection = "HTTP_SECURITY_ACTION_CLOSE_CONN"
	SendResponse    = "HTTP_SECURITY_ACTION_SEND_RESPONSE"
	AllowRequest    = "HTTP_SECURITY_ACTION_ALLOW"
	RedirectToHTTPS = "HTTP_SECURITY_ACTION_REDIRECT_TO_HTTPS"
	LimitRate       = "HTTP_SECURITY_ACTION_RATE_LIMIT"
	checkByICAP     = "HTTP_SECURITY_ACTION_REQUEST_CHECK_ICAP"
	VarOfHeader     = "HTTP_POLICY_VAR_HTTP_HDR"
)

var (
	_ = schema.Enum("HTTPHdrActionType", addHeader, RemoveHeader, ReplaceHeader)
	_ = schema.Enum("HTTPSwitchingActionType", SelectPool, SelectLocal, SelectPoolGroup)
	_ = schema.Enum("HTTPSecurityActionType",
		CloseConnection, SendResponse, AllowRequest, RedirectToHTTPS, LimitRate, checkByICAP)
	_ = schema.Enum("HTTPPolicyVar",
		"HTTP_POLICY_VAR_CLIENT_IP", "HTTP_POLICY_VAR_VS_PORT", "HTTP_POLICY_VAR_VS_IP", VarOfHeader,
		"HTTP_POLICY_VAR_SSL_CLIENT_FINGERPRINT", "HTTP_POLICY_VAR_SSL_CLIENT_SERIAL",
		"HTTP_POLICY_VAR_SSL_CLIENT_ISSUER", "HTTP_POLICY_VAR_SSL_CLIENT_SUBJECT", "HTTP_POLICY_VAR_SSL_CLIENT_RAW",
		"HTTP_POLICY_VAR_SSL_PROTOCOL", "HTTP_POLICY_VAR_SSL_SERVER_NAME", "HTTP_POLICY_VAR_USER_NAME",
		"HTTP_POLICY_VAR_SSL_CIPHER", "HTTP_POLICY_VAR_REQUEST_ID", "HTTP_POLICY_VAR_SSL_CLIENT_VERSION",
		"HTTP_POLICY_VAR_SSL_CLIENT_SIGALG", "HTTP_POLICY_VAR_SSL_CLIENT_NOTVALIDBEFORE",
		"HTTP_POLICY_VAR_SSL_CLIENT_NOTVALIDAFTER", "HTTP_POLICY_VAR_SSL_CLIENT_ESCAPED", "HTTP_POLICY_VAR_SOURCE_IP",
	)
)

// contentMost is the length of the longest body of an engine, in bytes.
const contentMost = 64 * 1024

// Complete redirects to the usual port if none is given.
func (*HTTPSecurityAction) Complete(o schema.Object) {
	if _, said := o["https_port"]; !said && o["action"] == RedirectToHTTPS {
		o["https_port"] = int64(443)
	}
}

// unchangeable are the header fields that engines write themselves: those of one connection, those that say where a
// body ends, and Host.
var unchangeable = map[string]string{
	"host":              "use rewrite_url_action.host_hdr of a request rule",
	"content-length":    "it follows from the body",
	"transfer-encoding": "it follows from the body",
	"connection":        ofOneConnection,
	"keep-alive":        ofOneConnection,
	"proxy-connection":  ofOneConnection,
	"te":                ofOneConnection,
	"trailer":           ofOneConnection,
	"upgrade":           ofOneConnection,
}

const ofOneConnection = "it is about one connection, and engines have others to servers"

// checkEdits checks the changes of header fields. In a request, a cookie is a pair in the field Cookie.
func checkEdits(field string, actions []HTTPHdrAction, ofRequest bool) *schema.FieldError {
	for i := range actions {
		if problem := actions[i].check(fmt.Sprintf("%s[%d]", field, i), ofRequest); problem != nil {
			return problem
		}
	}
	return nil
}

func (a *HTTPHdrAction) check(field string, ofRequest bool) *schema.FieldError {
	switch {
	case (a.Hdr == nil) == (a.Cookie == nil):
		return refuse(field, "give either hdr or cookie")
	case a.Cookie != nil:
		return a.checkCookie(field+".cookie", ofRequest)
	}
	name := field + ".hdr.name"
	if why := unchangeable[strings.ToLower(a.Hdr.Name)]; why != "" {
		return refuse(name, "%s cannot be changed: %s", a.Hdr.Name, why)
	}
	return cmp.Or(checkFieldName(name, a.Hdr.Name), a.checkValue(field+".hdr.value"))
}

func (a *HTTPHdrAction) checkValue(field string) *schema.FieldError {
	switch value := a.Hdr.Value; {
	case value == nil && a.Action == RemoveHeader:
		return nil
	case value == nil || value.Text == "" && value.Var == "":
		return refuse(field, "is required by %s: give val or var", a.Action)
	case value.Var == "":
		return checkFieldValue(field+".val", value.Text)
	case a.Action == RemoveHeader:
		return refuse(field+".var", "%s removes a field whatever it has, or with the text in val: remove it", a.Action)
	case value.Var == VarOfHeader:
		return checkFieldName(field+".val", value.Text)
	case value.Text != "":
		return refuse(field+".val", "has no effect beside var %s: remove one of them", value.Var)
	}
	return nil
}

func (a *HTTPHdrAction) checkCookie(field string, ofRequest bool) *schema.FieldError {
	value := a.Cookie.Value
	switch {
	case value == "" && a.Action != RemoveHeader:
		return refuse(field+".value", "is required by %s", a.Action)
	case ofRequest && strings.ContainsAny(value, `; ,"\`):
		return refuse(field+".value", "%s has a character that a cookie cannot carry", schema.Show(value))
	}
	return cmp.Or(checkFieldName(field+".name", a.Cookie.Name), checkFieldValue(field+".value", value))
}

// EditOrder returns the places of actions in the order of their indexes.
func EditOrder(actions []HTTPHdrAction) []int {
	return orderOf(len(actions), func(at int) uint32 { return actions[at].Index })
}

// orderOf returns the places of a list in the order of the indexes of its items.
func orderOf(length int, indexOf func(at int) uint32) []int {
	places := make([]int, length)
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(indexOf(a), indexOf(b)) })
	return places
}

func (a *HTTPRedirectAction) check(field string, match *MatchTarget) *schema.FieldError {
	if a == nil {
		return nil
	}
	return cmp.Or(a.Host.check(field+".host", hostText, match), a.Path.check(field+".path", pathText, match),
		checkQuery(field+".add_string", a.Add))
}

func (a *HTTPRewriteURLAction) check(field string, match *MatchTarget) *schema.FieldError {
	switch {
	case a == nil:
		return nil
	case a.Host == nil && a.Path == nil && a.Query == nil:
		return refuse(field, "changes nothing: give host_hdr, path or query")
	}
	problem := cmp.Or(a.Host.check(field+".host_hdr", hostPortText, match),
		a.Path.check(field+".path", pathText, match))
	if problem == nil && a.Query != nil {
		problem = checkQuery(field+".query.add_string", a.Query.Add)
	}
	return problem
}

func (a *HTTPRewriteLocHdrAction) check(field string) *schema.FieldError {
	if a == nil {
		return nil
	}
	return cmp.Or(a.Host.checkOfLocation(field+".host"), a.Path.checkOfLocation(field+".path"),
		a.Host.check(field+".host", hostText, nil), a.Path.check(field+".path", pathText, nil))
}

func (a *HTTPSwitchingAction) check(field string) *schema.FieldError {
	if a == nil {
		return nil
	}
	isLocal := a.Action == SelectLocal
	switch {
	case a.Action == SelectPool && a.PoolRef == "":
		return refuse(field+".pool_ref", "is required by %s", SelectPool)
	case a.Action != SelectPool && a.PoolRef != "":
		return refuse(field+".pool_ref", "is for %s", SelectPool)
	case a.Action == SelectPoolGroup && a.PoolGroupRef == "":
		return refuse(field+".pool_group_ref", "is required by %s", SelectPoolGroup)
	case a.Action != SelectPoolGroup && a.PoolGroupRef != "":
		return refuse(field+".pool_group_ref", "is for %s", SelectPoolGroup)
	case a.Action != SelectPool && a.Server != nil:
		return refuse(field+".server", "is for %s", SelectPool)
	case !isLocal && a.StatusCode != "":
		return refuse(field+".status_code", "is for %s", SelectLocal)
	case !isLocal && a.OtherStatusCode != 0:
		return refuse(field+".other_status_code", "is for %s", SelectLocal)
	case !isLocal && a.File != nil:
		return refuse(field+".file", "is for %s", SelectLocal)
	case isLocal && a.StatusCode == "" && a.OtherStatusCode == 0:
		return refuse(field+".status_code", "is required by %s, or else other_status_code", SelectLocal)
	case isLocal && a.StatusCode != "" && a.OtherStatusCode != 0:
		return refuse(field+".other_status_code", "cannot be beside status_code: remove one of them")
	case a.Server != nil:
		return a.Server.IP.literal(field + ".server.ip")
	case isLocal:
		return a.File.check(field+".file", a.Status())
	}
	return nil
}

// Status is what the engine itself answers with.
func (a *HTTPSwitchingAction) Status() uint32 {
	return cmp.Or(a.OtherStatusCode, StatusIn(a.StatusCode))
}

// ID identifies the server within a pool.
func (s *PoolServer) ID(defaultPort uint32) string {
	return (&Server{IP: s.IP, Port: s.Port}).ID(defaultPort)
}

// StatusIn returns the status that a value ends with: 403 for "HTTP_LOCAL_RESPONSE_STATUS_CODE_403"; 0: none.
func StatusIn(code string) (status uint32) {
	_, _ = fmt.Sscanf(code[strings.LastIndexByte(code, '_')+1:], "%d", &status)
	return status
}

func (f *HTTPLocalFile) check(field string, status uint32) *schema.FieldError {
	switch {
	case f == nil:
		return nil
	case status == 204 || status == 205 || status == 304:
		return refuse(field, "a response of status %d has no body: remove it", status)
	case len(f.Content) > contentMost:
		return refuse(field+".file_content", "has %d bytes: give at most %d", len(f.Content), contentMost)
	}
	return checkFieldValue(field+".content_type", f.ContentType)
}

func (a *HTTPSecurityAction) check(field string, match *MatchTarget) *schema.FieldError {
	isAnswer := a.Action == SendResponse
	switch {
	case isAnswer && a.StatusCode == "":
		return refuse(field+".status_code", "is required by %s", SendResponse)
	case !isAnswer && a.StatusCode != "":
		return refuse(field+".status_code", "is for %s", SendResponse)
	case !isAnswer && a.File != nil:
		return refuse(field+".file", "is for %s", SendResponse)
	case a.Action != RedirectToHTTPS && a.HTTPSPort != 0:
		return refuse(field+".https_port", "is for %s", RedirectToHTTPS)
	case a.Action == LimitRate && a.RateProfile == nil:
		return refuse(field+".rate_profile", "is required by %s", LimitRate)
	case a.Action != LimitRate && a.RateProfile != nil:
		return refuse(field+".rate_profile", "is for %s", LimitRate)
	case a.Action == LimitRate:
		return a.RateProfile.check(field+".rate_profile", match)
	case isAnswer:
		return a.File.check(field+".file", StatusIn(a.StatusCode))
	}
	return nil
}
