package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

const parentOfGroups = `
pool {"name": "web"}
virtualservice {"name": "front", "type": "VS_TYPE_VH_PARENT", "vh_type": "VS_TYPE_VH_ENHANCED", "services": [{"port": 80}],
  "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}],
  "application_profile_ref": "/api/applicationprofile?name=System-HTTP"}
`

// childWith has paths of its own, and those of the string group of its name.
func childWith(name, own string, texts ...string) string {
	pairs := make([]string, len(texts))
	for i, text := range texts {
		pairs[i] = fmt.Sprintf(`{"key": %q}`, text)
	}
	path := fmt.Sprintf(`"match_str": [%q]`, own)
	if len(texts) > 0 {
		path += fmt.Sprintf(`, "string_group_refs": ["/api/stringgroup?name=texts-%s"]`, name)
	}
	return fmt.Sprintf(`stringgroup {"name": "texts-%s", "kv": [%s]}
virtualservice {"name": "%s", "type": "VS_TYPE_VH_CHILD", "vh_type": "VS_TYPE_VH_ENHANCED",
  "vh_parent_vs_ref": "/api/virtualservice?name=front", "pool_ref": "/api/pool?name=web",
  "application_profile_ref": "/api/applicationprofile?name=System-HTTP", "vh_matches": [{"host": "shop.test",
  "rules": [{"name": "r", "matches": {"path": {"match_criteria": "BEGINS_WITH", %s}}}]}]}
`, name, strings.Join(pairs, ","), name, path)
}

// compileAged compiles objects for an engine that has served the virtual service with one name for longest.
func compileAged(t *testing.T, objects, oldest string, before *enginev1.Plan) (*enginev1.Plan, []model.Finding) {
	t.Helper()
	m, findings := model.Build(7, objectsIn(t, objects))
	assignments := place.Assignments(nil)
	for i, vs := range m.VirtualServices {
		since := time.Unix(int64(100+i), 0)
		if vs.Name == oldest {
			since = time.Unix(50, 0)
		}
		assignments = assignments.With([]place.Assignment{{VirtualService: vs.UUID, Seats: []place.Seat{
			{Engine: engineUUID, State: place.Serving, Since: since}}}})
	}
	plan, found := compilerOf(m, nil, assignments).Compile(engineUUID, before)
	return plan, append(findings, found...)
}

func childrenIn(plan *enginev1.Plan) (names []string) {
	for _, resource := range plan.GetResources() {
		if vs := resource.GetVirtualService(); vs.GetParentUuid() != "" {
			names = append(names, vs.GetName())
		}
	}
	slices.Sort(names)
	return names
}

// The same child wins on all engines, whatever they served before, and for how long.
func TestTextsOfGroupsTakeNothingFromOtherChildren(t *testing.T) {
	for name, test := range map[string]struct {
		before, after, served, loser, finding string
		others                                int // findings of the loser
	}{
		"a text of its own goes before that of a group": {
			before: childWith("aaa", "/own", "/x") + childWith("cart", "/cart"),
			after:  childWith("aaa", "/own", "/x", "/Cart") + childWith("cart", "/cart"),
			served: "cart", loser: "aaa",
			finding: `what it wants by string group texts-aaa ("/Cart") is wanted by child cart of the same parent already`,
		},
		"the names do not count for that": {
			before: childWith("zzz", "/own", "/x") + childWith("cart", "/cart"),
			after:  childWith("zzz", "/own", "/x", "/cart") + childWith("cart", "/cart"),
			served: "cart", loser: "zzz",
			finding: `what it wants by string group texts-zzz ("/cart") is wanted by child cart of the same parent already`,
		},
		"of two groups, that of the first child by name goes first": {
			before: childWith("blue", "/blue", "/x") + childWith("green", "/green", "/y"),
			after:  childWith("blue", "/blue", "/x", "/y", "/z") + childWith("green", "/green", "/y", "/z"),
			served: "blue", loser: "green",
			finding: `what it wants by string group texts-green ("/y") is wanted by child blue of the same parent already`,
		},
		"a child that does not get its texts takes none": {
			before: childWith("blue", "/blue", "/x") + childWith("cart", "/cart") + childWith("green", "/green", "/y"),
			after: childWith("blue", "/blue", "/cart", "/y") + childWith("cart", "/cart") +
				childWith("green", "/green", "/y"),
			served: "cart green", loser: "blue", others: 1, // about /y
			finding: `what it wants by string group texts-blue ("/cart") is wanted by child cart of the same parent already`,
		},
		"one child may have a text twice": {
			before: childWith("blue", "/blue", "/x"), after: childWith("blue", "/blue", "/BLUE"), served: "blue",
		},
	} {
		for _, oldest := range []string{"aaa", "blue", "cart", "green", "zzz", ""} {
			served, findings := compileAged(t, parentOfGroups+test.before, oldest, nil)
			if len(findings) > 0 || len(childrenIn(served)) != strings.Count(test.before, "VS_TYPE_VH_CHILD") {
				t.Fatalf("%s: before, %v are served: %v", name, childrenIn(served), findings)
			}
			for _, before := range []*enginev1.Plan{nil, served} {
				plan, findings := compileAged(t, parentOfGroups+test.after, oldest, before)
				if got := strings.Join(childrenIn(plan), " "); got != test.served {
					t.Errorf("%s: %s is oldest, Plan before %t: %s are served", name, oldest, before != nil, got)
				}
				if test.loser == "" && len(findings) == 0 {
					continue
				}
				if len(findings) != 1+test.others || findings[0].Name != test.loser ||
					findings[0].Message != test.finding ||
					findings[0].Field != "vh_matches[0].rules[0]" {
					t.Errorf("%s: %s is oldest, Plan before %t: findings %v", name, oldest, before != nil, findings)
				}
			}
		}
	}
}

// A newcomer takes a path of its own from the group of a child that is served.
func TestNewChildWithATextOfItsOwnGoesBeforeAGroupThatIsServed(t *testing.T) {
	before, _ := compileAged(t, parentOfGroups+childWith("aaa", "/own", "/cart"), "aaa", nil)
	plan, findings := compileAged(t, parentOfGroups+childWith("aaa", "/own", "/cart")+childWith("new", "/cart"), "aaa",
		before)
	if got := childrenIn(plan); !slices.Equal(got, []string{"new"}) || len(findings) != 1 ||
		!strings.Contains(findings[0].Message, "string group texts-aaa") {
		t.Errorf("%v are served, findings %v", got, findings)
	}
}
