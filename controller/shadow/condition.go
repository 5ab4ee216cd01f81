package shadow

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// condition is one comparison of a rule, or what a rule compares of one thing with all of its comparisons. Exactly one
// of its parts is set.
type condition struct {
	about   string // what is compared: "path", "hdrs Accept"
	field   string // where the operator wrote it
	texts   *texts
	points  *spans[netip.Addr]
	numbers *spans[number]
	opaque  string // equal for comparisons that are equal
}

// implies tells whether a request of which c holds is certainly one of which other holds. Both are about one thing.
func (c *condition) implies(other *condition, work *int) bool {
	*work--
	switch {
	case c.texts != nil && other.texts != nil:
		return c.texts.implies(other.texts, work)
	case c.points != nil && other.points != nil:
		*work -= len(*c.points) + len(*other.points)
		return c.points.within(*other.points)
	case c.numbers != nil && other.numbers != nil:
		return c.numbers.within(*other.numbers)
	}
	return c.opaque != "" && c.opaque == other.opaque
}

// excludes tells whether certainly no request is one of which both hold.
func (c *condition) excludes(other *condition, work *int) bool {
	return c.texts != nil && other.texts != nil && c.texts.excludes(other.texts, work)
}

func spansIn(subnets []string, ranges []*dataplanev1.AddressRange) (all []span[netip.Addr], ok bool) {
	for _, subnet := range subnets {
		prefix, err := netip.ParsePrefix(subnet)
		if err != nil {
			return nil, false
		}
		all = append(all, unmapped(spanOf(prefix)))
	}
	for _, one := range ranges {
		first, err := netip.ParseAddr(one.GetFirst())
		last, failed := netip.ParseAddr(one.GetLast())
		if err != nil || failed != nil {
			return nil, false
		}
		all = append(all, unmapped(span[netip.Addr]{first, last}))
	}
	return all, true
}

// unmapped has addresses of IPv4 as such, as engines have them.
func unmapped(one span[netip.Addr]) span[netip.Addr] {
	if one.first.Is4In6() && one.last.Is4In6() {
		return span[netip.Addr]{one.first.Unmap(), one.last.Unmap()}
	}
	return one
}

// addressesOf reads a comparison of addresses.
func (r *reader) addressesOf(from *dataplanev1.AddressMatch, about, field string) {
	if from == nil {
		return
	}
	named := r.named(from)
	if named == nil {
		r.add(condition{about: about, field: field, opaque: exactly(from)})
		return
	}
	found := *named
	switch {
	case len(found) == 0 && from.GetNegated():
		r.fail("%s excludes every address", field)
	case len(found) == 0:
		r.fail("%s names no address: what it compares with is empty", field)
	case everywhere.within(found):
		r.unlimited()
	default:
		r.addPoints(about, field, named)
	}
}

// named returns the addresses that a comparison names; nil: they are not compared.
func (r *reader) named(from *dataplanev1.AddressMatch) *spans[netip.Addr] {
	if len(from.GetAddressGroupUuids()) > 0 {
		if count, ok := r.groups.addressesIn(from.GetAddressGroupUuids()); !ok || !r.take(count) {
			return nil
		}
		return r.groups.spansOf(from)
	}
	all, ok := spansIn(from.GetSubnets(), from.GetRanges())
	if !ok {
		return nil
	}
	found := namedBy(from, all)
	return &found
}

// addPoints adds addresses of something: with those that the rule compares it with already.
func (r *reader) addPoints(about, field string, found *spans[netip.Addr]) {
	if !r.rule.any {
		for i := range r.rule.conditions {
			earlier := &r.rule.conditions[i]
			if earlier.about != about || earlier.points == nil {
				continue
			}
			room := len(*earlier.points) + len(*found)
			if !r.groups.take(room) {
				break // each stands for itself
			}
			both := earlier.points.and(*found)
			if len(both) == 0 {
				r.fail("no address fits both %s and %s", earlier.field, field)
			}
			earlier.points = &both
			if r.groups.read -= room; len(both) > fewSpans {
				r.groups.read += len(both)
			}
			return
		}
	}
	r.add(condition{about: about, field: field, points: found})
}

// fewSpans are not counted as more that is kept for the rules of a set.
const fewSpans = 64

// most are numbers that include all that requests and responses have.
var most = spans[number]{{0, 1 << 20}}

func (r *reader) numbersOf(from *dataplanev1.NumberMatch, about, field string) {
	if from == nil {
		return
	}
	var some []span[number]
	for _, one := range from.GetRanges() {
		some = append(some, span[number]{number(one.GetFirst()), number(one.GetLast())})
	}
	found := spansOf(some).and(most)
	if from.GetNegated() {
		found = most.without(found)
	}
	r.addNumbers(about, field, found)
}

func (r *reader) addNumbers(about, field string, found spans[number]) {
	if len(found) == 0 {
		r.fail("%s names nothing that could be", field)
		return
	}
	r.add(condition{about: about, field: field, numbers: &found})
}

// versions are those that engines speak.
var versions = map[string]number{"HTTP/1.0": 10, "HTTP/1.1": 11, "HTTP/2": 20}

func (r *reader) versionsOf(from *dataplanev1.NameMatch, field string) {
	if from == nil {
		return
	}
	var found spans[number]
	for _, version := range []string{"HTTP/1.0", "HTTP/1.1", "HTTP/2"} {
		if slices.Contains(from.GetNames(), version) != from.GetNegated() {
			found = append(found, span[number]{versions[version], versions[version]})
		}
	}
	if len(found) == len(versions) {
		r.unlimited()
		return
	}
	r.addNumbers(aboutVersion, field, found)
}

func (r *reader) methodsOf(from *dataplanev1.NameMatch, field string) {
	if from == nil {
		return
	}
	made := texts{criterion: equals, negated: from.GetNegated(), sensitive: true, single: true}
	made.add(textsIn(from.GetNames()))
	if made.isEmpty() && !made.negated {
		r.fail("%s names no method", field)
		return
	}
	r.add(condition{about: "method", field: field, texts: &made})
}

// compared is a thing whose text a rule compares.
type compared struct {
	about, field string
	single       bool // a request has one text of it at most
	isThere      bool // a request always has one
	grammar      *grammar
}

// textsOf reads a comparison of texts.
func (r *reader) textsOf(from *dataplanev1.TextMatch, of compared) {
	if from == nil {
		return
	}
	made := &texts{criterion: from.GetCriterion(), negated: from.GetNegated(), sensitive: from.GetCaseSensitive(),
		decoded: from.GetDecoded(), single: of.single}
	own := of.grammar.read(textsIn(from.GetValues()), made)
	lists, values, first := []*list{&own}, len(from.GetValues()), ""
	if values > 0 {
		first = from.GetValues()[0]
	}
	for _, uuid := range from.GetStringGroupUuids() {
		pairs, known := r.groups.texts[uuid]
		var group *list
		if known && r.take(len(pairs)) {
			group = r.groups.listOf(uuid, of.grammar, made)
		}
		if group == nil {
			r.add(condition{about: of.about, field: of.field, opaque: exactly(from)})
			return
		}
		if lists = append(lists, group); values == 0 && len(pairs) > 0 {
			first = pairs[0].GetKey()
		}
		values += len(pairs)
	}
	if slices.ContainsFunc(lists, func(one *list) bool { return one.isAny }) {
		made.criterion, made.decoded, lists = exists, false, nil
	}
	for _, one := range lists {
		made.add(one.texts)
	}
	switch isEmpty := made.criterion != exists && made.isEmpty(); {
	case isEmpty && !made.negated && values == 0:
		r.fail("%s compares with no text: what it compares with is empty", of.field)
	case isEmpty && !made.negated:
		r.fail("%s", of.never(first, values-1))
	case made.criterion == exists && made.negated && of.isThere:
		r.fail("%s: each text matches the expression", of.field)
	case isEmpty, made.criterion == exists && of.isThere:
		r.unlimited()
	default:
		r.add(condition{about: of.about, field: of.field, texts: made})
	}
}

// never says that none of some values can be.
func (c compared) never(first string, more int) string {
	shown := fmt.Sprintf("%q", first)
	if more > 0 {
		shown += fmt.Sprintf(" or one of %d more", more)
	}
	return fmt.Sprintf("%s compares with %s, which cannot be there", c.field, shown)
}

// hasPort tells whether a value names a host and a port.
func hasPort(value string) bool {
	at := strings.LastIndexByte(value, ':')
	if at < 0 || at == len(value)-1 || strings.Trim(value[at+1:], "0123456789") != "" {
		return false
	}
	host := value[:at]
	return !strings.Contains(host, ":") || strings.HasSuffix(host, "]")
}

// mayBePath: a path begins with "/", or it is "*". As it was sent it is of ASCII, without blanks, "?" and "#".
func mayBePath(how dataplanev1.TextCriterion, decoded bool, value string) bool {
	if (how == equals || how == begins) && !strings.HasPrefix(value, "/") && value != "*" && value != "" {
		return false
	}
	if how == equals && value == "" {
		return false
	}
	return decoded || isSentTarget(value) && !strings.Contains(value, "?")
}

func mayBeQuery(_ dataplanev1.TextCriterion, decoded bool, value string) bool {
	return decoded || isSentTarget(value)
}

func isSentTarget(value string) bool {
	return !strings.ContainsFunc(value, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' })
}

// mayBeValue: blanks around the value of a field are no part of it, and there are no control characters in it.
func mayBeValue(how dataplanev1.TextCriterion, _ bool, value string) bool {
	isBlank := func(c byte) bool { return c == ' ' || c == '\t' }
	switch {
	case value == "":
		return true
	case (how == equals || how == begins) && isBlank(value[0]):
		return false
	case (how == equals || how == ends) && isBlank(value[len(value)-1]):
		return false
	}
	return !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}

// mayBeCookie: a ";" ends a cookie.
func mayBeCookie(how dataplanev1.TextCriterion, decoded bool, value string) bool {
	return !strings.Contains(value, ";") && mayBeValue(how, decoded, value)
}

// mayBeHost: a host has no "/" and no blank (RFC 3986 §3.2.2).
func mayBeHost(_ dataplanev1.TextCriterion, _ bool, value string) bool {
	return !strings.ContainsFunc(value, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune("\"#/<>?@\\^`{|}", c)
	})
}
