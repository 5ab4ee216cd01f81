package shadow

import (
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// Groups are those that the rules of one set name, by uuid. A group that is not there may have anything. What rules
// read of them is in memory once, and bounded: the rest is not compared by its content. Then a comparison with groups
// is within one with the same groups only.
type Groups struct {
	texts     map[string][]*dataplanev1.StringPair
	addresses map[string]*dataplanev1.AddressGroup

	read      int // texts and ranges
	lowered   map[string][]text
	lists     map[listed]*list
	addressed map[string]*spans[netip.Addr] // by the comparison
}

// What rules compare of the content of groups.
const (
	// Ranges of one group: countries have more.
	spansMost = 4096
	// Of all groups that one rule names. A group has up to 10,000 texts.
	ofRuleMost = 16384
	// What is kept for all rules of a set: three megabytes.
	ofSetMost = 65536
)

// AddStrings adds a group of strings.
func (g *Groups) AddStrings(group *dataplanev1.StringGroup) {
	if g.texts == nil {
		g.texts = map[string][]*dataplanev1.StringPair{}
	}
	g.texts[group.GetUuid()] = group.GetPairs()
}

// AddAddresses adds a group of addresses.
func (g *Groups) AddAddresses(group *dataplanev1.AddressGroup) {
	if g.addresses == nil {
		g.addresses = map[string]*dataplanev1.AddressGroup{}
	}
	g.addresses[group.GetUuid()] = group
}

// take tells whether so much more may be kept.
func (g *Groups) take(count int) bool {
	if count > ofSetMost-g.read {
		return false
	}
	g.read += count
	return true
}

// list is what a comparison compares with, as far as it could be.
type list struct {
	texts []text
	isAny bool // each text fits one of them
}

// listed says how a group is read.
type listed struct {
	uuid      string
	of        *grammar
	criterion dataplanev1.TextCriterion
	decoded   bool
}

// listOf returns the texts of a group for a comparison; nil: they are not compared. All rules that compare the same
// thing in the same way share them.
func (g *Groups) listOf(uuid string, of *grammar, made *texts) *list {
	key := listed{uuid, of, made.criterion, made.decoded}
	if known := g.lists[key]; known != nil {
		return known
	}
	all, known := g.loweredOf(uuid)
	if !known || !g.take(len(all)) {
		return nil
	}
	read := of.read(all, made)
	if read.isAny || len(read.texts) == len(all) && !of.isHost {
		g.read -= len(all) // it is the same list
	}
	if g.lists == nil {
		g.lists = map[listed]*list{}
	}
	g.lists[key] = &read
	return &read
}

// loweredOf returns the texts of a group, with what they are in small letters.
func (g *Groups) loweredOf(uuid string) (all []text, known bool) {
	if all, known = g.lowered[uuid]; known {
		return all, true
	}
	pairs, known := g.texts[uuid]
	if !known || !g.take(len(pairs)) {
		return nil, false
	}
	all = make([]text, len(pairs))
	for i, pair := range pairs {
		all[i] = textOf(pair.GetKey())
	}
	if g.lowered == nil {
		g.lowered = map[string][]text{}
	}
	g.lowered[uuid] = all
	return all, true
}

// spansOf returns the addresses that a comparison with groups names; nil: they are not compared.
func (g *Groups) spansOf(from *dataplanev1.AddressMatch) *spans[netip.Addr] {
	key := exactly(from)
	if known := g.addressed[key]; known != nil {
		return known
	}
	count, ok := g.addressesIn(from.GetAddressGroupUuids())
	if !ok || !g.take(len(from.GetSubnets())+len(from.GetRanges())+count) {
		return nil
	}
	all, ok := spansIn(from.GetSubnets(), from.GetRanges())
	for _, uuid := range from.GetAddressGroupUuids() {
		group, read := spansIn(g.addresses[uuid].GetSubnets(), g.addresses[uuid].GetRanges())
		all, ok = append(all, group...), ok && read
	}
	if !ok {
		return nil
	}
	found := namedBy(from, all)
	if g.addressed == nil {
		g.addressed = map[string]*spans[netip.Addr]{}
	}
	g.addressed[key] = &found
	return &found
}

// addressesIn counts the ranges of groups. false: they are not compared.
func (g *Groups) addressesIn(uuids []string) (count int, ok bool) {
	for _, uuid := range uuids {
		group, known := g.addresses[uuid]
		size := len(group.GetSubnets()) + len(group.GetRanges())
		if !known || size > spansMost {
			return 0, false
		}
		count += size
	}
	return count, true
}

// namedBy are the addresses that a comparison fits.
func namedBy(from *dataplanev1.AddressMatch, all []span[netip.Addr]) spans[netip.Addr] {
	found := spansOf(all)
	if from.GetNegated() {
		found = everywhere.without(found)
	}
	return found
}

// exactly is the same text for comparisons that are equal, and for no others.
func exactly(of proto.Message) string {
	said, err := proto.MarshalOptions{Deterministic: true}.Marshal(of)
	if err != nil {
		panic("shadow: " + err.Error()) // it was made in this process
	}
	return string(said)
}

// grammar says what the texts of something can be.
type grammar struct {
	isHost bool
	// mayBe tells whether a text can be, begin, end or contain a value.
	mayBe func(how dataplanev1.TextCriterion, decoded bool, value string) bool
}

var (
	pathGrammar   = &grammar{mayBe: mayBePath}
	queryGrammar  = &grammar{mayBe: mayBeQuery}
	hostGrammar   = &grammar{isHost: true, mayBe: mayBeHost}
	valueGrammar  = &grammar{mayBe: mayBeValue}
	cookieGrammar = &grammar{mayBe: mayBeCookie}
)

func textOf(value string) text { return text{own: value, lower: lowered(value)} }

func textsIn(values []string) []text {
	all := make([]text, len(values))
	for i, value := range values {
		all[i] = textOf(value)
	}
	return all
}

// read returns those of some texts that could be. These are the same slice if all could.
func (of *grammar) read(all []text, made *texts) (read list) {
	for _, one := range all {
		if made.criterion == regex && slices.Contains(anyText, one.own) ||
			made.isLiteral() && made.criterion != equals && one.own == "" {
			return list{isAny: true}
		}
	}
	isHost := of.isHost && made.isLiteral()
	could := func(one text) bool { return !made.isLiteral() || of.mayBe(made.criterion, made.decoded, one.own) }
	if !isHost && !slices.ContainsFunc(all, func(one text) bool { return !could(one) }) {
		return list{texts: all}
	}
	for _, one := range all {
		if !could(one) {
			continue
		}
		if one.withPort = isHost && hasPort(one.own); isHost && !one.withPort &&
			(made.criterion == equals || made.criterion == ends) { // the root: it names the same host
			one.own, one.lower = strings.TrimSuffix(one.own, "."), strings.TrimSuffix(one.lower, ".")
		}
		read.texts = append(read.texts, one)
	}
	return read
}
