package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/topology"
)

// Each engine would let the whole rate pass by itself. When one dies, the other has all of it.
func TestClientHasTheRateOfItsLimitOnceOverTwoEngines(t *testing.T) {
	const perS, seconds = 100, 8
	f := setUpFabric(t, 2, func(*topology.Topology) {})
	f.create("applicationprofile", client.Object{"name": "limited", "type": "APPLICATION_PROFILE_TYPE_HTTP",
		"http_profile": object{}, "dos_rl_profile": object{"rl_profile": object{"client_ip_requests_rate_limit": object{
			"rate_limiter": object{"count": perS, "period": 1}, "action": object{"type": "RL_ACTION_LOCAL_RSP"}}}}})
	f.change("virtualservice", "web", func(o client.Object) {
		o["application_profile_ref"] = client.Ref("applicationprofile", "limited")
	})
	f.eventually("both engines know the limit", func() error {
		runtime := fmt.Sprint(f.runtime("virtualservice", "web"))
		if !strings.Contains(runtime, "applied on 2 of 2") {
			return fmt.Errorf("%s", runtime)
		}
		return nil
	})
	// One address is one client.
	flags := append(clients.Sources(f.site.Topology.ClientNodes()[0])[:2], "--url", clearURL, "--rate",
		strconv.Itoa(10*perS), "--connections", "64", "--requests-per-connection", "0", "--duration",
		fmt.Sprintf("%ds", seconds), "--server-header", lab.AskedBy)
	asks := func(engines int, least float64) {
		t.Helper()
		report, err := f.client.Load(f.ctx, flags...)
		f.must(err)
		delete(report.PerValue, "(none)") // what engines answered themselves
		passes := float64(perS * (seconds + 1))
		t.Logf("%d of %.0f pass, %d are refused, by %v", report.Requests, passes, report.ErrorTotal, report.PerValue)
		if passed := float64(report.Requests); passed < least*passes || passed > 1.1*passes {
			t.Errorf("%d requests pass of %.0f", report.Requests, passes)
		}
		if len(report.PerValue) != engines || report.ErrorTotal != report.Errors["status"] {
			t.Errorf("%v answer; errors: %v", report.PerValue, report.Errors)
		}
	}
	asks(2, 0.9)
	f.must(f.namespace("engine-2").Kill())
	f.untilHops("engine-1")
	// The other one may go on without the controller: its part is left to it for ten seconds.
	time.Sleep(12 * time.Second)
	asks(1, 0.9)
}
