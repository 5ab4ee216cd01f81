package record

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// packedRules is what the data plane packs of some rules.
func packedRules(t *testing.T) []byte {
	t.Helper()
	packed, err := os.ReadFile("testdata/rules.bin")
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// inPlace puts a span or suites, rules and what scripts have said in their place.
func inPlace(first, rules []byte, said string) []byte {
	place := append([]byte{byte(len(first))}, first...)
	if rules != nil {
		place = append(append(place, byte(len(rules)), byte(len(rules)>>8)), rules...)
	}
	return append(place, said...)
}

// withNames puts names between.
func withNames(first []byte, names string, rules []byte, said string) []byte {
	place := inPlace(nil, rules, said)[1:]
	return append(inPlace(first, nil, names), place...)
}

func TestReadsTheRulesThatTheDataPlanePacks(t *testing.T) {
	r := Record{Flags: Ruled}
	r.Texts[ClientSpan] = inPlace(nil, packedRules(t), "")
	want := Rules{
		Names: map[RuleList][]string{SecurityRules: {"a"}, HostRules: {"/a b"}, RequestRules: {"b c"},
			ResponseRules: {strings.Repeat("é", 64)}},
		Cut: map[RuleList]bool{ResponseRules: true},
	}
	if got := r.Rules(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestWhatStandsInThePlaceOfSuitesIsToldApart(t *testing.T) {
	span, suites, rules := []byte("8 bytes."), []byte{0x13, 1, 0x13, 2}, []byte("\x01\x01a")
	for _, c := range []struct {
		flags         Flags
		text          []byte
		span, offered []byte
		said          string
		rules         int
		names         Names
	}{
		{0, suites, nil, suites, "", 0, Names{}},
		{OwnSpan, span, span, nil, "", 0, Names{}},
		{Scripted, inPlace(nil, nil, "hi"), nil, nil, "hi", 0, Names{}},
		{Scripted | OwnSpan, inPlace(span, nil, "hi"), span, nil, "hi", 0, Names{}},
		{Scripted | OwnSpan | Ruled, inPlace(span, rules, "hi"), span, nil, "hi", 1, Names{}},
		{Admitted, inPlace(suites, rules, ""), nil, suites, "", 1, Names{}},
		{Ruled | OwnSpan, inPlace(nil, rules, ""), nil, nil, "", 1, Names{}},
		{Named, inPlace(suites, nil, "\x02id\x00"), nil, suites, "", 0, Names{ID: "id"}},
		{Named | Scripted | Ruled | OwnSpan, withNames(span, "\x00\x05alice", rules, "hi"), span, nil, "hi", 1,
			Names{User: "alice"}},
		// Not as it is packed.
		{Named | Ruled, inPlace(nil, nil, "\x02id"), nil, nil, "", 0, Names{}},
		{Named, inPlace(nil, nil, "\x02id\x09a"), nil, nil, "", 0, Names{}},
		{Ruled, nil, nil, nil, "", 0, Names{}},
		{Ruled, []byte{9, 1}, nil, nil, "", 0, Names{}},
		{Ruled, []byte{0, 9, 0, 1}, nil, nil, "", 0, Names{}},
		{Ruled, inPlace(nil, []byte("\x01\x09a"), ""), nil, nil, "", 0, Names{}},
	} {
		r := Record{Flags: c.flags}
		r.Texts[ClientSpan] = c.text
		span, said := r.Said()
		offered, named := r.Offered(), len(r.Rules().Names)
		if r.Names() != c.names {
			t.Errorf("%x %q: names %v", c.flags, c.text, r.Names())
		}
		if !slices.Equal(span, c.span) || said != c.said || !slices.Equal(offered, c.offered) || named != c.rules {
			t.Errorf("%x %q: span %q, said %q, offered %q, %d lists of rules", c.flags, c.text, span,
				said, offered, named)
		}
	}
}
