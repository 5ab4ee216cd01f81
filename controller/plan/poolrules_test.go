package plan

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

func TestMoreRulesForPoolsThanEnginesTakeCloseTheirVirtualServiceAlone(t *testing.T) {
	for rules, served := range map[int]bool{poolRulesMax / 2: true, poolRulesMax/2 + 1: false} {
		var text strings.Builder
		text.WriteString(`pool {"name": "p", "servers": [{"ip": {"addr": "10.0.0.1", "type": "V4"}}]}` + "\n")
		for _, set := range []string{"one", "other"} {
			var made []string
			for at := range rules {
				made = append(made, fmt.Sprintf(
					`{"name": "r%d", "index": %d, "action": {"select_pool": {"action_type": `+
						`"L4_RULE_ACTION_SELECT_POOL", "pool_ref": "/api/pool?name=p"}}}`, at, at+1))
			}
			fmt.Fprintf(&text, `l4policyset {"name": %q, "l4_connection_policy": {"rules": [%s]}}`+"\n", set,
				strings.Join(made, ","))
		}
		text.WriteString(`virtualservice {"name": "v", "vip": [{"ip_address": {"addr": "192.0.2.1", "type": "V4"}}], ` +
			`"services": [{"port": 80}], "pool_ref": "/api/pool?name=p", ` +
			`"application_profile_ref": "/api/applicationprofile?name=System-L4-Application", "l4_policies": [` +
			`{"index": 1, "l4_policy_set_ref": "/api/l4policyset?name=one"}, ` +
			`{"index": 2, "l4_policy_set_ref": "/api/l4policyset?name=other"}]}` + "\n")
		m, _ := model.Build(7, objectsIn(t, text.String()))
		assignment := place.Assignment{VirtualService: m.VirtualServices[0].UUID, Seats: []place.Seat{
			{Engine: engineUUID, State: place.Serving, NextHop: netip.MustParseAddr("10.1.0.11")}}}
		compiled, findings := compilerOf(m, nil, place.Assignments(nil).With([]place.Assignment{assignment})).
			Compile(engineUUID, nil)
		there := false
		for _, resource := range compiled.GetResources() {
			there = there || resource.GetVirtualService() != nil
		}
		if said := strings.Contains(fmt.Sprint(findings), "engines try at most 1024"); there != served ||
			said == served {
			t.Errorf("two sets of %d rules: served %v; %v", rules, there, findings)
		}
	}
}
