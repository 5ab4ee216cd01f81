package plan

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// heededOfGroup has the fields on which place, cloud and engines act, and those that identify a group.
// use_dp_util_for_scaleout asks for what Weir does anyway.
var heededOfGroup = strings.Fields(`
	uuid name url _last_modified configpb_attributes weir_warnings tenant_ref cloud_ref description markers cloud_config_cksum labels
	ha_mode algo buffer_se min_scaleout_per_vs max_scaleout_per_vs min_se max_se max_vs_per_se vs_host_redundancy
	distribute_load_active_standby se_deprovision_delay vs_scalein_timeout vs_scaleout_timeout
	auto_rebalance auto_rebalance_interval auto_rebalance_criteria auto_rebalance_capacity_per_se max_cpu_usage min_cpu_usage
	use_dp_util_for_scaleout aggressive_failure_detection bgp_peer_monitor_failover_enabled disable_flow_probes
	weir_worker_pinning`)

func TestEachSettingOfAGroupIsHeededOrItsOperatorIsTold(t *testing.T) {
	told := map[string]bool{}
	for _, setting := range unheededOfGroup.settings {
		if told[setting.field] {
			t.Errorf("%s is in the table twice", setting.field)
		}
		told[setting.field] = true
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[kinds.ServiceEngineGroup]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			continue // embedded
		}
		if heeded := slices.Contains(heededOfGroup, name); heeded == told[name] {
			t.Errorf("%s: heeded %v, told of %v", name, heeded, told[name])
		}
	}
}

func TestSettingsOfAGroupThatAreAsUsualAreNotToldOf(t *testing.T) {
	usual := *schema.Defaults[kinds.ServiceEngineGroup]()
	usual.FloatingIntfIPs = []kinds.IPAddr{}
	for _, setting := range unheededOfGroup.settings {
		if setting.set(&usual) {
			t.Errorf("%s is as usual", setting.field)
		}
	}
}

func TestAnEngineIsToldOfNoOtherWhereTheGroupHasThemPassNothingOn(t *testing.T) {
	for probes, want := range map[string]string{"false": "[10.1.0.11 10.1.0.12]", "true": "[10.1.0.11]"} {
		group := fmt.Sprintf(`serviceenginegroup {"name": "Default-Group", "disable_flow_probes": %s}`, probes)
		m, _ := model.Build(7, objectsIn(t, readGolden(t, "routes_over_bgp")+"\n"+group+"\n"))
		var assignments []place.Assignment
		for _, vs := range m.VirtualServices {
			assignments = append(assignments, place.Assignment{VirtualService: vs.UUID, Seats: []place.Seat{
				{Engine: engineUUID, State: place.Serving, NextHop: netip.MustParseAddr("10.1.0.11")},
				{Engine: "se-other", State: place.Serving, NextHop: netip.MustParseAddr("10.1.0.12")},
			}})
		}
		compiled, _ := compilerOf(m, nil, place.Assignments(nil).With(assignments)).Compile(engineUUID, nil)
		advertised := 0
		for _, resource := range compiled.GetResources() {
			if made := resource.GetAdvertisement(); made != nil {
				advertised++
				if hops := fmt.Sprint(made.GetNextHops()); hops != want {
					t.Errorf("disable_flow_probes %s: %s has %s, not %s", probes, made.GetUuid(), hops, want)
				}
			}
		}
		if advertised == 0 {
			t.Error("nothing is advertised: nothing is proved")
		}
	}
}
