package detour

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/weir-lb/weir/agent/plan"
)

// planOf advertises addresses from engines, a virtual service per pair.
func planOf(advertised ...[2][]string) *plan.Plan {
	made := &plan.Plan{}
	for _, each := range advertised {
		said := plan.Advertisement{Engines: addresses(each[1]...)}
		for _, address := range addresses(each[0]...) {
			said.VIPs = append(said.VIPs, plan.VIP{Address: address})
		}
		made.Advertisements = append(made.Advertisements, said)
	}
	return made
}

func addresses(texts ...string) (all []netip.Addr) {
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func TestPlansSayWhichOtherEnginesHoldFlowsToAnAddress(t *testing.T) {
	own := netip.MustParseAddr("10.1.0.11")
	alone := planOf([2][]string{{"3.3.3.3"}, {"10.1.0.11"}})
	shared := planOf(
		[2][]string{{"3.3.3.3", "fd03::3"}, {"10.1.0.11", "10.1.0.12"}},
		[2][]string{{"3.3.3.3"}, {"10.1.0.13"}}, // another port of the same address
		[2][]string{{"3.3.3.4"}, {"10.1.0.11", "fd00:1::c"}},
	)
	for name, c := range map[string]struct {
		own   netip.Addr
		plans []*plan.Plan
		want  siblings
	}{
		"alone":   {own, []*plan.Plan{alone}, siblings{}},
		"nowhere": {netip.Addr{}, []*plan.Plan{shared}, siblings{}},
		"reached by IPv6 alone": {netip.MustParseAddr("fd00:1::b"), []*plan.Plan{shared}, siblings{
			netip.MustParseAddr("3.3.3.4"): addresses("fd00:1::c"),
		}},
		"no Plan served before": {own, []*plan.Plan{nil, alone}, siblings{}},
		"what serves and what comes": {own, []*plan.Plan{shared, alone}, siblings{
			netip.MustParseAddr("3.3.3.3"): addresses("10.1.0.12", "10.1.0.13"),
			netip.MustParseAddr("fd03::3"): addresses("10.1.0.12"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var from []netip.Addr
			if c.own.IsValid() {
				from = append(from, c.own)
			}
			if got := wishOf(from, c.plans...); !reflect.DeepEqual(got.vips, c.want) {
				t.Errorf("got %v, want %v", got.vips, c.want)
			}
		})
	}
}
