package shadow

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

func TestRuleThatAnEarlierOneTakesAllOfIsFoundAndNoOther(t *testing.T) {
	for _, c := range []struct {
		wide, narrow string
		is           bool
	}{
		{"", "", true},
		{"", "path^/a host=b", true},
		{"path^/a", "", false},

		{"path^/a", "path^/a/b", true},
		{"path^/a", "path=/a", true},
		{"path^/a", "path=/A/b", true},
		{"path^/a", "case:path^/Ab", true},
		{"case:path^/a", "case:path^/ab", true},
		{"case:path^/a", "path^/ab", false},
		{"case:path=/1", "path=/1", true},
		{"case:path^/A", "path^/a", false},
		{"path^/a/b", "path^/a", false},
		{"path^/a|/b", "path^/b1|/a1", true},
		{"path^/a|/b", "path^/b1|/c", false},
		{"path=/a", "path^/a", false},
		{"path=/a", "path=/a", true},
		{"path$.png", "path$x.png", true},
		{"path$.png", "path=/x.png", true},
		{"path$.png", "path^/x.png", false},
		{"path*b", "path=/abc", true},
		{"path*b", "path^/ab", true},
		{"path*b", "path$b", true},
		{"path*b", "path*abc", true},
		{"path*abc", "path*b", false},
		{"path~^/a|b", "path~^/a", true},
		{"path~^/a", "path~^/b", false},
		{"path~^/a", "case:path~^/a", false},
		{"path~.*", "", true},
		{"path~.*", "path=/x", true},
		{"path~a", "path=/a", false},
		{"raw:path^/a", "path^/a", false},
		{"raw:path^/a", "raw:path^/ab", true},
		{"!path^/a", "!path^/a", true},
		{"!path^/a/b", "!path^/a", true},
		{"!path^/a", "!path^/a/b", false},
		{"!path^/a", "path^/b", true},
		{"!path^/a", "path=/b", true},
		{"!path^/a", "path=/ab", false},
		{"!path^/a", "path^/", false},
		{"!path$.png", "path^/b", false},
		{"!path$.png", "path$.gif", true},
		{"path^/a", "!path^/b", false},
		{"group:path^animals", "path^/cat/x", true},
		{"group:path^animals", "path^/cow", false},
		{"path^/cat|/dog", "group:path=animals", true},
		{"group:path^unknown", "path^/cat", false},
		{"group:path^unknown", "group:path^unknown", true},

		{"query?", "query=a", true},
		{"query?", "!query=a", false},
		{"!query=a", "!query?", true},
		{"!query?", "!query=a", false},
		{"!query=a", "query=b", true},
		{"query*a", "query=bab", true},
		{"query~.*", "query=a", true},
		{"query~.*", "", false},

		{"host=a.test", "host=A.test", true},
		{"host=a.test", "host=a.test.", true},
		{"host=a.test", "host=a.test:80", false},
		{"host=a.test:80", "host=a.test", false},
		{"host$.test", "host=a.test|b.test", true},
		{"host$.test", "host=a.test|b.example", false},
		{"host?", "host^a", true},
		{"!host=a.test", "host=b.test", true},
		{"!host=a.test", "host=a.test:80", false},
		{"host=a.test path^/a", "path^/a/b host=a.test", true},
		{"host=a.test path^/a", "path^/a/b", false},
		{"host=a.test", "path^/a", false},

		{"hdr:x?", "hdr:x=1", true},
		{"hdr:x?", "hdr:y=1", false},
		{"hdr:x^1", "hdr:x=12 hdr:y?", true},
		{"!hdr:x=1", "hdr:x=2", false}, // it may be there twice
		{"!hdr:x=1", "!hdr:x?", true},
		{"!hdr:x=1", "!hdr:x=1|2", true},
		{"!hdr:x=1|2", "!hdr:x=1", false},
		{"cookie:a?", "cookie:a=1", true},
		{"cookie:a?", "cookie:b=1", false},
		{"!cookie:a=1", "cookie:a=2", false},

		{"method=GET|HEAD", "method=GET", true},
		{"method=GET", "method=GET|HEAD", false},
		{"!method=GET", "method=POST", true},
		{"!method=GET", "!method=GET|HEAD", true},
		{"!method=GET|HEAD", "!method=GET", false},
		{"method=GET", "!method=POST", false},
		{"version=HTTP/1.1|HTTP/2", "!version=HTTP/1.0", true},
		{"version=HTTP/1.0|HTTP/1.1|HTTP/2", "", true},
		{"version=HTTP/1.1", "version=HTTP/2", false},

		{"port=80-90", "port=85|88-90", true},
		{"port=80-84|85-90", "port=80-90", true},
		{"port=80-84|86-90", "port=80-90", false},
		{"!port=80", "port=81", true},
		{"port=1-79|81-65535", "!port=80", false}, // no port is beyond, but that is not looked at
		{"tls=1", "tls=1", true},
		{"tls=1", "tls=0", false},

		{"client=10.0.0.0/8", "client=10.1.0.0/16|10.2.3.4/32", true},
		{"client=10.0.0.0/9|10.128.0.0/9", "client=10.0.0.0/8", true},
		{"client=10.0.0.0/9", "client=10.0.0.0/8", false},
		{"client=10.0.0.0/8", "source=10.0.0.0/16", false},
		{"!client=10.0.0.0/8", "client=192.0.2.0/24", true},
		{"!client=10.0.0.0/8", "client=2001:db8::/32", true},
		{"client=10.0.0.0/8", "!client=192.0.2.0/24", false},
		{"client=192.0.2.0/24", "client=::ffff:192.0.2.1/128", true},
		{"client=0.0.0.0/0|::/0", "", true},
		{"client=0.0.0.0/0", "", false},
		{"client=10.0.0.0/8", "client=10.0.0.0/7 place=10.0.0.0/16", true},
		{"client=10.0.0.0/8 place=10.0.0.0/16", "client=10.0.0.0/24", true},
		{"client=10.0.0.0/8 place=10.0.0.0/16", "client=10.1.0.0/24", false},
		{"group:client=ten", "client=10.1.0.0/24", true},
		{"client=10.0.0.0/8", "group:client=ten", true},
		{"group:client=countries", "client=10.1.0.0/24", false},
		{"client=10.1.0.0/24", "group:client=countries", false},
		{"group:client=countries", "group:client=countries path^/a", true},
		{"group:client=countries", "group:client=others", false},
	} {
		rules := Of(setOf("security close "+c.wide, "security close "+c.narrow), groups)
		want := []string(nil)
		if c.is {
			want = []string{`r1 never matches: rule "r0" before it (http_security_policy.rules[0]) takes all that it would`}
		}
		if got := said(rules.Find()); !slices.Equal(got, want) {
			t.Errorf("%q behind %q: got %q", c.narrow, c.wide, got)
		}
	}
}

func TestRuleThatNothingMatchesSaysWhy(t *testing.T) {
	for match, why := range map[string]string{
		"group:path^empty":                     "match.path compares with no text: what it compares with is empty",
		"!group:path^empty":                    "",
		"group:path^rootless":                  `match.path compares with "cat", which cannot be there`,
		"path^a|b":                             `match.path compares with "a" or one of 1 more, which cannot be there`,
		"path^a|/b":                            "",
		"path*a":                               "",
		"path=*":                               "",
		"raw:path^/a?b":                        `match.path compares with "/a?b", which cannot be there`,
		"path^/a?b":                            "", // it may come as %3F
		"raw:query*#":                          `match.query compares with "#", which cannot be there`,
		"!path~.*":                             "match.path: each text matches the expression",
		"!query~.*":                            "",
		"host=https://a.test":                  `match.host_hdr compares with "https://a.test", which cannot be there`,
		"host=a.test/b":                        `match.host_hdr compares with "a.test/b", which cannot be there`,
		"host=a.test:80":                       "",
		"!host=https://a.test":                 "",
		"hdr:x=_a":                             `match.hdrs[0] compares with " a", which cannot be there`,
		"hdr:x*_a":                             "",
		"hdr:x=a\x01":                          `match.hdrs[0] compares with "a\x01", which cannot be there`,
		"hdr:y? hdr:x=1 !hdr:x?":               "match.hdrs[1] and match.hdrs[2] cannot both hold",
		"hdr:x=1 !hdr:x^1":                     "match.hdrs[0] and match.hdrs[1] cannot both hold",
		"hdr:x=1 hdr:x=2":                      "", // it may be there twice
		"!hdr:x=1 !hdr:x=2":                    "",
		"cookie:a=b;c":                         `match.cookie compares with "b;c", which cannot be there`,
		"group:client=empty":                   "match.client_ip names no address: what it compares with is empty",
		"!group:client=empty":                  "",
		"!client=0.0.0.0/0|::/0":               "match.client_ip excludes every address",
		"client=10.0.0.0/8 place=192.0.2.0/24": "no address fits both match.client_ip and match.geo_matches",
		"client=10.0.0.0/8 place=10.2.0.0/24":  "",
		"client=10.0.0.0/8 group:place=countries": "",
		"client=10.0.0.0/8 source=192.0.2.0/24":   "",
		"port=90-80":                              "match.vs_port names nothing that could be",
		"version=HTTP/0.9":                        "match.version names nothing that could be",
		"!version=HTTP/0.9":                       "",
	} {
		want := []string(nil)
		if why != "" {
			want = []string{"r0 never matches: " + why}
		}
		if got := said(Of(setOf("request pool "+match), groups).Find()); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", match, got, want)
		}
	}
	empty := &dataplanev1.HttpMatch{Method: &dataplanev1.NameMatch{}}
	set := &dataplanev1.HttpPolicySet{SecurityRules: []*dataplanev1.HttpSecurityRule{
		{Rule: &dataplanev1.HttpRule{Name: "r", Match: empty}}}}
	if got := said(Of(set, groups).Find()); !slices.Equal(got,
		[]string{"r never matches: match.method names no method"}) {
		t.Errorf("%q", got)
	}
}

func TestOnlyRulesThatEndAListTakeFromLaterOnes(t *testing.T) {
	const takes = `never matches: rule "%s" before it (%s) takes all that it would`
	security, requests := "http_security_policy.rules[0]", "http_request_policy.rules[0]"
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"security allow ", "security close path^/a"}, "r1 " + fmt.Sprintf(takes, "r0", security)},
		{[]string{"security limit ", "security close path^/a"}, ""},
		{[]string{"request respond ", "request pool path^/a"}, "r1 " + fmt.Sprintf(takes, "r0", requests)},
		{[]string{"request redirect ", "request pool path^/a"}, "r1 " + fmt.Sprintf(takes, "r0", requests)},
		{[]string{"request redirect-part ", "request pool path^/a"}, ""},
		{[]string{"request edit ", "request pool path^/a"}, ""},
		{[]string{"request respond ", "response edit path^/a"}, "r1 " + fmt.Sprintf(takes, "r0", requests)},
		{[]string{"response edit ", "response edit path^/a"}, ""},
		// another set may come before it, with a rule that allows
		{[]string{"security close ", "request pool path^/a"}, ""},
		{[]string{"request pool ", "request pool path^/a"},
			`r1 never chooses its pool: rule "r0" before it (http_request_policy.rules[0]) does for all that it matches`},
		{[]string{"request pool path^/a", "request pool "}, ""},
		{[]string{"request rewrite ", "request rewrite path^/a"},
			`r1 never rewrites: rule "r0" before it (http_request_policy.rules[0]) does for all that it matches`},
		{[]string{"request rewrite-part ", "request rewrite path^/a"}, ""},
		{[]string{"request nothing "}, "r0 has no action: what it matches is changed in nothing"},
		{[]string{"request log "}, ""},
		{[]string{"request respond group:path=empty", "request pool "},
			"r0 never matches: match.path compares with no text: what it compares with is empty"},
	} {
		if got := strings.Join(said(Of(setOf(c.lines...), groups).Find()), "; "); got != c.want {
			t.Errorf("%q: got %q, want %q", c.lines, got, c.want)
		}
	}
}

func TestPortsAndOtherSetsOfAVirtualServiceCount(t *testing.T) {
	plain, secure := Port{First: 80, Last: 80}, Port{First: 443, Last: 445, TLS: true, HTTP2: true}
	told, toldSecure := Port{First: 80, Last: 80, Told: true}, Port{First: 443, Last: 443, TLS: true, Told: true}
	none := ": no port of the virtual service is like that"
	for _, c := range []struct {
		sets  [][]string
		ports []Port
		want  string
	}{
		{[][]string{{"request pool port=8080"}}, []Port{plain}, "r0 never matches: match.vs_port" + none},
		{[][]string{{"request pool port=444"}}, []Port{plain, secure}, ""},
		{[][]string{{"request pool tls=1"}}, []Port{plain}, "r0 never matches: match.protocol" + none},
		{[][]string{{"request pool tls=0"}}, []Port{secure}, "r0 never matches: match.protocol" + none},
		{[][]string{{"request pool tls=1 port=80"}}, []Port{plain, secure},
			"r0 never matches: match.vs_port with match.protocol" + none},
		{[][]string{{"request pool version=HTTP/2"}}, []Port{plain}, "r0 never matches: match.version" + none},
		{[][]string{{"request pool version=HTTP/2"}}, []Port{plain, secure}, ""},
		{[][]string{{"request pool port=8080", "request pool !port=80"}}, []Port{told}, ""},
		{[][]string{{"security close port=80", "security close path^/a"}}, []Port{told}, ""},
		{[][]string{{"security close port=1-65535", "security close path^/a"}}, []Port{told}, ""},
		{[][]string{{"request pool port=8080 tls=1"}}, []Port{told}, "r0 never matches: match.protocol" + none},
		{[][]string{{"request pool port=8080 tls=1"}}, []Port{told, toldSecure}, ""},
		{[][]string{{"security close tls=1", "security close path^/a"}}, []Port{secure},
			`r1 never matches: rule "r0" before it (http_security_policy.rules[0]) takes all that it would`},
		{[][]string{{"security close tls=1", "security close path^/a"}}, []Port{plain, secure}, ""},
		{[][]string{{"security close "}, {"request pool path^/a", "response edit "}}, []Port{plain},
			`r0 never matches: rule "r0" before it (http_security_policy.rules[0]) takes all that it would; ` +
				`r1 never matches: rule "r0" before it (http_security_policy.rules[0]) takes all that it would`},
		{[][]string{{"security allow path=/b"}, {"security close "}, {"request pool path^/b"}}, []Port{plain}, ""},
		{[][]string{{"security allow "}, {"security close path^/a"}, {"request pool path^/a"}}, []Port{plain},
			`r0 never matches: rule "r0" before it (http_security_policy.rules[0]) takes all that it would`},
	} {
		var sets []Policies
		for _, lines := range c.sets {
			sets = append(sets, Of(setOf(lines...), groups))
		}
		if got := strings.Join(said(FindAll(sets, c.ports)), "; "); got != c.want {
			t.Errorf("%q: got %q, want %q", c.sets, got, c.want)
		}
	}
}

func TestRulesForConnectionsEndWithTheirTime(t *testing.T) {
	rule := func(name string, until uint64, limit bool, match string) *dataplanev1.NetworkRule {
		of := matchOf(match)
		made := &dataplanev1.NetworkRule{Name: name, UntilUnixS: until, Action: &dataplanev1.NetworkRule_Deny{},
			Match: &dataplanev1.ConnectionMatch{Client: of.GetClient(), ListenerPort: of.GetListenerPort()}}
		if limit {
			made.Action = &dataplanev1.NetworkRule_Rate{Rate: &dataplanev1.ConnectionRate{PerS: 1}}
		}
		return made
	}
	for _, c := range []struct {
		first, second *dataplanev1.NetworkRule
		want          bool
	}{
		{rule("a", math.MaxUint64, false, "client=10.0.0.0/8"),
			rule("b", 7, false, "client=10.1.0.0/16 port=80"), true},
		{rule("a", 7, false, "client=10.0.0.0/8"), rule("b", math.MaxUint64, false, "client=10.1.0.0/16"), false},
		{rule("a", 7, false, "client=10.0.0.0/8"), rule("b", 7, true, "client=10.1.0.0/16"), true},
		{rule("a", 7, true, "client=10.0.0.0/8"), rule("b", 7, false, "client=10.1.0.0/16"), false},
	} {
		list := OfConnections(&dataplanev1.NetworkPolicy{Rules: []*dataplanev1.NetworkRule{c.first, c.second}}, groups)
		if found := list.Find(); (len(found) == 1 && found[0].Rule.Name == "b") != c.want || len(found) > 1 {
			t.Errorf("%v, %v: got %q", c.first, c.second, said(found))
		}
	}
}

// Of rules that choose pools for connections, one comparison is enough.
func TestOneOfTheComparisonsIsEnoughForRulesOfLayer4(t *testing.T) {
	rule := func(match string) *Rule {
		of := matchOf(match)
		return OfPools(&dataplanev1.PoolRule{Match: &dataplanev1.ConnectionMatch{Client: of.GetClient(),
			ListenerPort: of.GetListenerPort()}}, "set", "rules[0]", match, groups)
	}
	ports := []Port{{First: 80, Last: 81}}
	for _, c := range []struct {
		wide, narrow string
		is, at       bool // without ports, and with them
	}{
		{"", "client=10.0.0.0/8", true, true},
		{"client=10.0.0.0/8 port=80", "client=10.1.0.0/16", true, true},
		{"client=10.0.0.0/8 port=80", "port=80", true, true},
		{"client=10.0.0.0/8", "client=10.1.0.0/16 port=80", false, false},
		{"client=10.0.0.0/8 port=80", "client=10.1.0.0/16 port=81", false, false},
		{"port=80-81", "client=10.0.0.0/8", false, true},
		{"client=10.0.0.0/8", "client=10.1.0.0/16 port=99", false, true},
		{"client=10.0.0.0/8", "", false, false},
		{"client=10.0.0.0/8", "port=99", false, true}, // it matches nothing there
		{"client=10.0.0.0/8", "group:client=empty", true, true},
		{"client=10.0.0.0/8", "group:client=empty port=80", false, false},
	} {
		list := List{rule(c.wide), rule(c.narrow)}
		if got := len(list.Find()) == 1; got != c.is {
			t.Errorf("%q behind %q: got %v", c.narrow, c.wide, said(list.Find()))
		}
		if got := len(list.At(ports).Find()) == 1; got != c.at {
			t.Errorf("%q behind %q with ports: got %v", c.narrow, c.wide, said(list.At(ports).Find()))
		}
	}
}

func TestClaimsOfTheSameRuleCountAndThoseThatCannotBeComparedGoToRulesThatRefuse(t *testing.T) {
	claim := &dataplanev1.ClaimMatch{Name: "role", Mandatory: true, Value: &dataplanev1.ClaimMatch_Number{
		Number: &dataplanev1.NumberClaim{}}}
	rule := func(lets bool, match string, claims ...*dataplanev1.ClaimMatch) *dataplanev1.AuthorizationRule {
		made := &dataplanev1.AuthorizationRule{Rule: &dataplanev1.HttpRule{Match: matchOf(match)}, Claims: claims}
		if lets {
			made.Action = &dataplanev1.AuthorizationRule_Allow{Allow: &dataplanev1.Allow{}}
		}
		return made
	}
	for i, c := range []struct {
		first, second *dataplanev1.AuthorizationRule
		is            bool
	}{
		{rule(true, "path^/a"), rule(false, "path^/a/b", claim), true},
		{rule(true, "path^/a", claim), rule(true, "path^/a/b", claim), true},
		{rule(true, "path^/a", claim), rule(true, "path^/a/b"), false},
		{rule(true, "path^/a", claim), rule(false, "path^/a/b", claim), false},
		{rule(false, "path^/a", claim), rule(true, "path^/a/b", claim), true},
	} {
		access := OfAccess(&dataplanev1.AccessRules{Authorization: []*dataplanev1.AuthorizationRule{c.first, c.second}},
			"policy", groups)
		if found := access.Find(); (len(found) == 1) != c.is {
			t.Errorf("%d: got %q", i, said(found))
		}
	}
}

// A plan is made after each change of a policy, so that looking for shadows has to be cheap: also of rules of which no
// index helps.
// Each kind takes some milliseconds, and rules with groups some dozens.
func BenchmarkThousandsOfRules(b *testing.B) {
	many := &Groups{}
	many.AddStrings(groupOf("many", 10_000))
	for name, line := range map[string]func(i int) string{
		"hosts and paths": func(i int) string {
			return fmt.Sprintf("security close host=h%d.test path^/p%d/", i%40, i)
		},
		"clients": func(i int) string {
			return fmt.Sprintf("security close client=10.%d.%d.0/24", i/256, i%256)
		},
		"fields":    func(i int) string { return fmt.Sprintf("security close hdr:x=%d", i) },
		"negations": func(i int) string { return fmt.Sprintf("security close !path^/p%d/", i) },
		"parts":     func(i int) string { return fmt.Sprintf("security close path*p%dq", i) },
		"groups":    func(i int) string { return fmt.Sprintf("security close group:path^many host=h%d.test", i) },
	} {
		var lines []string
		for i := range 3000 {
			lines = append(lines, line(i))
		}
		set := setOf(lines...)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if found := Of(set, many).Security.Find(); len(found) > 0 {
					b.Fatalf("%d, %q", len(found), said(found)[0])
				}
			}
		})
	}
}
