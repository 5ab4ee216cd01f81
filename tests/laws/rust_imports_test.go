package laws

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// crateMayKnow says which of our crates each crate may depend on (tests aside).
var crateMayKnow = map[string][]string{
	"api":                 {},
	"dataplane/wire":      {},
	"dataplane/tls":       {"weir-wire"},
	"dataplane/jwt":       {"weir-tls", "weir-rules"},
	"dataplane/balance":   {},
	"dataplane/telemetry": {},
	"dataplane/policy":    {"weir-wire"},
	"dataplane/rate":      {},
	"dataplane/rules":     {"weir-wire", "weir-rate"},
	"dataplane/script":    {"weir-wire", "weir-rules", "weir-rate"},
	"dataplane/coding":    {"weir-wire", "weir-rules"},
	"dataplane/cache":     {"weir-wire", "weir-policy", "weir-coding"},
	"dataplane/snapshot": {"weir-api", "weir-wire", "weir-tls", "weir-jwt", "weir-balance", "weir-policy",
		"weir-rules", "weir-rate", "weir-coding", "weir-cache", "weir-script",
		"weir-telemetry"},
	"dataplane/proxy": {"weir-wire", "weir-tls", "weir-jwt", "weir-balance", "weir-policy", "weir-rules",
		"weir-rate", "weir-coding", "weir-cache", "weir-script", "weir-snapshot",
		"weir-telemetry"},
	"dataplane/reactor": {"weir-proxy"},
	"dataplane/sim": {"weir-api", "weir-wire", "weir-tls", "weir-balance", "weir-snapshot", "weir-proxy",
		"weir-telemetry"},
	"dataplane/control": {"weir-api", "weir-snapshot", "weir-telemetry", "weir-reactor", "weir-proxy", "weir-rate"},
	"dataplane/weir-dataplane": {"weir-api", "weir-control", "weir-proxy", "weir-reactor", "weir-snapshot",
		"weir-telemetry", "weir-tls"},
	"bench/icount": {"weir-api", "weir-wire", "weir-tls", "weir-snapshot", "weir-proxy", "weir-reactor"},
	"lab/load":     {"weir-wire", "weir-tls", "weir-proxy", "weir-reactor"},
}

// pureCrates compute; the rest of the world is handed to them.
var pureCrates = []string{"dataplane/wire", "dataplane/jwt", "dataplane/balance", "dataplane/policy",
	"dataplane/rules", "dataplane/rate", "dataplane/coding", "dataplane/cache",
	"dataplane/telemetry",
	"dataplane/snapshot", "dataplane/proxy"}

var (
	ourDependency = regexp.MustCompile(`(?m)^(weir-[a-z]+)\b`)
	impure        = regexp.MustCompile(
		`std::(fs|thread|process|os|env)\b|\bstd::\{[^;]*\b(fs|thread|process|os|env)\b|std::net::(Tcp|Udp)|\b(TcpStream|TcpListener|UdpSocket)\b|time::(Instant|SystemTime)|\b(Instant|SystemTime)::now\b|\blibc::`)
	unsafeCode = regexp.MustCompile(`\bunsafe\s*(\{|fn|impl|extern)`)
)

func TestCratesKnowOnlyWhatTheyMay(t *testing.T) {
	for _, file := range sources(t, "Cargo.toml") {
		crate := path.Dir(file)
		allowed, listed := crateMayKnow[crate]
		if !listed {
			if crate != "." && crate != "dataplane/fuzz" {
				t.Errorf("%s has no row in crateMayKnow", file)
			}
			continue
		}
		for _, match := range ourDependency.FindAllStringSubmatch(dependencies(string(read(t, file))), -1) {
			if !slices.Contains(allowed, match[1]) {
				t.Errorf("%s depends on %s; it may know %v", file, match[1], allowed)
			}
		}
	}
}

// dependencies cuts the [dependencies] table out of a manifest.
func dependencies(manifest string) string {
	_, after, _ := strings.Cut(manifest, "\n[dependencies]\n")
	table, _, _ := strings.Cut(after, "\n[")
	return table
}

func TestPureCratesTouchNothingOutside(t *testing.T) {
	for _, file := range rustCode(t, pureCrates...) {
		if match := impure.FindString(code(string(read(t, file)))); match != "" {
			t.Errorf("%s uses %s: a pure crate is handed the world", file, match)
		}
	}
}

func TestUnsafeLivesInTwoRooms(t *testing.T) {
	for _, file := range sources(t, ".rs") {
		if below(file, "dataplane/reactor", "dataplane/tls") {
			continue
		}
		if match := unsafeCode.FindString(code(string(read(t, file)))); match != "" {
			t.Errorf("%s holds `%s`: unsafe lives in reactor/ and tls/ only", file, match)
		}
	}
}

// protocolFree crates decide about heads of any protocol: what HTTP/1 says of a connection or of a body's framing is
// the business of its speaker in wire.
var protocolFree = []string{"dataplane/policy", "dataplane/balance"}

var http1Words = regexp.MustCompile(
	`(?i)http/?1|chunk|keep[_-]alive|transfer_?-?encoding|\bconnection(:|"|\\r)|Name::Connection|HeadWriter|\bHop\b`)

func TestPolicyAndBalanceKnowNoProtocol(t *testing.T) {
	for _, file := range rustCode(t, protocolFree...) {
		if match := http1Words.FindString(code(string(read(t, file)))); match != "" {
			t.Errorf("%s says %q: only wire::http1 and who speaks it know HTTP/1", file, match)
		}
	}
}

func rustCode(t *testing.T, crates ...string) []string {
	var files []string
	for _, file := range sources(t, ".rs") {
		for _, crate := range crates {
			if strings.HasPrefix(file, crate+"/src/") {
				files = append(files, file)
			}
		}
	}
	return files
}

// code drops comments and the unit tests at the end of a file.
func code(text string) string {
	text, _, _ = strings.Cut(text, "\n#[cfg(test)]\nmod ")
	return regexp.MustCompile(`(?m)//.*$`).ReplaceAllString(text, "")
}
