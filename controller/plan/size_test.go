package plan

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
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
	if has("a") || !has("m") || !has("n") {
		t.Errorf("the Plan has a: %v, m: %v, n: %v", has("a"), has("m"), has("n"))
	}
	// The others need less, so there is room.
	if found := turn(3, service("m", 80, "far")+service("n", 81, "far")); len(found) > 0 || !has("a") || !has("m") {
		t.Errorf("found %v", found)
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
				if kept.assemblies[engine].isFull {
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
