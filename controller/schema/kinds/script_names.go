package kinds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/weir-lb/weir/controller/schema"
)

// unserved are functions of Avi that raise an error on engines, and why.
type unserved struct {
	table string // "avi.vs"
	names string // without names: all functions of the table
	why   string
}

// unservedFunctions stand in dataplane/script/src/avi/unserved.rs, too.
var unservedFunctions = []unserved{
	{"avi.vs", "set_session_id", "Weir keeps no sessions of users"},
	{"avi.vs", "host", "engines do not know it"},
	{"avi.vs.analytics", "", "engines keep no metrics that scripts name: log with avi.vs.log, and count with the " +
		"filters of logs, or in a table with avi.vs.table_insert"},
	{"avi.http", "disable", "a connection of HTTP does not change to layer 4: give such clients a virtual service " +
		"with an application profile for layer 4. WebSockets need nothing of that"},
	{"avi.http", "saml_session_cookie", "Weir has no SAML"},
	{"avi.ssl", "set_ssl_profile", "use ssl_profile_selectors of the virtual service, which choose by the address " +
		"of the client, or children with a profile of their own"},
	{"avi.ssl", "set_ssl_certificate", "the server name chooses among the certificates of the virtual service and " +
		"of its children"},
	{"avi.ssl", "set_pki_profile renegotiate", "engines ask for a certificate in the handshake and never later, as " +
		"TLS 1.3 has no renegotiation. Use ssl_client_certificate_mode of the application profile, and " +
		"avi.ssl.check_client_cert_validity"},
	{"avi.ssl", "client_cert_verify_mode client_cert_verify_error_string clear_client_cert_verify_error " +
		"log_client_cert_verify_error", "use avi.ssl.check_client_cert_validity"},
	{"avi.utils", "get_geo_from_ip", "engines have the addresses of those countries that rules and address groups " +
		"name: give country_codes to an ipaddrgroup, and use avi.ipgroup.contains"},
	{"avi.utils", "get_ip_reputation", "Weir has no database of reputations"},
	{"avi.l4", "pause resume send", "engines pass on what has come, and send nothing of their own in between: use " +
		"avi.l4.collect, avi.l4.modify and avi.l4.discard"},
}

// naming are the functions whose first argument names an object, with the field of the set that must have it. They
// raise an error about any other name. A name that ends with a point stands for all functions of that table.
var naming = map[string]string{
	"avi.pool.select": "pool_refs", "avi.pool.get_servers": "pool_refs", "avi.pool.get_server_status": "pool_refs",
	"avi.poolgroup.select": "pool_group_refs", "avi.stringgroup.": "string_group_refs",
	"avi.ipgroup.": "ipgroup_refs", "avi.vs.ratelimit.exceed": "rate_limiters",
}

// ScriptName is a name that a script gives to a function, as a text that stands in the script.
type ScriptName struct {
	Field    string // "datascript[0].script"
	Line     int
	Function string // "avi.pool.select"
	Among    string // the field of the set that must have it: "pool_refs"
	Name     string
}

// Problem says what happens because the field does not have the name.
func (n ScriptName) Problem() string {
	return fmt.Sprintf("line %d: %s raises an error, because %s has no %s", n.Line, n.Function, n.Among,
		schema.Show(n.Name))
}

// Names lists what the scripts name.
func (s *VSDataScriptSet) Names() []ScriptName {
	var names []ScriptName
	s.eachCall(func(field, function string, call *ast.FuncCallExpr) {
		among, known := naming[function]
		if !known {
			among, known = naming[function[:strings.LastIndex(function, ".")+1]]
		}
		if !known || len(call.Args) == 0 {
			return
		}
		if name, isText := call.Args[0].(*ast.StringExpr); isText {
			names = append(names, ScriptName{field, call.Line(), function, among, name.Value})
		}
	})
	return names
}

// Misnamed finds names that nothing has which the set refers to. nameOf returns the name of the object that a stored
// reference leads to.
func (s *VSDataScriptSet) Misnamed(nameOf func(reference string) string) []schema.Kept {
	references := map[string][]string{"pool_refs": s.PoolRefs, "pool_group_refs": s.PoolGroupRefs,
		"string_group_refs": s.StringGroupRefs, "ipgroup_refs": s.IPAddrGroupRefs}
	var found []schema.Kept
	for _, named := range s.Names() {
		if named.Among == "rate_limiters" {
			continue // Idle knows these
		}
		isIt := func(reference string) bool { return nameOf(reference) == named.Name }
		if !slices.ContainsFunc(references[named.Among], isIt) {
			found = append(found, schema.Kept{Field: named.Field, Why: named.Problem()})
		}
	}
	return found
}

// Idle finds the calls in scripts that raise an error, whatever else the set refers to.
func (s *VSDataScriptSet) Idle() []schema.Kept {
	var found []schema.Kept
	s.eachCall(func(field, function string, call *ast.FuncCallExpr) {
		if why := whyUnserved(function); why != "" {
			found = append(found, schema.Kept{Field: field, Why: fmt.Sprintf("line %d: %s raises an error, because "+
				"engines do not serve it: %s", call.Line(), function, why)})
		}
	})
	for _, named := range s.Names() {
		isIt := func(limiter RateLimiter) bool { return limiter.Name == named.Name }
		if named.Among == "rate_limiters" && !slices.ContainsFunc(s.RateLimiters, isIt) {
			found = append(found, schema.Kept{Field: named.Field, Why: named.Problem()})
		}
	}
	return found
}

// whyUnserved is empty for a function that engines serve.
func whyUnserved(function string) string {
	for _, unserved := range unservedFunctions {
		name, isIn := strings.CutPrefix(function, unserved.table+".")
		if isIn && (unserved.names == "" || slices.Contains(strings.Fields(unserved.names), name)) {
			return unserved.why
		}
	}
	return ""
}

// eachCall visits the calls of functions of avi that scripts name in full, such as avi.http.get_path().
func (s *VSDataScriptSet) eachCall(visit func(field, function string, call *ast.FuncCallExpr)) {
	for i, script := range s.Scripts {
		chunk, problem := parseScript(script.Script)
		if problem != "" {
			continue // it is from before scripts were checked
		}
		scope := &scriptScope{variadic: true, see: func(expression ast.Expr) {
			call, isCall := expression.(*ast.FuncCallExpr)
			if !isCall || call.Func == nil {
				return
			}
			if function := pathOf(call.Func); strings.HasPrefix(function, "avi.") {
				visit(fmt.Sprintf("datascript[%d].script", i), function, call)
			}
		}}
		scope.block(chunk, 0)
	}
}

// pathOf returns "avi.http.get_path" for the fields of a table; empty: it is another expression.
func pathOf(expression ast.Expr) string {
	switch expression := expression.(type) {
	case *ast.IdentExpr:
		return expression.Value
	case *ast.AttrGetExpr:
		key, isText := expression.Key.(*ast.StringExpr)
		if table := pathOf(expression.Object); isText && table != "" {
			return table + "." + key.Value
		}
	}
	return ""
}
