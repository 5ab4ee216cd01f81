package laws

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	_ "github.com/weir-lb/weir/controller/schema/kinds"
)

// kindsRoom may name every kind.
const kindsRoom = "controller/schema/kinds"

// mayNameKinds lists the kinds that other rooms of the controller and its clients know by name. Add a kind only if the
// room does more with its objects than storing them. Names, tables, rules and built-in objects of a kind belong into
// its file.
var mayNameKinds = map[string][]string{
	"controller/schema": {"tenant", "cloud"}, // who owns an object; a reference by name may name its cloud
	"controller/admit": {"user", "role", "tenant", "cloud", // who may do what, and where
		"sslkeyandcertificate", "systemconfiguration", // keys are made; the portal needs one
		"virtualservice", "vsvip", "networkprofile", // no two listen at one place
		"stringgroup"}, // no two children want the same
	"controller/rest": {"user", "role", "tenant", "cloud", "systemconfiguration", // a login's answer, and filters
		"virtualservice", "serviceenginegroup", "serviceengine", "sslprofile", // what can be done with them
		"alertconfig", "webhook", "actiongroupconfig", "alertemailconfig", "alertsyslogconfig",
		"pool",                                                          // what can be watched
		"httppolicyset", "vsdatascriptset", "l4policyset", "poolgroup"}, // whose pools are those of virtual services
	"controller/explain": {"virtualservice", "pool"}, // where a request goes
	"controller/live":    {"pool"},                   // what can be watched
	"controller/model": {"cloudconnectoruser", "cloud", "serviceengine", "serviceenginegroup",
		"virtualservice", "pool", "vsvip", "analyticsprofile",
		"applicationprofile", "networkprofile", "sslprofile", "pkiprofile",
		"applicationpersistenceprofile", "healthmonitor",
		"sslkeyandcertificate", "vrfcontext",
		"poolgroup", "prioritylabels", "errorpageprofile", "errorpagebody",
		"httppolicyset", "vsdatascriptset", "stringgroup", "ipaddrgroup", "networksecuritypolicy",
		"l4policyset", "ssopolicy", "authprofile", "jwtserverprofile"}, // of what virtual services are made
	"controller/plan": {"virtualservice", "pool", "poolgroup", "httppolicyset", "vsdatascriptset",
		"networksecuritypolicy", "serviceenginegroup", "ssopolicy",
		"applicationprofile",
		"analyticsprofile",
		"networkprofile", "sslprofile", "sslkeyandcertificate", "jwtserverprofile",
		"applicationpersistenceprofile", "healthmonitor", "vrfcontext",
		"l4policyset", "stringgroup", "ipaddrgroup"}, // of whose fields it reports, and what rules compare with
	// engines are started for groups
	"controller/cloud":      {"cloud", "serviceenginegroup", "serviceengine"},
	"controller/membership": {"cloud", "serviceenginegroup", "serviceengine"}, // engines join
	// references in pages, and what an engine is for a virtual service
	"controller/runtime": {"healthmonitor", "virtualservice", "pool", "serviceengine", "role", "serverautoscalepolicy"},
	// the field of an event that says who may see it
	"controller/events": {"tenant"},
	// what alerts are about, and whom they are sent to
	"controller/alert": {"alert", "alertconfig", "actiongroupconfig", "webhook", "alertemailconfig",
		"alertsyslogconfig", "systemconfiguration", "pkiprofile", "sslkeyandcertificate", "tenant",
		"virtualservice", "pool"},
	// what is scaled, by what
	"controller/autoscale": {"pool", "serverautoscalepolicy", "autoscalelaunchconfig", "webhook",
		"alert", "alertconfig"},
	// the administrator; of what there are reports
	"controller": {"alert", "alertconfig", "analyticsprofile", "user", "virtualservice", "pool",
		"serviceengine", "tenant"},
	"controller/revocation": {"sslkeyandcertificate", "pkiprofile", "tenant"},      // about what is fetched
	"controller/names":      {"pool", "tenant"},                                    // whose servers have names
	"controller/intake":     {"virtualservice", "pool", "serviceengine", "tenant"}, // names and fields of records
	"controller/series":     {"virtualservice", "pool", "serviceengine"},           // of what there are numbers
	"controller/metrics":    {"pool", "tenant"},                                    // labels of series
	"cmd/weir": {"user", "tenant", // flags of a login
		"role",  // of an engine for a virtual service
		"alert", // of TLS, which is none of them
		"alertconfig", "webhook", "actiongroupconfig", "alertemailconfig", "alertsyslogconfig",
		"serviceenginegroup", "virtualservice", "vsvip", "serviceengine", "pool"}, // actions, and the status of all
}

func TestKindsAreListedInTheirRoomAlone(t *testing.T) {
	named := map[string]map[string]string{} // by room, then kind: where
	for _, file := range sources(t, ".go") {
		room := path.Dir(file)
		if isTest(file) || room == kindsRoom || !below(room, "controller", "client", "cmd/weir") {
			continue
		}
		for kind, line := range kindsNamedIn(t, file) {
			if named[room] == nil {
				named[room] = map[string]string{}
			}
			named[room][kind] = file + ":" + strconv.Itoa(line)
		}
	}
	for room, kinds := range named {
		for kind, where := range kinds {
			if !slices.Contains(mayNameKinds[room], kind) {
				t.Errorf("%s names the kind %s: say it in %s/%s.go, or in a room that may name it", where,
					kind, kindsRoom, kind)
			}
		}
	}
	for room, kinds := range mayNameKinds {
		for _, kind := range kinds {
			if named[room][kind] == "" {
				t.Errorf("%s names %s no longer: take it out of mayNameKinds", room, kind)
			}
		}
	}
}

// apiPath matches a path of the API, or a pattern of one, that begins with a kind.
var apiPath = regexp.MustCompile(`^/?api/([a-z]+)(?:[/?]|$)`)

// kindsNamedIn finds the strings in a file that are the name of a kind, or an API path that begins with one.
func kindsNamedIn(t *testing.T, file string) map[string]int {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, filepath.Join(root, file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]int{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		if match := apiPath.FindStringSubmatch(text); match != nil {
			text = match[1]
		}
		if _, is := schema.Lookup(text); is {
			named[text] = files.Position(literal.Pos()).Line
		}
		return true
	})
	return named
}

func TestAFileOfAKindIsNamedForIt(t *testing.T) {
	files := sources(t, ".go")
	for _, kind := range schema.Kinds() {
		file := kindsRoom + "/" + kind.Name + ".go"
		if !slices.Contains(files, file) || !strings.Contains(string(read(t, file)),
			"schema.Register["+kind.Title+"](") {
			t.Errorf("%s does not register the kind %s", file, kind.Name)
		}
	}
}
