package shadow

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// groupOf has paths, which are not in small letters.
func groupOf(uuid string, size int) *dataplanev1.StringGroup {
	group := &dataplanev1.StringGroup{Uuid: uuid}
	for i := range size {
		group.Pairs = append(group.Pairs, &dataplanev1.StringPair{Key: fmt.Sprintf("/%s/P%d/", uuid, i)})
	}
	return group
}

func subnetsOf(uuid string, size int) *dataplanev1.AddressGroup {
	group := &dataplanev1.AddressGroup{Uuid: uuid}
	for i := range size {
		group.Subnets = append(group.Subnets, fmt.Sprintf("10.%d.%d.0/25", i/256, i%256))
	}
	return group
}

// allocated is what a call allocates.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// However many rules name groups, and however many groups there are, what is read of them is bounded.
func TestRulesDoNotCopyTheGroupsThatTheyName(t *testing.T) {
	const rules = 300
	textRule := func(of func(at int) []string, criterion dataplanev1.TextCriterion) *dataplanev1.HttpPolicySet {
		set := &dataplanev1.HttpPolicySet{}
		for i := range rules {
			match := &dataplanev1.HttpMatch{}
			match.Path = &dataplanev1.TextMatch{Criterion: criterion, Values: []string{fmt.Sprint("/own", i)},
				StringGroupUuids: of(i)}
			set.SecurityRules = append(set.SecurityRules, &dataplanev1.HttpSecurityRule{
				Rule: &dataplanev1.HttpRule{Match: match}, Action: &dataplanev1.HttpSecurityRule_Close{}})
		}
		return set
	}
	addressRule := func(of func(at int) *dataplanev1.HttpMatch) *dataplanev1.HttpPolicySet {
		set := &dataplanev1.HttpPolicySet{}
		for i := range rules {
			set.SecurityRules = append(set.SecurityRules, &dataplanev1.HttpSecurityRule{
				Rule: &dataplanev1.HttpRule{Match: of(i)}, Action: &dataplanev1.HttpSecurityRule_Close{}})
		}
		return set
	}
	own := func(at int) []string { return []string{fmt.Sprintf("192.0.2.%d/32", at%256)} }
	for name, set := range map[string]*dataplanev1.HttpPolicySet{
		"one group": textRule(func(int) []string { return []string{"g0"} }, begins),
		"ten times": textRule(func(int) []string { return slices.Repeat([]string{"g0"}, 10) }, begins),
		"ten groups": textRule(func(int) []string {
			return strings.Fields("g0 g1 g2 g3 g4 g5 g6 g7 g8 g9")
		}, equals),
		"another for all": textRule(func(at int) []string { return []string{fmt.Sprint("g", at%40)} }, contains),
		"expressions":     textRule(func(int) []string { return []string{"g0"} }, regex),
		"addresses": addressRule(func(int) *dataplanev1.HttpMatch {
			return &dataplanev1.HttpMatch{Client: &dataplanev1.AddressMatch{AddressGroupUuids: []string{"a"}}}
		}),
		"addresses beside own": addressRule(func(at int) *dataplanev1.HttpMatch {
			return &dataplanev1.HttpMatch{Client: &dataplanev1.AddressMatch{Negated: true, Subnets: own(at),
				AddressGroupUuids: []string{"a"}}}
		}),
		"addresses and places": addressRule(func(at int) *dataplanev1.HttpMatch {
			return &dataplanev1.HttpMatch{Client: &dataplanev1.AddressMatch{Negated: true, Subnets: own(at)},
				Place: &dataplanev1.AddressMatch{AddressGroupUuids: []string{"a"}}}
		}),
	} {
		groups := &Groups{}
		for i := range 40 {
			groups.AddStrings(groupOf(fmt.Sprint("g", i), 10_000))
		}
		groups.AddAddresses(subnetsOf("a", 4000))
		var lists Policies
		took := allocated(func() { lists = Of(set, groups) })
		looked := allocated(func() { lists.Find() })
		t.Logf("%s: %d kB to read, %d kB to compare, %d texts and ranges", name, took>>10, looked>>10, groups.read)
		kept := map[any]int{} // by where they are in memory
		for _, rule := range lists.Security {
			for _, one := range rule.conditions {
				if one.points != nil && len(*one.points) > fewSpans {
					kept[&(*one.points)[0]] = len(*one.points)
				}
				for _, list := range one.textLists() {
					kept[&list[0]] = len(list)
				}
			}
		}
		all := 0
		for _, count := range kept {
			all += count
		}
		if most := ofSetMost + rules; groups.read > ofSetMost || all > most {
			t.Errorf("%s: %d are read, and %d kept, of at most %d", name, groups.read, all, most)
		}
		if took > 50<<20 || looked > 8<<20 {
			t.Errorf("%s: %d MB to read, %d MB to compare", name, took>>20, looked>>20)
		}
	}
}

func (c *condition) textLists() [][]text {
	if c.texts == nil {
		return nil
	}
	return c.texts.lists
}

// Rules that share a group are still compared by what is in it, and those that may read no more of it by its uuid.
func TestWhatIsReadOfGroupsIsCompared(t *testing.T) {
	all := &Groups{}
	for _, name := range strings.Fields("a b c d e f g h i j") {
		all.AddStrings(groupOf(name, 10_000))
	}
	behind := "r%d never matches: rule %q before it (http_security_policy.rules[%d]) takes all that it would"
	for _, c := range []struct {
		lines []string
		want  []string
	}{
		{[]string{"group:path^a", "group:path^b", "path=/A/p77/x", "case:path^/b/p9999/",
			"path^/c/p1/", "group:path=a"},
			[]string{fmt.Sprintf(behind, 2, "r0", 0), fmt.Sprintf(behind, 3, "r1", 1),
				fmt.Sprintf(behind, 5, "r0", 0)}},
		{[]string{"group:path^a|b", "path=/a/p77/x", "group:path^a|b host=x", "group:path^a|b"},
			[]string{fmt.Sprintf(behind, 2, "r0", 0), fmt.Sprintf(behind, 3, "r0", 0)}},
		{[]string{"group:path$a|b", "group:path$b|a"}, nil},
	} {
		lines := slices.Clone(c.lines)
		for i := range lines {
			lines[i] = "security close " + lines[i]
		}
		if got := said(Of(setOf(lines...), all).Find()); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q", c.lines, got)
		}
	}
}
