package runtime

import (
	"fmt"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/slowness"
)

// stage is a fleet and its pages.
type stage struct {
	*fleettest.Stage
	*Pages
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := fleettest.New(t)
	return &stage{s, New(s.Fleet, noneSlow, nil, func() time.Time { return s.Now })}
}

func noneSlow(string) []slowness.Server { return nil }

func (s *stage) state(want string) {
	s.Helper()
	if status := s.VirtualService("vs-1")["oper_status"].(schema.Object); status["state"] != want {
		s.Errorf("want %s, got %v", want, status)
	}
}

func TestVirtualServiceIsUpWhenOneEngineServesItAndOneServerIsUp(t *testing.T) {
	s := newStage(t)
	s.state("OPER_DOWN")
	s.Contains(s.VirtualService("vs-1")["oper_status"], "engine one is not connected", "engine two is not connected")
	s.Serve("se-one")
	s.Contains(
		s.VirtualService("vs-1")["oper_status"], "OPER_DOWN", "pool web-pool is not up", "no engine has checked it yet",
	)
	s.Judge("se-one", "10.0.0.1:80", false, "connection refused")
	s.Contains(s.VirtualService("vs-1")["oper_status"], "OPER_DOWN", "server 10.0.0.1:80: connection refused")
	s.Judge("se-one", "10.0.0.2:80", true, "")
	s.state("OPER_UP")
	s.Contains(s.VirtualService("vs-1"), "percent_ses_up:50", "applied on 1 of 2 engines", "vip_id:1")
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Status{Status: &enginev1.Status{
		Dataplane: enginev1.DataplaneState_DATAPLANE_STATE_BACKING_OFF, Reason: "exit status 101",
	}}})
	s.Contains(
		s.VirtualService("vs-1")["oper_status"], "OPER_DOWN",
		"engine one has a data plane that is backing off: exit status 101",
	)
}

func TestVirtualServiceThatIsOffSaysSo(t *testing.T) {
	s := newStage(t)
	s.VS.TrafficEnabled = false
	s.Want(11)
	s.Contains(s.VirtualService("vs-1")["oper_status"], "OPER_DISABLED", "traffic_enabled is false")
	s.VS.Enabled = false
	s.Contains(s.VirtualService("vs-1")["oper_status"], "OPER_DISABLED", "enabled is false")
}

func TestAppliedCountsTheNewestStateOfTheVirtualServiceAndItsParts(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	s.Contains(s.VirtualService("vs-1")["applied"], "applied on 2 of 2 engines", "revision:10")
	plans := s.Want(11, "vs-1", "pool-1")
	s.Contains(s.VirtualService("vs-1")["applied"], "applied on 0 of 2 engines", "revision:11")
	s.Applied("se-two", plans["se-two"], nil)
	s.Contains(s.VirtualService("vs-1")["applied"], "applied on 1 of 2 engines")
}

func TestRefusalNamesTheEngineAndGoesWithTheNextPlanThatIsApplied(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	plans := s.Want(11, "vs-1", "pool-1")
	s.Applied("se-two", plans["se-two"], nil)
	s.Refused("se-one", plans["se-one"], []*dataplanev1.Finding{
		{Kind: "virtualservice", Uuid: "vs-1", Name: "web", Field: "services[0]", Message: "in use"},
		{Kind: "virtualservice", Uuid: "vs-2", Name: "other", Field: "services[0]", Message: "not this one's fault"},
	})
	runtime := s.VirtualService("vs-1")
	s.Contains(runtime["warnings"], "engine:one", "field:services[0]", "in use")
	if text := fmt.Sprint(runtime["warnings"]); strings.Contains(text, "not this one's fault") {
		t.Errorf("blamed for another: %s", text)
	}
	s.Contains(runtime["applied"], "applied on 1 of 2 engines", "refusals", "engine:one")
	s.Contains(s.Engine("se-one"), "refusal", "not this one's fault")
	if facts := s.Facts(); facts["se-one"].Refuses == "" || facts["se-two"].Refuses != "" {
		t.Error("who refuses is mixed up")
	}
	s.Applied("se-one", plans["se-one"], nil) // the engine applied it at the second attempt
	if warnings := s.VirtualService("vs-1")["warnings"].([]any); len(warnings) != 0 ||
		s.Facts()["se-one"].Refuses != "" {
		t.Errorf("still there: %v", warnings)
	}
}

func TestVirtualServiceThatIsDownForARefusalSaysWhy(t *testing.T) {
	s := newStage(t)
	s.Connected("se-one", &enginev1.Hello{Status: fleettest.Running})
	s.Refused("se-one", s.State.Plans["se-one"], []*dataplanev1.Finding{
		{Kind: "virtualservice", Uuid: "vs-1", Name: "web", Field: "services[0]", Message: "port 80 is in use"},
	})
	s.Contains(s.VirtualService("vs-1")["oper_status"], "OPER_DOWN",
		"engine one refused revision 10: virtualservice web: services[0]: port 80 is in use",
		"engine two is not connected")
}

func TestVirtualServiceThatWaitsForEnginesSaysSoAndWhy(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	s.Judge("se-one", "10.0.0.1:80", true, "")
	lacking := s.State
	lacking.Unplaced = []place.Unplaced{
		{VirtualService: "vs-1", Wanted: 8, Placed: 2, Why: "group web has no engine left: let one join"},
	}
	s.Observe(lacking)
	s.Contains(
		s.VirtualService("vs-1")["oper_status"], "OPER_UP",
		"it is on 2 of 8 engines: group web has no engine left: let one join",
	)
	lacking.Unplaced = nil
	s.Observe(lacking)
	if reasons := s.VirtualService("vs-1")["oper_status"].(schema.Object)["reason"].([]any); len(reasons) > 0 {
		t.Errorf("nothing is lacking any more: %v", reasons)
	}
}

func TestFindingOfTheControllerIsAWarningAndKeepsWhatIsLeftOutDown(t *testing.T) {
	s := newStage(t)
	s.Want(11) // the Plan has no resources
	state := s.State
	state.Findings = []model.Finding{
		{Kind: "virtualservice", UUID: "vs-1", Name: "web", Field: "vsvip_ref", Message: "has no address"},
		{Kind: "serviceenginegroup", UUID: "group-1", Name: "group", Field: "se_mtu", Message: "has no effect"},
		{Kind: "pool", UUID: "pool-9", Name: "other", Field: "x", Message: "nothing to do with it"},
	}
	s.Observe(state)
	runtime := s.VirtualService("vs-1")
	s.Contains(runtime["oper_status"], "OPER_DOWN", "vsvip_ref: has no address")
	s.Contains(runtime["applied"], "applied on 0 of 2 engines")
	if warnings := runtime["warnings"].([]any); len(warnings) != 2 {
		t.Errorf("got %v", warnings)
	}
}

func TestProgressCountsTheEnginesThatServeWhatConsistsOfAnObject(t *testing.T) {
	s := newStage(t)
	s.Serve("se-one", "se-two")
	plans := s.Want(11, "vs-1", "pool-1")
	s.Pages.has(t, 11, "pool-1", "applied on 0 of 2 engines", "considered:true", "virtual_services:1")
	s.Pages.has(t, 12, "pool-1", "considered:false")
	s.Applied("se-two", plans["se-two"], nil)
	s.Pages.has(t, 11, "vs-1", "applied on 1 of 2 engines", "revision:11")
	s.Pages.has(t, 11, "", "applied on 1 of 2 engines")
	s.Pages.has(t, 12, "", "applied on 0 of 0 engines")
	s.Pages.has(t, 11, "another", "applied on 0 of 0 engines", "virtual_services:0")
	s.Refused("se-one", plans["se-one"], []*dataplanev1.Finding{
		{Kind: "virtualservice", Uuid: "vs-1", Name: "web", Field: "services[0]", Message: "in use"},
	})
	s.Pages.has(t, 11, "pool-1", "engine:one", "in use")
}

func (p *Pages) has(t *testing.T, revision int64, uuid string, texts ...string) {
	t.Helper()
	page := fmt.Sprint(p.Progress(revision, uuid))
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("progress of %q since %d is %s; want %q", uuid, revision, page, text)
		}
	}
}
