package plan

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/sorted"
)

func TestVirtualServiceForWhichAPlanHasNoRoomIsLeftOutAndTheOthersStay(t *testing.T) {
	const users = `
ipaddrgroup { "name": "home", "country_codes": ["DE"] }
ipaddrgroup { "name": "far", "country_codes": ["FR"] }
networksecuritypolicy {
  "name": "home",
  "rules": [{"name": "home", "index": 1, "enable": true, "action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_ALLOW",
    "match": {"client_ip": {"match_criteria": "IS_IN", "group_refs": ["/api/ipaddrgroup?name=home"]}}}]
}
networksecuritypolicy {
  "name": "far",
  "rules": [{"name": "far", "index": 1, "enable": true, "action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_ALLOW",
    "match": {"client_ip": {"match_criteria": "IS_IN", "group_refs": ["/api/ipaddrgroup?name=far"]}}}]
}
`
	service := func(name string, port int, policy string) string {
		return fmt.Sprintf(`
virtualservice {
  "name": "%s", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": %d}],
  "network_security_policy_ref": "/api/networksecuritypolicy?name=%s"
}
`, name, port, policy)
	}
	keeper := model.Keeper{Countries: model.Countries{"DE": rangesOf(1000), "FR": rangesOf(500)}}
	c := &Compiler{bytesMost: 32_000}
	var plan *enginev1.Plan
	turn := func(revision int64, text string) []model.Finding {
		m, _ := keeper.Keep(revision, changesOf(objectsIn(t, users+text)))
		c.Turn(m, nil, placed(m))
		var findings []model.Finding
		plan, findings = c.Compile(engineUUID, plan)
		return findings
	}
	has := func(name string) bool {
		return sorted.Find(plan.GetResources(), "virtualservice-"+name, (*enginev1.Resource).GetUuid) != nil
	}
	// Two virtual services with one group: it counts once.
	if found := turn(1, service("m", 80, "home")+service("n", 81, "home")); len(found) > 0 || !has("m") || !has("n") {
		t.Fatalf("found %v", found)
	}
	// A third one, which comes first by its uuid, brings another group.
	found := turn(2, service("a", 82, "far"))
	if len(found) != 1 || found[0].Name != "a" || !strings.Contains(found[0].Message, "ipaddrgroup far") ||
		!strings.Contains(found[0].Message, "use smaller address groups") {
		t.Errorf("found %v", found)
	}
	if noRoom := c.NoRoom(engineUUID); len(noRoom) != 1 || !noRoom["virtualservice-a"] {
		t.Errorf("there is no room for %v", noRoom)
	}
	if has("a") || !has("m") || !has("n") {
		t.Errorf("the Plan has a: %v, m: %v, n: %v", has("a"), has("m"), has("n"))
	}
	// A controller that starts knows no Plan before, but since when the engine has served what.
	m, _ := keeper.Keep(3, changesOf(objectsIn(t, users+service("m", 80, "home")+service("n", 81, "home")+
		service("a", 82, "far"))))
	seats := placed(m)
	for _, assignment := range seats {
		seat := &assignment.Seats[0]
		if seat.State, seat.Since = place.Serving, time.Unix(100, 0); assignment.VirtualService == "virtualservice-a" {
			seat.State, seat.Since = place.Starting, time.Unix(50, 0)
		}
	}
	started := &Compiler{bytesMost: c.bytesMost}
	started.Turn(m, nil, seats)
	if anew, _ := started.Compile(engineUUID, nil); !Same(anew, plan) {
		t.Errorf("after a start, the Plan has %v", uuidsIn(anew))
	}
	// The others need less, so there is room.
	if found := turn(4, service("m", 80, "far")+service("n", 81, "far")); len(found) > 0 || !has("a") || !has("m") {
		t.Errorf("found %v", found)
	}
}

func TestParentThatGrowsKeepsItsRoomAndTheChildrenThatFit(t *testing.T) {
	page := func(name, body string) string {
		return fmt.Sprintf(`
errorpagebody { "name": "%[1]s", "error_page_body": "%[2]s" }
errorpageprofile {
  "name": "%[1]s",
  "error_pages": [{"index": 0, "enable": true, "match": {"match_criteria": "IS_IN", "status_codes": [503]},
    "error_page_body_ref": "/api/errorpagebody?name=%[1]s"}]
}
`, name, body)
	}
	parent := func(body string) string {
		return page("page", body) + `
virtualservice {
  "name": "parent", "type": "VS_TYPE_VH_PARENT", "vh_type": "VS_TYPE_VH_ENHANCED",
  "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], "services": [{"port": 80}],
  "error_page_profile_ref": "/api/errorpageprofile?name=page"
}
virtualservice {
  "name": "a-alone", "vip": [{"ip_address": {"addr": "192.0.2.2", "type": "V4"}}], "services": [{"port": 80}]
}
`
	}
	children := ""
	for i := range 6 {
		children += page(fmt.Sprint("page-", i), strings.Repeat("x", 1000)) + fmt.Sprintf(`
virtualservice {
  "name": "child-%d", "type": "VS_TYPE_VH_CHILD", "vh_type": "VS_TYPE_VH_ENHANCED",
  "vh_parent_vs_ref": "/api/virtualservice?name=parent",
  "vh_matches": [{"host": "child-%d.test", "rules": [{"name": "all", "matches": {}}]}],
  "error_page_profile_ref": "/api/errorpageprofile?name=page-%d"
}
`, i, i, i)
	}
	var keeper model.Keeper
	var plan *enginev1.Plan
	turn := func(revision int64, text string, most int) (findings []model.Finding) {
		m, _ := keeper.Keep(revision, changesOf(objectsIn(t, text)))
		c := &Compiler{bytesMost: most}
		c.Turn(m, nil, placed(m))
		plan, findings = c.Compile(engineUUID, plan)
		return findings
	}
	served := func() (names []string) {
		for _, resource := range plan.GetResources() {
			if strings.HasPrefix(resource.GetUuid(), "virtualservice-") {
				names = append(names, resource.GetVirtualService().GetName())
			}
		}
		return names
	}
	if found := turn(1, parent("page")+children, 1<<20); len(found) > 0 || len(served()) != 8 {
		t.Fatalf("found %v, served %v", found, served())
	}
	bytes := 0
	for _, resource := range plan.GetResources() {
		bytes += partOf(resource).bytes
	}
	// The page of the parent needs the room of those of two children.
	found := turn(2, parent(strings.Repeat("x", 1800))+children, bytes+500)
	if names := served(); len(names) != 6 || len(found) != 2 || !slices.Contains(names, "parent") ||
		!slices.Contains(names, "a-alone") {
		t.Errorf("found %v, served %v", found, names)
	}
}

func TestKeptPlansWithoutRoomAreThoseThatWouldBeCompiledAnew(t *testing.T) {
	full := 0
	for seed := range uint64(60) {
		r, before := newRevisions(rand.New(rand.NewPCG(seed, 1))), map[string]*enginev1.Plan{}
		const most = 1200
		kept := &Compiler{bytesMost: most}
		for step := range 60 {
			r.next()
			kept.Turn(r.model, r.rings, r.assignments)
			for _, engine := range r.engines {
				plan, findings := kept.Compile(engine, before[engine])
				fresh := &Compiler{bytesMost: most}
				fresh.Turn(r.model, r.rings, r.assignments)
				anew, found := fresh.Compile(engine, before[engine])
				if !proto.Equal(plan, anew) || !reflect.DeepEqual(findings, found) {
					t.Fatalf("seed %d, step %d: %s has\n%v\n%v\nand would have\n%v\n%v", seed, step,
						engine, plan, findings,
						anew, found)
				}
				again := &Compiler{bytesMost: most}
				again.Turn(r.model, r.rings, r.assignments)
				if next, _ := again.Compile(engine, plan); !Same(plan, next) {
					t.Errorf("seed %d, step %d: %s has\n%v\nand would have next\n%v", seed, step, engine,
						uuidsIn(plan), uuidsIn(next))
				}
				if len(kept.NoRoom(engine)) > 0 {
					full++
				}
				before[engine] = plan
			}
		}
	}
	if full < 20 {
		t.Errorf("only %d Plans were full", full)
	}
}

func uuidsIn(plan *enginev1.Plan) (uuids []string) {
	for _, resource := range plan.GetResources() {
		uuids = append(uuids, fmt.Sprint(resource.GetUuid(), " ", partOf(resource).bytes))
	}
	return uuids
}
