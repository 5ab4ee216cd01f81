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

// Groups are those that rules name, by uuid. A group that is not there may have anything.
type Groups struct {
	texts     map[string][]*dataplanev1.StringPair
	addresses map[string][]span[netip.Addr]
}

// spansMost bounds the ranges of a group whose content is compared: it is read at each change of a policy. Countries
// have more; groups of them are compared by their uuid.
const spansMost = 4096

// AddStrings adds a group of strings.
func (g *Groups) AddStrings(group *dataplanev1.StringGroup) {
	if g.texts == nil {
		g.texts = map[string][]*dataplanev1.StringPair{}
	}
	g.texts[group.GetUuid()] = group.GetPairs()
}

// AddAddresses adds a group of addresses.
func (g *Groups) AddAddresses(group *dataplanev1.AddressGroup) {
	if len(group.GetSubnets())+len(group.GetRanges()) > spansMost {
		return
	}
	if all, ok := spansIn(group.GetSubnets(), group.GetRanges()); ok {
		if g.addresses == nil {
			g.addresses = map[string][]span[netip.Addr]{}
		}
		g.addresses[group.GetUuid()] = all
	}
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

// contentMost bounds the texts, and the ranges of addresses, that a comparison reads of groups. Comparisons with more
// are known by their groups alone: each rule of a set may name many large groups.
const contentMost = 256

// addressesOf reads a comparison of addresses.
func (r *reader) addressesOf(from *dataplanev1.AddressMatch, about, field string) {
	if from == nil {
		return
	}
	all, ok := spansIn(from.GetSubnets(), from.GetRanges())
	for _, uuid := range from.GetAddressGroupUuids() {
		group, known := r.groups.addresses[uuid]
		if ok = ok && known && len(all)+len(group) <= contentMost; !ok {
			break
		}
		all = append(all, group...)
	}
	if !ok {
		r.add(condition{about: about, field: field, opaque: from.String()})
		return
	}
	found := spansOf(all)
	if from.GetNegated() {
		found = everywhere.without(found)
	}
	switch {
	case len(found) == 0 && from.GetNegated():
		r.fail("%s excludes every address", field)
	case len(found) == 0:
		r.fail("%s names no address: what it compares with is empty", field)
	case everywhere.within(found):
		r.unlimited()
	default:
		r.addPoints(about, field, found)
	}
}

// addPoints adds addresses of something: with those that the rule compares it with already.
func (r *reader) addPoints(about, field string, found spans[netip.Addr]) {
	if !r.rule.any {
		for i := range r.rule.conditions {
			earlier := &r.rule.conditions[i]
			if earlier.about != about || earlier.points == nil {
				continue
			}
			both := earlier.points.and(found)
			if len(both) == 0 {
				r.fail("no address fits both %s and %s", earlier.field, field)
			}
			earlier.points = &both
			return
		}
	}
	r.add(condition{about: about, field: field, points: &found})
}

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
	for _, name := range from.GetNames() {
		made.values = append(made.values, text{own: name, lower: lowered(name)})
	}
	if len(made.values) == 0 && !made.negated {
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
	isHost       bool
	// mayBe tells whether a text can be, begin, end or contain a value.
	mayBe func(how dataplanev1.TextCriterion, decoded bool, value string) bool
}

// textsOf reads a comparison of texts.
func (r *reader) textsOf(from *dataplanev1.TextMatch, of compared) {
	if from == nil {
		return
	}
	made := &texts{criterion: from.GetCriterion(), negated: from.GetNegated(), sensitive: from.GetCaseSensitive(),
		decoded: from.GetDecoded(), single: of.single}
	values := from.GetValues()
	for _, uuid := range from.GetStringGroupUuids() {
		pairs, known := r.groups.texts[uuid]
		if !known || len(values)+len(pairs) > contentMost {
			r.add(condition{about: of.about, field: of.field, opaque: from.String()})
			return
		}
		values = slices.Clip(values)
		for _, pair := range pairs {
			values = append(values, pair.GetKey())
		}
	}
	r.values(made, values, of)
	switch isEmpty := made.criterion != exists && len(made.values) == 0; {
	case isEmpty && !made.negated && len(values) == 0:
		r.fail("%s compares with no text: what it compares with is empty", of.field)
	case isEmpty && !made.negated:
		r.fail("%s", of.never(values))
	case made.criterion == exists && made.negated && of.isThere:
		r.fail("%s: each text matches the expression", of.field)
	case isEmpty, made.criterion == exists && of.isThere:
		r.unlimited()
	default:
		r.add(condition{about: of.about, field: of.field, texts: made})
	}
}

// values sets those that could be.
func (r *reader) values(made *texts, values []string, of compared) {
	for _, value := range values {
		if made.criterion == regex && slices.Contains(anyText, value) ||
			made.isLiteral() && made.criterion != equals && value == "" {
			made.criterion, made.values, made.decoded = exists, nil, false
			return
		}
	}
	for _, value := range values {
		one := text{own: value}
		if of.isHost && made.isLiteral() {
			one.withPort = hasPort(value)
			if !one.withPort && (made.criterion == equals || made.criterion == ends) {
				one.own = strings.TrimSuffix(value, ".") // the root: it names the same host
			}
		}
		one.lower = lowered(one.own)
		if !made.isLiteral() || of.mayBe(made.criterion, made.decoded, value) {
			made.values = append(made.values, one)
		}
	}
}

// never says that none of some values can be.
func (c compared) never(values []string) string {
	shown := fmt.Sprintf("%q", values[0])
	if more := len(values) - 1; more > 0 {
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
