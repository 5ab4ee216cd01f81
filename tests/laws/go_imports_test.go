package laws

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/weir-lb/weir/"

// doesNoIO are the packages that turn values into values: no files, no network, no clock, no logger.
var doesNoIO = []string{"controller/health", "controller/shadow", "controller/schema", "controller/model",
	"controller/plan",
	"controller/place", "controller/tickets",
	"controller/reconcile", "controller/sorted", "controller/histogram", "controller/series", "controller/syslog",
	"controller/unusual/habit", "agent/plan"}

// worldly is what such a package may not import. "time" stays out of the list because durations and formats are values;
// the clock itself is caught by TestPurePackagesReadNoClock.
var worldly = []string{"net", "net/http", "os", "os/exec", "io/fs", "syscall", "log", "log/slog",
	"math/rand", "math/rand/v2",
	"google.golang.org/grpc", "go.etcd.io/", "golang.org/x/sys/"}

// onlyImporter names for a library the packages that may know it, each by its exact path.
var onlyImporter = map[string][]string{
	"go.etcd.io/":                {"controller/store"},
	"google.golang.org/grpc":     {"controller/link", "agent/link", "agent/monitor"},
	"github.com/osrg/gobgp/":     {"agent/route", "agent/route/bfd"},
	"github.com/spf13/cobra":     {"cmd/weir"},
	"github.com/BurntSushi/toml": {"bench/workloads", "controller/outward", "lab/topology"},
	"github.com/vishvananda/": {"lab/network", "agent/route", "agent/fastpath",
		"agent/returnpath", "tests/alone"},
	"github.com/cilium/ebpf":      {"agent/fastpath", "agent/fastpath/detour", "fastpath", "fastpath/detour"},
	"golang.org/x/net/icmp":       {"agent/monitor"},
	"github.com/miekg/dns":        {"agent/monitor"},
	"github.com/go-ldap/":         {"agent/monitor"},
	"github.com/Azure/go-ntlmssp": {"agent/monitor"},
	"github.com/prometheus/prometheus/": {"controller/metrics", "controller/metrics/retention",
		"controller/metrics/madeup",
		"tests/interop"},
	"github.com/VictoriaMetrics": {"logs/store"},
	"github.com/oschwald/":       {"controller/countries"},
	"github.com/maxmind/":        {"controller/countries"}, // only its tests write databases
	"golang.org/x/crypto/": {"controller/pki", "controller/admit", "controller/cloud/linux",
		"controller/revocation"},
}

// mayImport says which of our own packages each package may know; what is not listed may not be imported, and a package
// without a row may not be.
var mayImport = map[string][]string{
	"controller/schema/column": {},
	"controller/schema":        {"controller/schema/column"},
	"controller/schema/kinds":  {"controller/schema", "controller/schema/column"},
	"controller/sorted":        {},
	"controller/model":         {"controller/schema", "controller/schema/kinds", "controller/sorted"},
	"controller/countries":     {"controller/model"},
	"controller/place":         {"controller/schema", "controller/sorted", "controller/model"},
	"controller/recent":        {},
	"controller/series":        {},
	"controller/histogram":     {"api"},
	"controller/health":        {"api", "controller/model", "controller/place"},
	"controller/health/score":  {"controller/health", "controller/schema", "controller/schema/kinds"},
	"controller/grading": {"api", "controller/fleet", "controller/health", "controller/health/score",
		"controller/histogram", "controller/model", "controller/schema", "controller/schema/kinds",
		"controller/series", "controller/turns"},
	"controller/unusual/habit": {},
	"controller/unusual": {"controller/events", "controller/fleet", "controller/health/score", "controller/model",
		"controller/schema/kinds", "controller/series", "controller/turns", "controller/unusual/habit"},
	"controller/syslog":       {},
	"controller/alert/notify": {"controller/syslog"},
	"controller/alert": {"backoff", "controller/alert/notify", "controller/events", "controller/schema",
		"controller/schema/kinds", "controller/series", "controller/store", "logs/query", "logs/text", "logs/wire"},
	"controller/events": {"controller/recent", "controller/health", "controller/model"},
	"controller/port":   {"controller/events"},
	"controller/names":  {"controller/events", "controller/schema", "controller/schema/kinds", "controller/store"},
	"controller/revocation": {"backoff", "controller/events", "controller/model", "controller/schema",
		"controller/schema/kinds", "controller/store"},
	"controller/tickets": {"controller/sorted", "controller/model"},
	"controller/shadow":  {"api"},
	"controller/plan": {"api", "controller/schema", "controller/schema/kinds", "controller/shadow",
		"controller/sorted", "controller/model", "controller/place", "controller/tickets"},
	"controller/reconcile": {"api", "controller/sorted", "controller/model", "controller/place", "controller/plan",
		"controller/tickets"},
	"controller/store":       {"controller/schema"},
	"controller/pki":         {"api", "controller/schema", "controller/schema/kinds", "durable"},
	"controller/pki/pkitest": {"controller/pki"},
	"controller/cloud": {"controller/schema", "controller/store", "controller/model", "controller/reconcile",
		"controller/place",
		"controller/events", "controller/admit"},
	"controller/cloud/process": {"controller/cloud"},
	"controller/cloud/linux": {"controller/cloud", "controller/model", "controller/schema",
		"controller/schema/kinds"},
	"controller/fleet": {"api", "controller/sorted", "controller/model", "controller/place", "controller/plan",
		"controller/reconcile", "controller/health", "controller/events", "controller/histogram"},
	"controller/fleet/fleettest": {"api", "controller/schema/kinds", "controller/model", "controller/place",
		"controller/reconcile", "controller/events", "controller/fleet"},
	"controller/runtime": {"api", "controller/schema", "controller/schema/kinds", "controller/model",
		"controller/place",
		"controller/health", "controller/fleet", "controller/histogram", "controller/slowness", "controller/autoscale"},
	"controller/autoscale": {"controller/alert/notify", "controller/events", "controller/fleet", "controller/health",
		"controller/schema", "controller/schema/kinds", "controller/store", "controller/turns"},
	"controller/slowness": {"controller/events", "controller/fleet", "controller/health", "controller/model",
		"controller/turns"},
	"controller/attack": {"controller/events", "controller/fleet", "controller/model", "controller/schema/kinds"},
	"controller/shares": {"api"},
	"controller/explain": {"api", "controller/schema", "controller/schema/kinds", "controller/model",
		"controller/fleet", "controller/sorted", "logs/story"},
	"controller/live": {"api", "controller/model", "controller/health", "controller/health/score", "controller/fleet",
		"controller/series", "controller/histogram",
		"controller/runtime", "controller/slowness"},
	"controller/turns":             {},
	"controller/metrics/retention": {},
	"controller/metrics/madeup":    {"controller/metrics/retention"}, // for bench
	"controller/metrics": {"controller/metrics/retention", "api", "backoff", "durable", "controller/model",
		"controller/fleet", "controller/events",
		"controller/histogram", "controller/health/score", "controller/schema", "controller/schema/kinds",
		"controller/series", "controller/turns", "host"},
	"controller/membership": {"controller/schema", "controller/schema/kinds", "controller/store", "controller/admit"},
	"controller/intake":     {"api", "controller/schema/kinds", "controller/store", "logs", "logs/query", "logs/wire"},
	"controller/link": {"api", "controller/plan", "controller/pki", "controller/membership", "controller/port",
		"controller/events", "controller/intake"},
	"controller/admit": {"controller/schema", "controller/schema/kinds", "controller/store", "controller/pki",
		"controller/recent", "controller/port"},
	"controller/rest": {"controller/revocation", "controller/schema", "controller/store", "controller/admit",
		"controller/place",
		"controller/events",
		"controller/port", "controller/series", "controller/health/score", "logs", "logs/query", "logs/story",
		"logs/text", "web"},
	"controller": {"api", "controller/attack", "controller/countries", "controller/names", "controller/revocation",
		"controller/slowness",
		"controller/unusual", "controller/alert", "controller/alert/notify", "controller/autoscale",
		"controller/health",
		"controller/series",
		"controller/grading", "controller/health/score", "controller/sorted", "controller/schema",
		"controller/schema/kinds", "controller/store", "controller/admit",
		"controller/rest",
		"controller/model",
		"controller/place", "controller/plan", "controller/tickets", "controller/reconcile", "controller/events",
		"controller/fleet",
		"controller/explain", "controller/shares", "controller/live", "controller/membership", "controller/metrics",
		"controller/runtime",
		"controller/link", "controller/outward", "controller/alert/notify",
		"controller/intake", "controller/pki",
		"controller/cloud", "controller/cloud/linux", "durable", "host", "logs", "logs/query", "logs/wire", "web"},
	"web": {},

	"logs/text":    {},
	"logs/query":   {"logs/text"},
	"logs/story":   {"logs/query"},
	"logs/wire":    {},
	"logs/journal": {"durable", "logs/wire"},
	"logs":         {"backoff", "logs/query", "logs/wire"},
	"logs/store":   {"logs", "logs/journal", "logs/query", "logs/text", "logs/wire"},

	"backoff":               {},
	"host":                  {},
	"agent/plan":            {"api"},
	"agent/state":           {"api", "durable"},
	"agent/spool":           {"api", "durable"},
	"agent/link":            {"api", "backoff", "agent/plan", "agent/state"},
	"agent/dataplane":       {"api", "backoff", "agent/plan"},
	"agent/monitor":         {"agent/plan"},
	"agent/route":           {"agent/plan", "agent/route/bfd"},
	"agent/route/bfd":       {},
	"agent/returnpath":      {"agent/plan"},
	"fastpath":              {},
	"fastpath/detour":       {},
	"agent/fastpath":        {"fastpath", "fastpath/detour"},
	"agent/fastpath/detour": {"agent/fastpath", "agent/plan", "fastpath/detour"},
	"agent": {"api", "agent/state", "agent/spool", "agent/link", "agent/plan", "agent/dataplane",
		"agent/fastpath/detour", "host", "agent/monitor", "agent/returnpath",
		"agent/route"},

	"durable":      {},
	"client":       {},
	"client/top":   {"client", "logs/text"},
	"lab/draw":     {},
	"lab/clients":  {"lab", "lab/draw", "lab/topology"},
	"lab/ports":    {},
	"lab/topology": {},
	"lab/network":  {"lab/topology"},
	"lab/router":   {"lab/topology"},
	"lab/teller":   {},
	"lab/engines":  {"controller/cloud", "lab/network", "lab/topology"},
	"lab": {"client", "lab/engines", "lab/network", "lab/ports", "lab/router", "lab/teller",
		"lab/topology"},
	"demo": {"client", "lab", "lab/clients", "lab/draw", "lab/network", "lab/ports", "lab/teller",
		"lab/topology"},
	"bench/workloads": {},
	"bench/meter":     {},
	"bench/peers":     {"bench/meter", "lab"},
	"bench/origin":    {"bench/peers", "lab", "lab/ports"},
	"bench/ours":      {"bench/meter", "bench/report", "client", "lab"},
	"bench/golden":    {},
	"bench/report":    {"lab/draw", "bench/workloads"},
	"bench/verdict":   {"lab/draw"},
	"bench/findings":  {"bench/report", "bench/verdict", "lab/draw"},
	"bench/rules": {"bench/findings", "bench/ours", "bench/peers", "bench/verdict", "client", "lab", "lab/clients",
		"lab/network", "lab/teller", "lab/topology"},
	"bench/elastic": {"bench/report", "bench/verdict", "client", "lab", "lab/clients", "lab/draw", "lab/network",
		"lab/teller", "lab/topology"},
	"bench/abuse": {"bench/abuse/h2", "bench/meter", "bench/origin", "bench/ours", "bench/peers", "bench/report",
		"bench/verdict", "client", "lab", "lab/clients", "lab/ports"},
	"bench/abuse/h2": {"bench/origin"},
	"bench/control": {"api", "agent/dataplane", "agent/link", "agent/plan", "agent/state", "bench/meter",
		"bench/origin", "bench/report",
		"bench/verdict", "client", "lab", "lab/clients", "lab/draw", "lab/ports"},
	"controller/outward": {"backoff", "controller/syslog", "logs/query", "logs/text", "logs/wire"},
	"bench/telemetry": {"api", "agent/link", "agent/plan", "agent/state", "bench/findings", "bench/meter", "bench/ours",
		"bench/verdict", "controller/metrics/madeup", "controller/metrics/retention", "client", "lab",
		"lab/clients", "lab/draw",
		"lab/network", "lab/ports",
		"lab/topology", "logs",
		"logs/query", "logs/wire"},
	"bench": {"bench/meter", "bench/origin", "bench/ours", "bench/peers", "bench/report",
		"bench/workloads", "client", "lab", "lab/ports"},
	"cmd/weir": {"api", "controller", "controller/schema", "controller/schema/column", "controller/cloud",
		"controller/cloud/process", "agent", "bench", "bench/abuse", "bench/control", "bench/elastic",
		"bench/rules", "bench/telemetry",
		"bench/verdict", "client", "client/top", "logs/store", "logs/query", "logs/text",
		"demo", "lab", "lab/engines", "lab/network", "lab/teller", "lab/topology"},
}

type goImport struct{ file, pkg, imports string }

func goImports(t *testing.T) []goImport {
	t.Helper()
	var all []goImport
	for _, file := range sources(t, ".go") {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, goImport{file, path.Dir(file), name})
		}
	}
	return all
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

// below tells whether pkg is one of the rooms or inside one.
func below(pkg string, rooms ...string) bool {
	for _, room := range rooms {
		if pkg == room || strings.HasPrefix(pkg, strings.TrimSuffix(room, "/")+"/") {
			return true
		}
	}
	return false
}

func TestPurePackagesDoNoIO(t *testing.T) {
	for _, i := range goImports(t) {
		if !isTest(i.file) && below(i.pkg, doesNoIO...) {
			for _, lib := range worldly {
				if i.imports == lib || strings.HasSuffix(lib, "/") && strings.HasPrefix(i.imports, lib) {
					t.Errorf("%s imports %s: %s does no I/O", i.file, i.imports, i.pkg)
				}
			}
		}
	}
}

func TestPurePackagesReadNoClock(t *testing.T) {
	for _, file := range sources(t, ".go") {
		if isTest(file) || !below(path.Dir(file), doesNoIO...) {
			continue
		}
		for _, clock := range []string{"time.Now(", "time.Since(", "time.After(", "time.Sleep("} {
			if strings.Contains(string(read(t, file)), clock) {
				t.Errorf("%s calls %s…): a pure package is given the time", file, clock)
			}
		}
	}
}

func TestOnlyTheOwnerKnowsItsLibrary(t *testing.T) {
	for _, i := range goImports(t) {
		for lib, owners := range onlyImporter {
			known := i.imports == lib || strings.HasPrefix(i.imports, strings.TrimSuffix(lib, "/")+"/")
			if known && !isTest(i.file) && !slices.Contains(owners, i.pkg) && !below(i.pkg, "api") {
				t.Errorf("%s imports %s, which only %v may know", i.file, i.imports, owners)
			}
		}
	}
}

// ofNodes are the rooms of the controller that each of its nodes has for itself; ofTheLeader those of which one node
// makes use for all. ARCHITECTURE.md says what becomes of their state.
var (
	ofNodes = []string{"controller/store", "controller/admit", "controller/membership", "controller/rest",
		"controller/link",
		"controller/port", "controller/pki"}
	ofTheLeader = []string{"controller/explain", "controller/shares", "controller/fleet", "controller/live",
		"controller/grading", "controller/alert", "controller/autoscale", "controller/unusual",
		"controller/metrics",
		"controller/runtime",
		"controller/reconcile",
		"controller/cloud"}
)

func TestRoomsOfANodeKnowNoneOfTheLeader(t *testing.T) {
	for _, room := range ofNodes {
		for _, known := range mayImport[room] {
			if below(known, ofTheLeader...) {
				t.Errorf("%s may import %s: a node reaches the leader by an interface of its own", room, known)
			}
		}
	}
}

// writers may put and delete records in a transaction of the store: admit writes objects; the root writes what was
// decided about them (assignments, rings of session tickets), and what was fetched about them, which are no objects.
var writers = []string{"controller/admit/admit.go", "controller/admit/account.go", "controller/admit/system.go",
	"controller/assignments.go", "controller/rings.go", "controller/fetched.go"}

func TestObjectsAreWrittenThroughAdmission(t *testing.T) {
	for _, file := range sources(t, ".go") {
		if isTest(file) || slices.Contains(writers, file) || below(path.Dir(file), "controller/store") {
			continue
		}
		switch named, writes := transactionIn(t, file); {
		case writes:
			t.Errorf("%s puts or deletes records in a transaction of the store", file)
		case named && path.Dir(file) != "controller/admit":
			t.Errorf("%s works in a transaction of the store, past controller/admit", file)
		}
	}
}

// transactionIn tells whether a file names store.Tx, and whether it calls Put or Delete of one.
func transactionIn(t *testing.T, file string) (named, writes bool) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	store := ""
	for _, spec := range parsed.Imports {
		if spec.Path.Value == strconv.Quote(module+"controller/store") {
			store = "store"
			if spec.Name != nil {
				store = spec.Name.Name
			}
		}
	}
	if store == "" {
		return false, false
	}
	held := map[string]bool{} // parameters and fields of the type
	ast.Inspect(parsed, func(node ast.Node) bool {
		if field, ok := node.(*ast.Field); ok && types.ExprString(field.Type) == "*"+store+".Tx" {
			for _, name := range field.Names {
				held[name.Name] = true
			}
		}
		if typed, ok := node.(*ast.SelectorExpr); ok && types.ExprString(typed) == store+".Tx" {
			named = true
		}
		return true
	})
	ast.Inspect(parsed, func(node ast.Node) bool {
		if call, ok := node.(*ast.SelectorExpr); ok && (call.Sel.Name == "Put" || call.Sel.Name == "Delete") {
			of := types.ExprString(call.X)
			writes = writes || held[of[strings.LastIndexByte(of, '.')+1:]]
		}
		return true
	})
	return named, writes
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) {
	for _, i := range goImports(t) {
		ours, isOurs := strings.CutPrefix(i.imports, module)
		if !isOurs || isTest(i.file) || below(i.pkg, "api", "tests") {
			continue
		}
		allowed, listed := mayImport[i.pkg]
		if !listed {
			t.Errorf("%s: package %s has no row in mayImport", i.file, i.pkg)
		} else if !slices.Contains(allowed, ours) && !(slices.Contains(allowed, "api") && below(ours, "api")) {
			t.Errorf("%s imports %s; %s may know %v", i.file, ours, i.pkg, allowed)
		}
	}
}
