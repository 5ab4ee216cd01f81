package plan

import (
	"regexp"
	"testing"

	"github.com/weir-lb/weir/controller/model"
)

// hostOfEngines matches the hosts that engines take: is_host in dataplane/policy/src/host.rs. For another one, they
// refuse the whole Plan.
var hostOfEngines = regexp.MustCompile(`^[A-Za-z0-9._:\[\]-]*$`)

func TestHostsOfServersAreWrittenAsRequestsHaveThem(t *testing.T) {
	for given, want := range map[string]string{
		"":                    "",
		"shop.test":           "shop.test",
		"10.0.0.1":            "10.0.0.1",
		"2001:DB8:0::1":       "[2001:db8::1]",
		"[2001:db8::1]":       "[2001:db8::1]",
		"::ffff:10.0.0.1":     "[::ffff:10.0.0.1]",
		"fe80::1%eth0":        "",
		"[fe80::1%eth0]":      "",
		"[[2001:db8::1]]":     "",
		"[2001:db8::1":        "",
		"2001:db8::1]":        "",
		"[shop.test]":         "",
		"shop.test:80":        "",
		"shop test":           "",
		"shop.test\r\nX-A: b": "",
		"schön.test":          "",
		"shop%2etest":         "",
	} {
		got := asHost(given)
		if got != want || !hostOfEngines.MatchString(got) {
			t.Errorf("%q is written %q, not %q", given, got, want)
		}
	}
}

func TestHostOfAVirtualServiceMayHaveAPort(t *testing.T) {
	for given, want := range map[string]string{
		"":                     "",
		"shop.test":            "shop.test",
		"shop.test:8080":       "shop.test:8080",
		"shop.test:0080":       "shop.test:80",
		"2001:db8::1":          "[2001:db8::1]",
		"[2001:db8::1]":        "[2001:db8::1]",
		"[2001:DB8::1]:80":     "[2001:db8::1]:80",
		"[[2001:db8::1]]":      "",
		"[[2001:db8::1]]:80":   "",
		"1:2:3:4:5:6:7:8:80":   "",
		"fe80::1%eth0":         "",
		"[fe80::1%eth0]:80":    "",
		"shop.test:":           "",
		"shop.test:0":          "",
		"shop.test:65536":      "",
		"shop.test:http":       "",
		":80":                  "",
		"shop.test/a":          "",
		"https://shop.test:80": "",
	} {
		vs, found := &model.VirtualService{}, report{}
		vs.HostNameTranslation = given
		got := hostToServers(vs, &found)
		if got != want || !hostOfEngines.MatchString(got) {
			t.Errorf("%q is written %q, not %q", given, got, want)
		}
		if isTold := len(found.findings) == 1; isTold != (want == "" && given != "") {
			t.Errorf("%q: %v", given, found.findings)
		}
	}
}
