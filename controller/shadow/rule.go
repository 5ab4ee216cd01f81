package shadow

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// Rule is a rule of a list, as far as is known what it matches.
type Rule struct {
	Object string // the name of the policy that it is of
	Field  string // where the operator wrote it: "http_request_policy.rules[0]"
	Name   string

	conditions []condition
	any        bool       // one of the conditions must hold; false: all must
	never      string     // why nothing matches; empty: something may
	kinds      uint32     // a bit for each thing that its conditions are about
	low, high  netip.Addr // of the clients that it matches, if it compares their addresses; else invalid

	ends    bool   // it ends its list for all that it matches
	refuses bool   // and no list behind it is tried
	lets    bool   // it may end its list, and the lists behind it are tried
	until   uint64 // from then on it is as if it were not there
	token   tokens // whether it compares claims

	pool, rewrites bool // it chooses a pool, or rewrites the URL, certainly: later rules do not
	isIdle         bool // it does nothing

	of *Rule // of a rule as it is in a virtual service: the rule of the policy
}

// policys is the rule as it is in its policy.
func (r *Rule) policys() *Rule {
	if r.of != nil {
		return r.of
	}
	return r
}

// tokens says whether a rule compares claims of a token. One of another type than the rule says is no match of a rule
// that lets requests in, and a match of a rule that refuses them.
type tokens int

const (
	noClaims tokens = iota
	letsBy
	refusesBy
)

// What the bits of kinds are about.
const (
	aboutClient  = "client"
	aboutPort    = "vs_port"
	aboutTLS     = "protocol"
	aboutVersion = "version"
)

// reader reads one rule.
type reader struct {
	groups *Groups
	rule   *Rule
	isAll  bool // of a rule of which one condition must hold: one always does
	failed string
	read   int // texts and ranges of groups
}

// take tells whether the rule may read so much more of groups.
func (r *reader) take(count int) bool {
	if count > ofRuleMost-r.read {
		return false
	}
	r.read += count
	return true
}

func (r *reader) add(one condition) {
	for i := range r.rule.conditions {
		work := 1 << 10
		if earlier := &r.rule.conditions[i]; !r.rule.any && earlier.about == one.about &&
			earlier.excludes(&one, &work) {
			r.fail("%s and %s cannot both hold", earlier.field, one.field)
		}
	}
	r.rule.conditions = append(r.rule.conditions, one)
	r.rule.kinds |= bitOf(one.about)
}

// bitOf hashes: two kinds may have one bit.
func bitOf(about string) uint32 {
	hash := uint32(2166136261)
	for i := range len(about) {
		hash = (hash ^ uint32(about[i])) * 16777619
	}
	return 1 << (hash >> 27)
}

// fail notes that a condition never holds.
func (r *reader) fail(format string, args ...any) {
	if r.failed == "" {
		r.failed = fmt.Sprintf(format, args...)
	}
}

// unlimited notes that a condition always holds.
func (r *reader) unlimited() { r.isAll = true }

// done finishes the rule.
func (r *reader) done() *Rule {
	switch {
	case r.rule.any && r.isAll:
		r.rule.conditions, r.rule.kinds = nil, 0
	case r.failed != "" && (!r.rule.any || len(r.rule.conditions) == 0):
		r.rule.never = r.failed
	}
	for i := range r.rule.conditions {
		if one := &r.rule.conditions[i]; one.about == aboutClient && one.points != nil && len(*one.points) > 0 {
			r.rule.low, r.rule.high = (*one.points)[0].first, (*one.points)[len(*one.points)-1].last
		}
	}
	return r.rule
}

// http reads what a request, and a response, is compared with. in is the field that the operator wrote it in.
func (r *reader) http(match *dataplanev1.HttpMatch, in string) {
	if match == nil {
		return
	}
	r.clients(match.GetClient(), match.GetPlace(), in)
	r.addressesOf(match.GetSource(), "source", in+"source_ip")
	r.numbersOf(match.GetListenerPort(), aboutPort, in+"vs_port")
	if scheme := match.GetScheme(); scheme != nil {
		is := number(0)
		if scheme.GetTls() {
			is = 1
		}
		r.addNumbers(aboutTLS, in+"protocol", spans[number]{{is, is}})
	}
	r.methodsOf(match.GetMethod(), in+"method")
	r.versionsOf(match.GetVersion(), in+"version")
	r.textsOf(match.GetPath(), path(in))
	r.textsOf(match.GetQuery(), compared{about: "query", field: in + "query", single: true,
		grammar: queryGrammar})
	r.textsOf(match.GetHost(), compared{about: "host", field: in + "host_hdr", single: true,
		grammar: hostGrammar})
	r.fields(match.GetFields(), "hdrs", in)
	if cookie := match.GetCookie(); cookie != nil {
		r.textsOf(cookie.GetValue(), compared{about: "cookie " + cookie.GetName(), field: in + "cookie",
			grammar: cookieGrammar})
	}
	r.numbersOf(match.GetStatus(), "status", in+"status")
	r.textsOf(match.GetLocation(), compared{about: "loc_hdr", field: in + "loc_hdr", grammar: valueGrammar})
	r.fields(match.GetResponseFields(), "rsp_hdrs", in)
}

func path(in string) compared {
	return compared{about: "path", field: in + "path", single: true, isThere: true, grammar: pathGrammar}
}

func (r *reader) fields(all []*dataplanev1.FieldMatch, list, in string) {
	for i, match := range all {
		r.textsOf(match.GetValue(), compared{about: list + " " + strings.ToLower(match.GetName()),
			field: fmt.Sprintf("%s%s[%d]", in, list, i), grammar: valueGrammar})
	}
}

// connection reads what a connection is compared with.
func (r *reader) connection(match *dataplanev1.ConnectionMatch, port string) {
	r.clients(match.GetClient(), match.GetPlace(), "match.")
	r.numbersOf(match.GetClientPort(), "client_port", "match.client_port")
	r.numbersOf(match.GetListenerPort(), aboutPort, port)
}

// clients reads what the address of the client is compared with, and where it is.
func (r *reader) clients(client, place *dataplanev1.AddressMatch, in string) {
	field := in + "client_ip"
	if place == nil && slices.ContainsFunc(client.GetAddressGroupUuids(), isPlace) {
		field = in + "geo_matches" // the Plan has it there if there is no client_ip
	}
	r.addressesOf(client, aboutClient, field)
	r.addressesOf(place, aboutClient, in+"geo_matches")
}

func isPlace(uuid string) bool { return strings.HasPrefix(uuid, "place ") }

// isWithin tells whether what the rule matches is certainly matched by other.
func (r *Rule) isWithin(other *Rule, work *int) bool {
	if len(other.conditions) == 0 {
		return true
	}
	if r.any {
		return r.kinds&^other.kinds == 0 && len(r.conditions) > 0 && each(r.conditions, func(part *condition) bool {
			return some(other.conditions, func(wide *condition) bool {
				return wide.about == part.about && part.implies(wide, work)
			})
		})
	}
	return other.kinds&^r.kinds == 0 && each(other.conditions, func(wide *condition) bool {
		return some(r.conditions, func(part *condition) bool {
			return wide.about == part.about && part.implies(wide, work)
		})
	})
}

func each(all []condition, is func(*condition) bool) bool {
	return !some(all, func(one *condition) bool { return !is(one) })
}

func some(all []condition, is func(*condition) bool) bool {
	for i := range all {
		if is(&all[i]) {
			return true
		}
	}
	return false
}
