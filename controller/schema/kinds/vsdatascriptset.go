package kinds

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// VSDataScriptSet has scripts that run for requests and responses, and the objects that they may name. Virtual services
// list the sets that they use.
type VSDataScriptSet struct {
	Identity
	Named
	Owned
	Description     string         `json:"description"`
	Markers         []Marker       `json:"markers"`
	CreatedBy       string         `json:"created_by"`
	Scripts         []VSDataScript `json:"datascript" items:"32"`
	PoolRefs        []string       `json:"pool_refs" ref:"pool" items:"256"`
	PoolGroupRefs   []string       `json:"pool_group_refs" ref:"poolgroup" items:"256"`
	StringGroupRefs []string       `json:"string_group_refs" ref:"stringgroup" items:"256"`
	IPAddrGroupRefs []string       `json:"ipgroup_refs" ref:"ipaddrgroup" items:"256"`
	RateLimiters    []RateLimiter  `json:"rate_limiters" items:"64"`
}

// VSDataScript is a script in Lua, and when it runs.
type VSDataScript struct {
	Event  string `json:"evt" enum:"VSDataScriptEvent" required:"true"`
	Script string `json:"script" required:"true"`
}

// VSDataScripts is a set that a virtual service uses, and its place among the others.
type VSDataScripts struct {
	Index  uint32 `json:"index" required:"true"`
	SetRef string `json:"vs_datascript_set_ref" ref:"vsdatascriptset" required:"true"`
}

// Events in which scripts run.
const (
	ScriptAccept       = "VS_DATASCRIPT_EVT_TCP_CLIENT_ACCEPT"
	ScriptPreConnect   = "VS_DATASCRIPT_EVT_CLIENT_SSL_PRE_CONNECT"
	ScriptHello        = "VS_DATASCRIPT_EVT_CLIENT_SSL_CLIENT_HELLO"
	ScriptHandshake    = "VS_DATASCRIPT_EVT_SSL_HANDSHAKE_DONE"
	ScriptFirstBytes   = "VS_DATASCRIPT_EVT_L4_REQUEST"
	ScriptFirstAnswer  = "VS_DATASCRIPT_EVT_L4_RESPONSE"
	ScriptAuth         = "VS_DATASCRIPT_EVT_HTTP_AUTH"
	ScriptPostAuth     = "VS_DATASCRIPT_EVT_HTTP_POST_AUTH"
	ScriptRequest      = "VS_DATASCRIPT_EVT_HTTP_REQ"
	ScriptRequestData  = "VS_DATASCRIPT_EVT_HTTP_REQ_DATA"
	ScriptChoice       = "VS_DATASCRIPT_EVT_HTTP_LB_DONE"
	ScriptResponse     = "VS_DATASCRIPT_EVT_HTTP_RESP"
	ScriptResponseData = "VS_DATASCRIPT_EVT_HTTP_RESP_DATA"
	ScriptFailure      = "VS_DATASCRIPT_EVT_HTTP_RESP_FAILED"
	ScriptShortage     = "VS_DATASCRIPT_EVT_HTTP_LB_FAILED"
)

// scriptEvents are those in which engines run scripts.
var scriptEvents = []string{ScriptAccept, ScriptPreConnect, ScriptHello, ScriptHandshake, ScriptFirstBytes,
	ScriptFirstAnswer,
	ScriptAuth, ScriptPostAuth, ScriptRequest, ScriptRequestData, ScriptChoice, ScriptResponse,
	ScriptResponseData, ScriptFailure, ScriptShortage}

// whyNoEvent says why engines run no scripts in other events that Avi has.
var whyNoEvent = map[string]string{
	"VS_DATASCRIPT_EVT_DNS_REQ":  whyNoDNS,
	"VS_DATASCRIPT_EVT_DNS_RESP": whyNoDNS,
}

const whyNoDNS = "virtual services with APPLICATION_PROFILE_TYPE_DNS pass messages on, and do not read them"

var _ = schema.Enum("VSDataScriptEvent", ScriptRequest, ScriptResponse, ScriptResponseData, ScriptShortage,
	ScriptRequestData, ScriptFailure, ScriptChoice, ScriptAuth, ScriptPostAuth,
	ScriptAccept, ScriptHandshake, ScriptPreConnect, ScriptHello, ScriptFirstBytes, "VS_DATASCRIPT_EVT_DNS_REQ",
	"VS_DATASCRIPT_EVT_DNS_RESP", ScriptFirstAnswer, "VS_DATASCRIPT_EVT_MAX")

// Engines refuse longer scripts.
const scriptBytesMost = 64 << 10

func init() {
	schema.Register[VSDataScriptSet](schema.Definition{
		Private: true,
		Serving: schema.PartOfService,
		Columns: []column.Column{column.Of("SCRIPTS", countOf("datascript"))},
		Example: "  weir vsdatascriptset create steer pool_refs[0]=blue datascript[0].evt=" + ScriptRequest +
			` datascript[0].script="if string.beginswith(avi.http.get_path(), '/blue') then avi.pool.select('blue') end"`,
		Kept: []schema.Rule{
			schema.NoEffect("engines do not serve the functions of scripts that would use it, and these raise an error",
				`geo_db_ref ip_reputation_db_ref pki_profile_refs
				ssl_key_certificate_refs ssl_profile_refs`),
			schema.NoEffect(`scripts have the module "Default-TLS" without it, and no other`, "protocol_parser_refs"),
			schema.NoEffect(schema.Unheeded, ""),
		},
	})
}

func (s *VSDataScriptSet) Validate() *schema.FieldError {
	for i, script := range s.Scripts {
		at := fmt.Sprintf("datascript[%d].", i)
		if !slices.Contains(scriptEvents, script.Event) {
			if why := whyNoEvent[script.Event]; why != "" {
				return refuse(at+"evt", "engines run no scripts in %s: %s", script.Event, why)
			}
			return refuse(at+"evt", "engines run no scripts in %s: use one of %s", script.Event,
				strings.Join(scriptEvents, ", "))
		}
		if len(script.Script) > scriptBytesMost {
			return refuse(at+"script", "has %d bytes: give at most %d", len(script.Script), scriptBytesMost)
		}
		event := strings.TrimPrefix(script.Event, "VS_DATASCRIPT_EVT_")
		chunk, why := parseScript(script.Script)
		if why != "" {
			return refuse(at+"script", "of %s is no script in Lua 5.1: %s", event, why)
		}
		if why := notOnEngines(script.Script, chunk); why != "" {
			return refuse(at+"script", "of %s is a script that engines cannot run: %s", event, why)
		}
	}
	return s.checkLimiters()
}

// checkLimiters checks that scripts can tell limits by their names.
func (s *VSDataScriptSet) checkLimiters() *schema.FieldError {
	for i, limiter := range s.RateLimiters {
		at := fmt.Sprintf("rate_limiters[%d]", i)
		if limiter.Name == "" {
			return refuse(at+".name", "is required: scripts name the limit in avi.vs.ratelimit.exceed")
		}
		if slices.ContainsFunc(s.RateLimiters[:i], func(o RateLimiter) bool { return o.Name == limiter.Name }) {
			return refuse(at+".name", "%s is the name of another one", schema.Show(limiter.Name))
		}
		if problem := limiter.check(at); problem != nil {
			return problem
		}
	}
	return nil
}

// parseScript says in which line a script is no Lua; empty: it is.
func parseScript(script string) (chunk []ast.Stmt, why string) {
	chunk, err := parse.Parse(strings.NewReader(script), "script")
	var wrong *parse.Error
	switch {
	case err == nil:
		return chunk, ""
	case errors.As(err, &wrong) && wrong.Pos.Line > 0:
		return nil, fmt.Sprintf("line %d, near %s: %s", wrong.Pos.Line, schema.Show(wrong.Token), wrong.Message)
	case errors.As(err, &wrong):
		return nil, "it ends too early: " + wrong.Message
	}
	return nil, err.Error()
}
