package plan

import (
	"testing"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

func TestNobodyIsToldThatGatewaysAreNotWatchedWhoDoesNotWantIt(t *testing.T) {
	for _, vrf := range []*kinds.VrfContext{
		{}, {InternalGatewayMonitor: &kinds.InternalGatewayMonitor{Disabled: true},
			GatewayMonitors: []kinds.GatewayMonitor{}},
	} {
		var report report
		warnUnheeded(about("vrfcontext", vrf.Identity, vrf.Named), unheededOfVrfContext, vrf, &report)
		if len(report.findings) != 0 {
			t.Errorf("%+v: %v", vrf, report.findings)
		}
	}
}
