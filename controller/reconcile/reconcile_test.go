package reconcile_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/reconcile"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/tickets"
)

// stage is a controller. The input of its next step stands for its store and its engines.
type stage struct {
	*testing.T
	reconcile.Reconciler
	in reconcile.Input
}

// newStage returns a stage with one group. The engines of the group are up and hold nothing.
func newStage(t *testing.T, engines ...string) *stage {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	group := &model.Group{ServiceEngineGroup: *schema.Defaults[kinds.ServiceEngineGroup]()}
	group.UUID, group.MinScaleoutPerVS, group.MaxSE = "group", 1, 10
	s := &stage{T: t, in: reconcile.Input{
		Input: place.Input{
			Model: &model.Model{Revision: 1, Groups: []*model.Group{group}}, Engines: map[string]place.Engine{},
			Began: now.Add(-time.Hour), Now: now,
		},
		Usage:  func() map[string]place.Usage { return nil },
		Secret: func() []byte { return bytes.Repeat([]byte{1}, tickets.SecretBytes) },
	}}
	s.setEngines(engines...)
	return s
}

// change changes the objects, at the next revision. Models that earlier steps got do not change.
func (s *stage) change(edit func(*model.Model)) {
	next := *s.in.Model
	next.Revision++
	edit(&next)
	s.in.Model = &next
}

// setEngines sets the engines of the group. The new ones are up and hold nothing.
func (s *stage) setEngines(uuids ...string) {
	s.change(func(m *model.Model) {
		group := *m.Groups[0]
		m.Engines = nil
		for _, uuid := range uuids {
			engine := &model.Engine{Group: &group}
			engine.UUID, engine.Name, engine.EnableState = uuid, uuid, "SE_STATE_ENABLED"
			m.Engines = append(m.Engines, engine)
			if _, known := s.in.Engines[uuid]; !known {
				s.hear(uuid, place.Engine{Up: true, Since: s.in.Began, Plan: place.Settled, Told: true})
			}
		}
		group.Engines, m.Groups = m.Engines, []*model.Group{&group}
		m.VirtualServices = slices.Clone(m.VirtualServices)
		for i, vs := range m.VirtualServices {
			own := *vs
			own.Group, m.VirtualServices[i] = &group, &own
		}
	})
}

// hear changes what the controller knows about an engine.
func (s *stage) hear(uuid string, facts place.Engine) {
	s.in.Engines = maps.Clone(s.in.Engines)
	s.in.Engines[uuid] = facts
}

// scale places virtual services on a number of engines.
func (s *stage) scale(engines uint32) {
	s.in.Model.Groups[0].MinScaleoutPerVS = engines
	s.setEngines(slices.Sorted(maps.Keys(s.in.Engines))...) // makes the group a new struct
}

// offer puts one virtual service into the group, on a port.
func (s *stage) offer(port uint32) *model.VirtualService {
	vs := &model.VirtualService{
		Group: s.in.Model.Groups[0], Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
		ApplicationProfile: &kinds.ApplicationProfile{Type: "APPLICATION_PROFILE_TYPE_HTTP"},
		HTTP:               schema.Defaults[kinds.HTTPProfile](),
		NetworkProfile:     &kinds.NetworkProfile{Profile: &kinds.NetworkProfileSetting{}},
		TCP:                schema.Defaults[kinds.TCPProxy](),
	}
	vs.UUID, vs.Name, vs.Type, vs.Enabled, vs.TrafficEnabled = "vs", "web", "VS_TYPE_NORMAL", true, true
	vs.Services = []kinds.Service{{Port: port, PortRangeEnd: port}}
	s.change(func(m *model.Model) { m.VirtualServices = []*model.VirtualService{vs} })
	return vs
}

// seat puts a virtual service on one engine, which serves it.
func (s *stage) seat(virtualService, engine string) {
	s.in.Before = s.in.Before.With([]place.Assignment{{VirtualService: virtualService, Seats: []place.Seat{
		{Engine: engine, State: place.Serving, Since: s.in.Now, Cause: place.New},
	}}})
	facts := s.in.Engines[engine]
	facts.Holds = facts.Holds.With(place.Holding{VirtualService: virtualService, Delivery: place.Current,
		Duty: place.Serve, Since: s.in.Now, Clients: place.Led})
	s.hear(engine, facts)
}

// put writes what a step returns to be written.
func (s *stage) put(write *reconcile.Write) {
	s.Helper()
	if write == nil {
		s.Fatal("there is nothing to write")
	}
	rings := map[string]*tickets.Ring{}
	for _, ring := range write.Rings.Changed {
		rings[ring.Profile] = &ring
	}
	for _, profile := range write.Rings.Gone {
		rings[profile] = nil
	}
	s.in.Before, s.in.Rings = s.in.Before.With(write.Changed, write.Gone...), s.in.Rings.Edit(rings)
	s.change(func(*model.Model) {})
}

// settle steps until there is nothing left to write.
func (s *stage) settle() reconcile.Output {
	s.Helper()
	for range 10 {
		out := s.Step(s.in)
		if out.Write == nil {
			return out
		}
		s.put(out.Write)
	}
	s.Fatal("it does not come to a decision")
	return reconcile.Output{}
}

func uuidsIn(plan *enginev1.Plan) (uuids []string) {
	for _, resource := range plan.GetResources() {
		uuids = append(uuids, resource.GetUuid())
	}
	return uuids
}

func serviceIn(plan *enginev1.Plan, uuid string) *dataplanev1.VirtualService {
	for _, resource := range plan.GetResources() {
		if resource.GetUuid() == uuid {
			return resource.GetVirtualService()
		}
	}
	return nil
}

func TestNoPlanSaysADecisionBeforeItIsWritten(t *testing.T) {
	s := newStage(t, "se-1")
	s.settle()
	s.offer(80)
	out := s.Step(s.in)
	if out.Write == nil || len(out.Write.Changed) != 1 {
		t.Fatalf("the step leads to %+v", out)
	}
	if uuids := uuidsIn(out.Plans["se-1"]); slices.Contains(uuids, "vs") {
		t.Errorf("the Plan has %v", uuids)
	}
	if again := s.Step(s.in); again.Write == nil || again.State != nil || again.Plans["se-1"] != out.Plans["se-1"] {
		t.Errorf("it could not be written, and the next step leads to %+v", again)
	}
	s.put(out.Write)
	out = s.Step(s.in)
	if out.Write != nil || out.State == nil || !slices.Contains(uuidsIn(out.Plans["se-1"]), "vs") {
		t.Errorf("it is written, and the step leads to %+v", out)
	}
}

func TestEngineThatServesNothingHasItsPlanWhileADecisionIsWritten(t *testing.T) {
	s := newStage(t, "se-1")
	s.offer(80)
	s.settle()
	s.setEngines("se-1", "se-2")
	s.scale(2)
	out := s.Step(s.in)
	early := out.Plans["se-2"]
	if out.Write == nil || early == nil || slices.Contains(uuidsIn(early), "vs") {
		t.Fatalf("the step leads to %+v", out)
	}
	if again := s.Step(s.in); again.Plans["se-2"] != early {
		t.Error("it gets another Plan that says the same")
	}
	if s.put(out.Write); s.settle().Plans["se-2"].GetRevision() <= early.GetRevision() {
		t.Error("what it shall serve is not newer than what it was told before")
	}
}

func TestEngineThatDrainsGetsNoPlanUntilItIsKnownWhoServesInItsStead(t *testing.T) {
	s := newStage(t, "se-1", "se-2")
	vs := s.offer(80)
	s.in.Before = place.Assignments{{VirtualService: vs.UUID, Seats: []place.Seat{
		{Engine: "se-2", State: place.Serving, Since: s.in.Now, Cause: place.Migrate},
		{Engine: "se-1", State: place.Draining, Since: s.in.Now, Cause: place.Migrate},
	}}}
	holding := func(engine string, duty place.Duty) place.Engine {
		facts := s.in.Engines[engine]
		facts.Holds = place.Holdings{{VirtualService: vs.UUID, Delivery: place.Current, Duty: duty, Since: s.in.Now,
			Clients: place.Led}}
		return facts
	}
	s.hear("se-1", holding("se-1", place.Drain))
	back := holding("se-2", place.Serve)
	delete(s.in.Engines, "se-2")
	s.in.Began = s.in.Now
	out := s.Step(s.in)
	if out.Write != nil || out.State.Plans["se-1"] == nil || out.Plans["se-1"] != nil || out.Plans["se-2"] == nil {
		t.Fatalf("se-2 has not come yet, and the step leads to %+v", out)
	}
	s.hear("se-2", back)
	if out := s.Step(s.in); out.Plans["se-1"] == nil {
		t.Errorf("se-2 serves, and the step leads to %+v", out)
	}
}

func TestOneRevisionIsPlannedOnce(t *testing.T) {
	s := newStage(t, "se-1")
	s.offer(80)
	first := s.settle()
	if first.State == nil {
		t.Fatal("nothing is shown")
	}
	out := s.Step(s.in)
	if out.State != nil || out.Plans["se-1"] != first.Plans["se-1"] {
		t.Errorf("it is planned again: %+v", out)
	}
	s.change(func(*model.Model) {})
	out = s.Step(s.in)
	if out.State == nil || out.State.Model != s.in.Model || out.Plans["se-1"] != first.Plans["se-1"] {
		t.Errorf("objects changed that the engine has nothing to do with: %+v", out)
	}
}

func TestWhatLacksEnginesIsShownAlsoWhenNoObjectChanged(t *testing.T) {
	s := newStage(t, "se-1")
	s.offer(80)
	served := s.settle()
	facts := s.in.Engines["se-1"]
	facts.Up, facts.Since, facts.Plan, facts.Refuses = false, s.in.Now, place.Refused, "port 80 is in use"
	s.hear("se-1", facts)
	out := s.Step(s.in)
	if out.Again.IsZero() {
		t.Fatal("nobody waits for the engine")
	}
	s.in.Now = out.Again
	lost := s.settle()
	if len(served.State.Unplaced) != 0 || lost.State == nil || len(lost.State.Unplaced) != 1 {
		t.Fatalf("its engine is lost, and the step leads to %+v", lost)
	}
	if lost.Plans["se-1"] != served.Plans["se-1"] {
		t.Error("it is planned again")
	}
	if still := s.Step(s.in); still.State != nil {
		t.Errorf("nothing happened, and shown is %+v", still.State)
	}
}

func TestPlanThatWasRefusedIsTriedAgainWithTheNextRevision(t *testing.T) {
	s := newStage(t, "se-1")
	s.offer(80)
	refused := s.settle().Plans["se-1"]
	facts := s.in.Engines["se-1"]
	facts.Plan, facts.Refuses = place.Refused, "port 80 is in use"
	s.hear("se-1", facts)
	s.change(func(*model.Model) {})
	if next := s.settle().Plans["se-1"]; next == refused || next.GetRevision() != uint64(s.in.Model.Revision) {
		t.Errorf("it gets Plan %d at revision %d", next.GetRevision(), s.in.Model.Revision)
	}
}

func TestFindingThatAllEnginesHaveInCommonIsShownOnce(t *testing.T) {
	s := newStage(t, "se-1", "se-2")
	s.scale(2)
	s.offer(80).LimitDoser = true
	s.in.Findings = []model.Finding{{Kind: "pool", UUID: "pool-1", Message: "of the model"}}
	state := s.settle().State
	counts := map[model.Finding]int{}
	for _, finding := range state.Findings {
		counts[finding]++
	}
	if len(counts) < 2 || len(counts) != len(state.Findings) || counts[s.in.Findings[0]] != 1 {
		t.Errorf("found is %+v", state.Findings)
	}
}

// service returns a virtual service on an address of its own, not yet in the model.
func (s *stage) service(uuid string, number byte) *model.VirtualService {
	vs := *s.in.Model.VirtualServices[0]
	vs.UUID, vs.Name, vs.Addresses = uuid, uuid, []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, number})}
	return &vs
}

// acknowledge has an engine report that it has applied a Plan.
func (s *stage) acknowledge(engine string, plan *enginev1.Plan) {
	facts := s.in.Engines[engine]
	facts.Told, facts.Holds = true, nil
	for _, uuid := range uuidsIn(plan) {
		if s.in.Before.Of(uuid).VirtualService != "" {
			facts.Holds = facts.Holds.With(place.Holding{VirtualService: uuid, Delivery: place.Current,
				Duty: place.Serve, Since: s.in.Now, Clients: place.Led})
		}
	}
	s.hear(engine, facts)
}

func TestAChangeReachesItsEngineThoughEveryStepHasSomethingToWrite(t *testing.T) {
	for _, told := range []bool{true, false} { // false: the controller has restarted, and has no Ack yet
		t.Run(fmt.Sprintf("told %v", told), func(t *testing.T) { reachesInTime(t, told) })
	}
}

func reachesInTime(t *testing.T, told bool) {
	const patched = 50
	s := newStage(t, "se-1")
	s.in.Model.Groups[0].MaxVSPerSE = 1000
	s.offer(80)
	s.acknowledge("se-1", s.settle().Plans["se-1"])
	s.settle()
	facts := s.in.Engines["se-1"]
	facts.Told = told
	s.hear("se-1", facts)
	arrived := -1
	for step := range 100 {
		s.change(func(m *model.Model) {
			if step == patched {
				own := *m.VirtualServices[0]
				own.Name = "patched"
				m.VirtualServices = append([]*model.VirtualService{&own}, m.VirtualServices[1:]...)
			}
			added := s.service(fmt.Sprintf("vs-%03d", step), byte(step+2))
			m.VirtualServices = append(slices.Clone(m.VirtualServices), added)
		})
		out := s.Step(s.in)
		if out.Write == nil {
			t.Fatalf("step %d has nothing to write", step)
		}
		if plan := out.Plans["se-1"]; plan != nil {
			s.acknowledge("se-1", plan)
			if arrived < 0 && serviceIn(plan, "vs").GetName() == "patched" {
				arrived = step
			}
		}
		s.put(out.Write)
	}
	if arrived != patched {
		t.Errorf("the change of step %d is in the Plan of step %d", patched, arrived)
	}
}

func TestEngineThatIsCalledBackIsNotToldToDrainFirst(t *testing.T) {
	s := newStage(t, "se-1", "se-2")
	vs := s.offer(80)
	s.in.Before = place.Assignments{{VirtualService: vs.UUID, Seats: []place.Seat{
		{Engine: "se-2", State: place.Serving, Since: s.in.Now, Cause: place.Migrate},
		{Engine: "se-1", State: place.Draining, Since: s.in.Now, Cause: place.Migrate},
	}}}
	facts := s.in.Engines["se-1"] // which has not heard yet that it is to drain
	facts.Holds = place.Holdings{{VirtualService: vs.UUID, Delivery: place.Turning, Duty: place.Serve, Since: s.in.Now,
		Clients: place.Led}}
	s.hear("se-1", facts)
	lost := s.in.Engines["se-2"]
	lost.Up = false
	s.hear("se-2", lost)
	s.in.Now = s.in.Now.Add(time.Minute)
	out := s.Step(s.in)
	if out.Write == nil || out.Plans["se-1"] != nil {
		t.Fatalf("se-2 is lost, and the step leads to %+v", out)
	}
	s.put(out.Write)
	if plan := s.settle().Plans["se-1"]; serviceIn(plan, "vs").GetDuty() != dataplanev1.Duty_DUTY_SERVE {
		t.Errorf("se-1 gets %v", plan)
	}
}

func TestEngineThatMayHaveWhatItIsAboutToGetKeepsItMeanwhile(t *testing.T) {
	for name, edit := range map[string]func(*place.Engine){
		"has not said what it has": func(e *place.Engine) { e.Told = false },
		"was away when the virtual service left it": func(e *place.Engine) {
			e.Holds = place.Holdings{{VirtualService: "vs", Duty: place.Serve, Clients: place.Led}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "se-1", "se-2")
			s.offer(80)
			s.seat("vs", "se-1")
			s.settle()
			lost, facts := s.in.Engines["se-1"], s.in.Engines["se-2"]
			lost.Up = false
			s.hear("se-1", lost)
			edit(&facts)
			s.hear("se-2", facts)
			s.in.Now = s.in.Now.Add(time.Minute)
			out := s.Step(s.in)
			if out.Write == nil || out.Plans["se-2"] != nil {
				t.Fatalf("se-1 is lost, and the step leads to %+v", out)
			}
			s.put(out.Write)
			if plan := s.settle().Plans["se-2"]; serviceIn(plan, "vs") == nil {
				t.Errorf("se-2 gets %v", plan)
			}
		})
	}
}

// newStageOfTwo is settled: two virtual services with addresses of their own, each on an engine of its own.
func newStageOfTwo(t *testing.T) *stage {
	t.Helper()
	s := newStage(t, "se-1", "se-2")
	s.offer(80)
	s.change(func(m *model.Model) { m.VirtualServices = append(m.VirtualServices, s.service("vs-2", 2)) })
	s.seat("vs", "se-1")
	s.seat("vs-2", "se-2")
	s.settle()
	return s
}

func TestEnginesHaveTheirPlansWhileAScaleOutIsWritten(t *testing.T) {
	s := newStageOfTwo(t)
	s.scale(2)
	if out := s.Step(s.in); out.Write == nil || out.Plans["se-1"] == nil || out.Plans["se-2"] == nil {
		t.Errorf("the step leads to %+v", out)
	}
}

func TestNoEngineAnnouncesAnAddressWithOnlySomeOfItsVirtualServices(t *testing.T) {
	s := newStageOfTwo(t)
	s.change(func(m *model.Model) {
		m.VirtualServices = []*model.VirtualService{m.VirtualServices[0], s.service("vs-2", 1)}
		m.VirtualServices[1].Services = []kinds.Service{{Port: 81, PortRangeEnd: 81}}
	})
	out := s.Step(s.in)
	if out.Write == nil || out.Plans["se-1"] != nil || out.Plans["se-2"] != nil {
		t.Fatalf("vs-2 has come to the address of vs, and the step leads to %+v", out)
	}
	s.put(out.Write)
	for engine, plan := range s.settle().Plans {
		if serviceIn(plan, "vs") == nil || serviceIn(plan, "vs-2") == nil {
			t.Errorf("%s gets %v", engine, plan)
		}
	}
}

func TestRingOfSessionTicketsIsWrittenBeforeItIsInAPlan(t *testing.T) {
	s := newStage(t, "se-1")
	profile := schema.Defaults[kinds.SSLProfile]()
	profile.UUID, profile.EnableSSLSessionReuse, profile.SSLSessionTimeoutS = "sslprofile", true, 60
	s.settle()
	s.offer(443).SSLProfile = profile
	out := s.Step(s.in)
	if out.Write == nil || len(out.Write.Rings.Changed) != 1 || slices.Contains(uuidsIn(out.Plans["se-1"]), "vs") {
		t.Fatalf("the step leads to %+v", out)
	}
	s.put(out.Write)
	settled := s.settle()
	if turn := s.in.Now.Add(60 * time.Second); settled.Again.IsZero() || settled.Again.After(turn) {
		t.Fatalf("it is turned at %v, and the next step is at %v", turn, settled.Again)
	}
	s.in.Now = s.in.Now.Add(60 * time.Second)
	out = s.Step(s.in)
	if out.Write == nil || len(out.Write.Changed) != 0 || len(out.Write.Rings.Changed) != 1 ||
		out.Plans["se-1"] != settled.Plans["se-1"] {
		t.Errorf("its time is over, and the step leads to %+v", out)
	}
}

func TestEnginesThatCameWentOrWereDisabledAreToldOnce(t *testing.T) {
	s := newStage(t, "se-1", "se-2", "se-3")
	told := func() (all []string) {
		for _, event := range s.Step(s.in).Engines {
			all = append(all, fmt.Sprintf("%s %s %s", event.ID, event.Engine.Name, event.Message))
		}
		return all
	}
	if first := told(); first != nil {
		t.Errorf("a controller that begins tells %q", first)
	}
	s.setEngines("se-1", "se-3", "se-4")
	s.in.Model.Engines[1].EnableState = "SE_STATE_DISABLED"
	want := []string{
		"SE_ENABLE_STATE_CHANGED se-3 is SE_STATE_DISABLED after SE_STATE_ENABLED",
		"CREATED_SE se-4 has joined", "DELETED_SE se-2 is deleted",
	}
	if then := told(); !slices.Equal(then, want) {
		t.Errorf("told is %q", then)
	}
	if again := told(); again != nil {
		t.Errorf("told again is %q", again)
	}
}

func TestCloudsObserveWhoIsUpAndWhoHasSeats(t *testing.T) {
	s := newStage(t, "se-1", "se-2")
	s.offer(80)
	facts := s.in.Engines["se-2"]
	facts.Up = false
	s.hear("se-2", facts)
	seen := s.Step(s.in).Observation
	up, seated := map[string]bool{"se-1": true, "se-2": false}, map[string]bool{"se-1": true}
	if seen.Model != s.in.Model || len(seen.Needs) != 1 || !maps.Equal(seen.Up, up) ||
		!maps.Equal(seen.Seated, seated) {
		t.Errorf("observed is %+v", seen)
	}
}
