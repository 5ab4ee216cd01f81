package shadow

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// request is what rules are compared with.
type request struct {
	method, path, version string
	query, host           *string
	fields                [][2]string // "x"
	cookies               [][2]string
	client, source        netip.Addr
	port                  uint32
	tls                   bool
}

// The interpreter says which rules a request comes to, in the plainest way: rule by rule, text by text.

func holds(match *dataplanev1.HttpMatch, r *request) bool {
	one := func(text *string) []string {
		if text == nil {
			return nil
		}
		return []string{*text}
	}
	named := func(all [][2]string, name string) (values []string) {
		for _, pair := range all {
			if pair[0] == name {
				values = append(values, pair[1])
			}
		}
		return values
	}
	for _, field := range match.GetFields() {
		if !textHolds(field.GetValue(), named(r.fields, field.GetName())) {
			return false
		}
	}
	host := one(r.host)
	if match.GetHost() != nil {
		host = hostAsCompared(match.GetHost(), host)
	}
	tls := match.GetScheme() == nil || match.GetScheme().GetTls() == r.tls
	cookie := match.GetCookie()
	return tls && textHolds(match.GetPath(), []string{r.path}) && textHolds(match.GetQuery(), one(r.query)) &&
		textHolds(match.GetHost(), host) &&
		(cookie == nil || textHolds(cookie.GetValue(), named(r.cookies, cookie.GetName()))) &&
		nameHolds(match.GetMethod(), r.method) && nameHolds(match.GetVersion(), r.version) &&
		numberHolds(match.GetListenerPort(), r.port) && addressHolds(match.GetClient(), r.client) &&
		addressHolds(match.GetPlace(), r.client) && addressHolds(match.GetSource(), r.source)
}

// hostAsCompared leaves the port out, unless the values of a rule have one.
func hostAsCompared(match *dataplanev1.TextMatch, host []string) []string {
	if len(host) == 0 || slices.ContainsFunc(match.GetValues(), func(value string) bool {
		return strings.Contains(value, ":")
	}) {
		return host
	}
	name, _, _ := strings.Cut(host[0], ":")
	return []string{name}
}

func textHolds(match *dataplanev1.TextMatch, texts []string) bool {
	if match == nil {
		return true
	}
	values := slices.Clone(match.GetValues())
	for _, uuid := range match.GetStringGroupUuids() {
		for _, pair := range groups.texts[uuid] {
			values = append(values, pair.GetKey())
		}
	}
	found := false
	for _, text := range texts {
		if match.GetDecoded() {
			text, _ = url.PathUnescape(text)
		}
		found = found || match.GetCriterion() == exists
		for _, value := range values {
			found = found || textFits(match, text, value)
		}
	}
	return found != match.GetNegated()
}

func textFits(match *dataplanev1.TextMatch, text, value string) bool {
	if match.GetCriterion() == regex {
		if !match.GetCaseSensitive() {
			value = "(?i)" + value
		}
		return regexp.MustCompile(value).MatchString(text)
	}
	if !match.GetCaseSensitive() {
		text, value = strings.ToLower(text), strings.ToLower(value)
	}
	switch match.GetCriterion() {
	case equals:
		return text == value
	case begins:
		return strings.HasPrefix(text, value)
	case ends:
		return strings.HasSuffix(text, value)
	}
	return strings.Contains(text, value)
}

func nameHolds(match *dataplanev1.NameMatch, name string) bool {
	return match == nil || slices.Contains(match.GetNames(), name) != match.GetNegated()
}

func numberHolds(match *dataplanev1.NumberMatch, number uint32) bool {
	return match == nil || slices.ContainsFunc(match.GetRanges(), func(one *dataplanev1.NumberRange) bool {
		return one.GetFirst() <= number && number <= one.GetLast()
	}) != match.GetNegated()
}

func addressHolds(match *dataplanev1.AddressMatch, address netip.Addr) bool {
	if match == nil {
		return true
	}
	subnets := slices.Clone(match.GetSubnets())
	if slices.Contains(match.GetAddressGroupUuids(), "ten") {
		subnets = append(subnets, "10.0.0.0/8")
	}
	return slices.ContainsFunc(subnets, func(subnet string) bool {
		return netip.MustParsePrefix(subnet).Contains(address)
	}) != match.GetNegated()
}

// play tells the rules of sets that a request comes to and matches, as "set field", and what they do for it.
func play(sets []*dataplanev1.HttpPolicySet, r *request) map[string]bool {
	did := map[string]bool{}
	note := func(set int, list string, rule *dataplanev1.HttpRule, what string) {
		did[fmt.Sprintf("%d %s.rules[%d] %s", set, list, rule.GetPosition(), what)] = true
	}
	refused := func() bool {
		for at, set := range sets {
			for _, rule := range set.GetSecurityRules() {
				if !holds(rule.GetRule().GetMatch(), r) {
					continue
				}
				note(at, "http_security_policy", rule.GetRule(), "matches")
				switch rule.GetAction().(type) {
				case *dataplanev1.HttpSecurityRule_Allow:
					return false
				case *dataplanev1.HttpSecurityRule_Close:
					return true
				}
			}
		}
		return false
	}
	if refused() {
		return did
	}
	hasPool, hasURL := false, false
	for at, set := range sets {
		for _, rule := range set.GetRequestRules() {
			if !holds(rule.GetRule().GetMatch(), r) {
				continue
			}
			note(at, "http_request_policy", rule.GetRule(), "matches")
			if rule.GetRewrite() != nil && !hasURL && canMake(rule.GetRewrite().GetPath(), r) {
				hasURL = true
				note(at, "http_request_policy", rule.GetRule(), "rewrites")
			}
			switch action := rule.GetAction().(type) {
			case *dataplanev1.HttpRequestRule_Response:
				return did
			case *dataplanev1.HttpRequestRule_Redirect:
				if canMake(action.Redirect.GetPath(), r) {
					return did
				}
			case *dataplanev1.HttpRequestRule_Pool:
				if !hasPool {
					note(at, "http_request_policy", rule.GetRule(), "chooses")
				}
				hasPool = true
			}
		}
	}
	for at, set := range sets {
		for _, rule := range set.GetResponseRules() {
			if holds(rule.GetRule().GetMatch(), r) {
				note(at, "http_response_policy", rule.GetRule(), "matches")
			}
		}
	}
	return did
}

// canMake tells whether a request has the parts of a path that tokens take: the fourth.
func canMake(tokens []*dataplanev1.UriToken, r *request) bool {
	return len(tokens) == 0 || tokens[0].GetKind() == dataplanev1.UriTokenKind_URI_TOKEN_KIND_TEXT ||
		strings.Count(r.path, "/") > 3
}

// dice chooses rules and requests of few texts, so that they meet.
type dice struct{ *rand.Rand }

func (d dice) of(some ...string) string { return some[d.IntN(len(some))] }

var paths = []string{"/", "/a", "/a/", "/a/b", "/a/b/c/d", "/A/b", "/b", "/ab", "/a.png", "/%61/b", "/b/a.PNG"}
var hosts = []string{"a.test", "b.test", "A.test", "x.a.test", "a.test:80", "b.test:80", "other"}

func (d dice) rule() string {
	var parts []string
	isShort := d.IntN(2) == 0
	add := func(likely int, what string, criteria string, values []string) {
		if d.IntN(10) >= likely || isShort && len(parts) > 0 {
			return
		}
		how := string(criteria[d.IntN(len(criteria))])
		part := d.of("", "", "!") + d.of("", "", "case:", "raw:") + what + how
		if how != "?" {
			part += d.of(values...)
			if d.IntN(3) == 0 {
				part += "|" + d.of(values...)
			}
		}
		parts = append(parts, part)
	}
	add(7, "path", "=^$*", paths)
	add(1, "path", "~", []string{"^/a", ".*", "b$", "/"})
	add(3, "host", "=^$*?", hosts)
	add(2, "query", "=^$*?", []string{"a", "b", "a=1", "=", "b=2"})
	add(2, "hdr:x", "=^$*?", []string{"1", "2", "12", "a"})
	add(1, "hdr:x", "=^?", []string{"1", "2", "12", "a"})
	add(1, "hdr:y", "=?", []string{"1"})
	add(2, "cookie:c", "=^?", []string{"1", "12"})
	add(2, "client", "=", []string{"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/32", "2001:db8::/32", "0.0.0.0/0"})
	add(1, "source", "=", []string{"10.0.0.0/8", "10.1.0.0/16"})
	add(1, "place", "=", []string{"10.0.0.0/8", "10.1.2.0/24", "192.0.2.0/24"})
	add(1, "method", "=", []string{"GET", "POST"})
	add(1, "version", "=", []string{"HTTP/1.0", "HTTP/1.1", "HTTP/2"})
	add(2, "port", "=", []string{"80", "443", "80-443", "8080"})
	if d.IntN(6) == 0 {
		parts = append(parts, d.of("tls=0", "tls=1"))
	}
	if d.IntN(12) == 0 {
		parts = append(parts, d.of("", "!")+d.of("group:path^animals", "group:client=ten", "group:path=empty"))
	}
	line := strings.Join(parts, " ")
	switch d.IntN(7) {
	case 0, 1:
		return "security " + d.of("allow", "close", "close", "limit") + " " + line
	case 3:
		return "response edit " + line
	}
	return "request " + d.of("respond", "redirect", "redirect-part", "pool", "pool", "rewrite",
		"rewrite-part", "edit") +
		" " + line
}

func (d dice) request() *request {
	optional := func(some ...string) *string {
		if d.IntN(4) == 0 {
			return nil
		}
		one := d.of(some...)
		return &one
	}
	pairs := func(name string, values ...string) (all [][2]string) {
		for range d.IntN(3) {
			all = append(all, [2]string{name, d.of(values...)})
		}
		return all
	}
	address := func() netip.Addr {
		return netip.MustParseAddr(d.of("10.1.2.3", "10.1.9.9", "10.200.0.1", "192.0.2.1", "2001:db8::1", "::1"))
	}
	r := &request{method: d.of("GET", "POST", "PUT"), version: d.of("HTTP/1.0", "HTTP/1.1", "HTTP/2"),
		path:  d.of(append(paths, "/cat/x", "/dog", "/c/a.gif", "*")...),
		query: optional("a", "b", "a=1", "ab", "b=2", ""),
		host:  optional(hosts...), fields: append(pairs("x", "1", "2", "12", "a", "b"), pairs("y", "1", "2")...),
		cookies: pairs("c", "1", "12", "3"), client: address(), source: address(), port: 80}
	if r.tls = d.IntN(2) == 0; r.tls {
		r.port = 443
	}
	if !r.tls && r.version == "HTTP/2" {
		r.version = "HTTP/1.1" // the port without TLS has no HTTP/2
	}
	return r
}

// What is said to have no effect has none for any of many requests. That is checked for each set alone, with any sets
// before it, and for both sets in a virtual service with two ports, whose clients may tell another port in a PROXY
// header.
func TestNoRequestComesToARuleThatIsSaidToHaveNoEffect(t *testing.T) {
	ports := []Port{{First: 80, Last: 80}, {First: 443, Last: 443, TLS: true, HTTP2: true}}
	told := slices.Clone(ports)
	for i := range told {
		told[i].Told = true
	}
	kinds := map[string]int{}
	for seed := range uint64(1500) {
		d := dice{rand.New(rand.NewPCG(seed, 7))}
		var sets []*dataplanev1.HttpPolicySet
		var read []Policies
		var lines []string
		place := map[*Rule]int{}
		for at := range 2 {
			var rules []string
			for range 2 + d.IntN(7) {
				rules = append(rules, d.rule())
			}
			lines = append(lines, rules...)
			sets = append(sets, setOf(rules...))
			read = append(read, Of(sets[at], groups))
			for _, rule := range slices.Concat(read[at].Security, read[at].Requests, read[at].Responses) {
				place[rule] = at
			}
		}
		isTold, here := d.IntN(2) == 0, ports
		if isTold {
			here = told
		}
		claimed := map[string]string{}
		for _, one := range slices.Concat(read[0].Find(), read[1].Find(), FindAll(read, here)) {
			verb := strings.Fields(one.Why)[1]
			what, known := map[string]string{"matches:": "matches", "rewrites:": "rewrites", "chooses": "chooses"}[verb]
			if !known {
				t.Fatalf("%q", one.Why)
			}
			claimed[fmt.Sprintf("%d %s %s", place[one.Rule], one.Rule.Field, what)] = one.Why
			kinds[what]++
			if !strings.Contains(one.Why, "before it") {
				kinds["by itself"]++
			}
		}
		if len(claimed) == 0 {
			continue
		}
		for range 300 {
			asked := d.request()
			if isTold && d.IntN(4) > 0 {
				asked.port = []uint32{80, 443, 8080, 8443}[d.IntN(4)]
			}
			for done := range play(sets, asked) {
				if why := claimed[done]; why != "" {
					t.Fatalf("seed %d: set %s, and it is said that it %s\n%+v\n%s", seed, done, why, asked,
						strings.Join(lines, "\n"))
				}
			}
		}
	}
	t.Log(kinds)
	for _, kind := range []string{"matches", "rewrites", "chooses", "by itself"} {
		if kinds[kind] < 20 {
			t.Errorf("only %d rules are said to have no effect because of %q: the test tells little", kinds[kind], kind)
		}
	}
}
