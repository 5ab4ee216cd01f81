package explain

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// stage asks the engines of fleettest, whose virtual service web listens at 10.9.0.1:443.
type stage struct {
	*fleettest.Stage
	explainer *Explainer
	asked     []*dataplanev1.Question
	answers   func(engine string, asked *dataplanev1.Question) *dataplanev1.Explanation // nil: no answer
	late      chan time.Time
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{Stage: fleettest.New(t), late: make(chan time.Time, 1)}
	s.VS.Addresses = []netip.Addr{netip.MustParseAddr("10.9.0.1")}
	s.VS.Services = []kinds.Service{{Port: 443, EnableSSL: true}, {Port: 8000, PortRangeEnd: 8010}}
	s.Want(11, "vs-1", "pool-1")
	for _, engine := range []string{"se-one", "se-two"} {
		s.Connected(engine, &enginev1.Hello{Status: fleettest.Running})
	}
	s.explainer = New(s.Fleet)
	s.explainer.after = func(time.Duration) <-chan time.Time { return s.late }
	s.explainer.Connect(func(engine string, asked *dataplanev1.Question) bool {
		s.asked = append(s.asked, asked)
		if answer := s.answers(engine, asked); answer != nil {
			answer.Id = asked.GetId()
			s.explainer.Heard(engine, answer)
		}
		return true
	})
	return s
}

func everything(string) bool { return true }

func ask(host string) Question {
	return Question{TLS: true, Host: host, Authority: host, Port: 443, Method: "GET", Target: "/",
		Client: netip.MustParseAddrPort("192.0.2.1:50000")}
}

// explain returns what is said of each engine, by its name.
func (s *stage) explain(q Question, sees func(string) bool) map[string]schema.Object {
	s.Helper()
	found, why := s.explainer.Find(q, nil, sees)
	if why != "" {
		s.Fatal(why)
	}
	answer, err := s.explainer.Explain(s.Context(), q, found, nil, sees)
	if err != nil {
		s.Fatal(err)
	}
	said := map[string]schema.Object{}
	for _, engine := range answer["engines"].([]any) {
		page := engine.(schema.Object)
		said[page["name"].(string)] = page
	}
	return said
}

func TestEachEngineThatServesIsAskedAndItsAnswerHasNames(t *testing.T) {
	s := newStage(t)
	s.answers = func(string, *dataplanev1.Question) *dataplanev1.Explanation {
		return &dataplanev1.Explanation{Revision: 11, Workers: 2, VirtualServiceUuid: "vs-1", PoolUuid: "pool-1",
			ServerId: "10.0.0.2:80", Picked: dataplanev1.Picked_PICKED_BY_PERSISTENCE, ServersTotal: 2,
			Servers: []*dataplanev1.Standing{
				{ServerId: "10.0.0.1:80", Eligibility: dataplanev1.Eligibility_ELIGIBILITY_DOWN, Ratio: 1},
				{ServerId: "10.0.0.2:80", Eligibility: dataplanev1.Eligibility_ELIGIBILITY_ELIGIBLE, Connections: 3}}}
	}
	s.Reported("se-one", &enginev1.Report{Body: &enginev1.Report_Verdicts{Verdicts: &enginev1.ServerVerdicts{
		Verdicts: []*enginev1.ServerVerdict{{PoolUuid: "pool-1", ServerId: "10.0.0.1:80", Reason: "HTTP 500"}}}}})
	said := s.explain(ask("shop.test"), everything)
	if len(said) != 2 || len(s.asked) != 2 {
		t.Fatalf("%v", said)
	}
	s.Contains(said["one"], "pool:map[name:web-pool", "server:10.0.0.2:80", "picked_by:persistence", "state:down",
		"reason:HTTP 500", "connections:3", "virtualservice:map[name:web", "revision:11")
	if got := s.asked[0]; got.GetAddress() != "10.9.0.1" || got.GetServerName() != "shop.test" || got.GetPort() != 443 {
		t.Errorf("%v", got)
	}
}

func TestRulesWithoutEffectAreListedForWhoMayReadTheVirtualService(t *testing.T) {
	s := newStage(t)
	s.State.Findings = []model.Finding{
		{Kind: "virtualservice", UUID: "vs-1", Name: "web", Field: "weight", Message: "has no effect"},
		{Kind: "virtualservice", UUID: "vs-1", Name: "web", Field: "http_policies[0]", Message: "never matches",
			Rule: "blue"},
		{Kind: "virtualservice", UUID: "vs-2", Name: "other", Field: "http_policies[0]", Message: "never matches",
			Rule: "green"},
	}
	s.Observe(s.State)
	s.answers = func(string, *dataplanev1.Question) *dataplanev1.Explanation {
		return &dataplanev1.Explanation{VirtualServiceUuid: "vs-1", ChildUuid: "vs-secret"}
	}
	found, _ := s.explainer.Find(ask("shop.test"), nil, everything)
	list := func(sees func(string) bool) []any {
		answer, err := s.explainer.Explain(s.Context(), ask("shop.test"), found, nil, sees)
		if err != nil {
			t.Fatal(err)
		}
		return answer["rules_without_effect"].([]any)
	}
	if all := list(everything); len(all) != 1 {
		t.Errorf("%v", all)
	} else {
		s.Contains(all[0], "rule:blue", "field:http_policies[0]", "why:never matches", "virtualservice:map[name:web")
	}
	if all := list(func(uuid string) bool { return uuid != "vs-1" }); len(all) != 0 {
		t.Errorf("%v", all)
	}
}

func TestEnginesThatCannotAnswerSayWhy(t *testing.T) {
	s := newStage(t)
	s.answers = func(engine string, _ *dataplanev1.Question) *dataplanev1.Explanation {
		if engine == "se-two" {
			return &dataplanev1.Explanation{Error: "its data plane does not run"}
		}
		s.late <- time.Time{} // an engine of an earlier version
		return nil
	}
	said := s.explain(ask("shop.test"), everything)
	s.Contains(said["one"], "error:it has not answered within 3s")
	s.Contains(said["two"], "error:its data plane does not run")
	if len(s.explainer.awaited) != 0 {
		t.Errorf("still awaited: %v", s.explainer.awaited)
	}
	s.Disconnected("se-one", "cut off")
	s.Contains(s.explain(ask("shop.test"), everything)["one"], "error:it is not connected")
	q := ask("shop.test")
	q.Engine = "se-three"
	s.Contains(s.explain(q, everything), "error:it does not serve web")
}

func TestAnEngineThatHasNeverConnectedIsNotAsked(t *testing.T) {
	s := newStage(t)
	fresh := &stage{Stage: fleettest.New(t)}
	fresh.VS.Addresses, fresh.VS.Services = s.VS.Addresses, s.VS.Services
	fresh.Want(11, "vs-1", "pool-1")
	fresh.explainer = New(fresh.Fleet)
	s.Contains(fresh.explain(ask("shop.test"), everything)["one"], "error:it is not connected")
}

func TestAnAnswerOfAnotherEngineDoesNotCount(t *testing.T) {
	s := newStage(t)
	s.answers = func(_ string, asked *dataplanev1.Question) *dataplanev1.Explanation {
		s.explainer.Heard("se-three", &dataplanev1.Explanation{Id: asked.GetId(), ServerId: "6.6.6.6:80"})
		s.explainer.Heard("se-one", &dataplanev1.Explanation{Id: 99})
		return &dataplanev1.Explanation{VirtualServiceUuid: "vs-1"}
	}
	if said := fmt.Sprint(s.explain(ask("shop.test"), everything)); strings.Contains(said, "6.6.6.6") {
		t.Errorf("%s", said)
	}
}

func TestAChildThatTheUserMayNotReadIsHidden(t *testing.T) {
	s := newStage(t)
	s.answers = func(string, *dataplanev1.Question) *dataplanev1.Explanation {
		return &dataplanev1.Explanation{VirtualServiceUuid: "vs-1", ChildUuid: "vs-secret", PoolUuid: "pool-1",
			ServerId: "10.0.0.1:80"}
	}
	said := fmt.Sprint(s.explain(ask("shop.test"), func(uuid string) bool { return uuid == "vs-1" })["one"])
	if !strings.Contains(said, "hidden:") || strings.Contains(said, "10.0.0.1") || strings.Contains(said, "secret") {
		t.Errorf("%s", said)
	}
}

func TestPortsWithProfilesOfTheirOwnAreFoundByWhatTheySpeak(t *testing.T) {
	s := newStage(t)
	s.answers = func(string, *dataplanev1.Question) *dataplanev1.Explanation {
		return &dataplanev1.Explanation{VirtualServiceUuid: "vs-1"}
	}
	datagrams, http := &kinds.UDPFastPath{}, &kinds.ApplicationProfile{Type: "APPLICATION_PROFILE_TYPE_HTTP"}
	s.VS.Services = []kinds.Service{{Port: 53}, {Port: 53}, {Port: 8090, PortRangeEnd: 8091}}
	s.VS.UDP = datagrams
	s.VS.Variants = []*model.Variant{{At: []int{1}}, {At: []int{2}, ApplicationProfile: http}}
	s.Want(12, "vs-1", "pool-1")
	for _, name := range []string{"", "vs-1"} {
		for port, want := range map[uint16]string{53: "", 8090: "", 8091: "", 8092: "port"} {
			q := ask("10.9.0.1")
			q.Port, q.VirtualService = port, name
			if found, why := s.explainer.Find(q, nil, everything); (why == "") != (want == "") || want == "" &&
				found.VirtualService != "vs-1" {
				t.Errorf("port %d, named %q: %+v, %q", port, name, found, why)
			}
		}
	}
	s.VS.Variants = s.VS.Variants[1:]
	s.VS.Services[1] = kinds.Service{Port: 54}
	s.Want(13, "vs-1", "pool-1")
	q := ask("10.9.0.1")
	q.Port, q.VirtualService = 54, "vs-1"
	if _, why := s.explainer.Find(q, nil, everything); !strings.Contains(why, "port 54 of web is for datagrams") {
		t.Error(why)
	}
}

func TestTheVirtualServiceIsFoundByAddressPortAndHost(t *testing.T) {
	s := newStage(t)
	for _, c := range []struct {
		q   func(*Question)
		why string
	}{
		{func(*Question) {}, ""},
		{func(q *Question) { q.Host = "10.9.0.1" }, ""},
		{func(q *Question) { q.Address = netip.MustParseAddr("::ffff:10.9.0.1") }, ""},
		{func(q *Question) { q.Port = 8010 }, ""},
		{func(q *Question) { q.VirtualService = "vs-1" }, ""},
		{func(q *Question) { q.Port = 8011 }, "listens on port 8011"},
		{func(q *Question) { q.Host = "10.9.0.2" }, "listens at 10.9.0.2:443"},
		{func(q *Question) { q.VirtualService, q.Port = "vs-1", 80 }, "web has no port 80"},
		{func(q *Question) { q.VirtualService = "vs-9" }, "is not there"},
	} {
		q := ask("shop.test")
		c.q(&q)
		found, why := s.explainer.Find(q, nil, everything)
		if !strings.Contains(why, c.why) || (why == "") != (found.Name == "web") || (c.why == "") != (why == "") {
			t.Errorf("%+v: %v, %q", q, found, why)
		}
	}
	if _, why := s.explainer.Find(ask("shop.test"), nil, func(string) bool { return false }); why == "" {
		t.Error("it is found by somebody who may not read it")
	}
}

func TestHostsAreComparedAsEnginesCompareThem(t *testing.T) {
	for pattern, hosts := range map[string][2][]string{
		"a.test":   {{"a.test", "A.Test"}, {"b.a.test", "a.tes"}},
		"*.a.test": {{"b.a.test"}, {"a.test", "ba.test"}},
		".a.test":  {{"a.test", "b.a.test"}, {"ba.test"}},
		"a.*":      {{"a.test"}, {"b.test", "a"}},
	} {
		for want, list := range map[bool][]string{true: hosts[0], false: hosts[1]} {
			for _, host := range list {
				if matches(pattern, host) != want {
					t.Errorf("%s matches %s: %v", pattern, host, !want)
				}
			}
		}
	}
}

func TestOneTooManyAtATimeIsRefused(t *testing.T) {
	s := newStage(t)
	s.explainer.asking = atOnceMax
	if _, err := s.explainer.Explain(s.Context(), ask("a"), Found{}, nil, everything); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
	s.explainer.asking = 0
	s.answers = func(string, *dataplanev1.Question) *dataplanev1.Explanation { return nil }
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	found, _ := s.explainer.Find(ask("a"), nil, everything)
	if _, err := s.explainer.Explain(ctx, ask("a"), found, nil, everything); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if s.explainer.asking != 0 || len(s.explainer.awaited) != 0 {
		t.Errorf("%d, %v", s.explainer.asking, s.explainer.awaited)
	}
}

func TestADraftGoesToEnginesThatHaveWhatItStartsFrom(t *testing.T) {
	s := newStage(t)
	knowsDrafts := true
	s.answers = func(string, *dataplanev1.Question) *dataplanev1.Explanation {
		return &dataplanev1.Explanation{VirtualServiceUuid: "vs-new", PoolUuid: "pool-new", OfDraft: knowsDrafts}
	}
	fresh := &model.VirtualService{VirtualService: kinds.VirtualService{Identity: kinds.Identity{UUID: "vs-new"},
		Named: kinds.Named{Name: "fresh"}, Services: []kinds.Service{{Port: 443}}},
		Addresses: []netip.Addr{netip.MustParseAddr("10.9.0.9")}}
	var from []uint64
	draft := &Draft{
		Model: &model.Model{VirtualServices: []*model.VirtualService{fresh}, Pools: []*model.Pool{
			{Pool: kinds.Pool{Identity: kinds.Identity{UUID: "pool-new"}, Named: kinds.Named{Name: "next"}}}}},
		Engines: func(string) []string { return []string{"se-one", "se-two"} },
		Change: func(engine string, has *enginev1.Plan) *dataplanev1.PlanChange {
			from = append(from, has.GetRevision())
			return &dataplanev1.PlanChange{BaseRevision: has.GetRevision()}
		},
		Findings: func() []model.Finding {
			return []model.Finding{
				{Kind: "virtualservice", UUID: "vs-new", Name: "fresh", Field: "weight", Message: "has no effect"},
				{Kind: "virtualservice", UUID: "vs-new", Name: "fresh", Field: "http_policies[0]",
					Message: "never matches", Rule: "blue"},
				{Kind: "virtualservice", UUID: "vs-1", Name: "web", Field: "weight", Message: "is of another"},
			}
		},
	}
	s.Applied("se-one", s.Want(12, "vs-1", "pool-1")["se-one"], nil)
	q := ask("10.9.0.9")
	if _, why := s.explainer.Find(q, nil, everything); why == "" {
		t.Error("what is a draft is found without it")
	}
	explain := func() (answer, one schema.Object, two any) {
		found, why := s.explainer.Find(q, draft, everything)
		if why != "" {
			t.Fatal(why)
		}
		answer, err := s.explainer.Explain(s.Context(), q, found, draft, everything)
		if err != nil {
			t.Fatal(err)
		}
		engines := answer["engines"].([]any)
		return answer, engines[0].(schema.Object), engines[1]
	}
	answer, one, two := explain()
	s.Contains(one, "name:fresh", "pool:map[name:next", "with the draft")
	s.Contains(two, "error:it does not have its newest configuration yet")
	if len(from) != 1 || from[0] != 12 || len(s.asked) != 1 || s.asked[0].GetDraft().GetBaseRevision() != 12 {
		t.Errorf("asked %v, from %v", s.asked, from)
	}
	if rules, others := answer["rules_without_effect"].([]any), answer["findings"].([]any); len(rules) != 1 ||
		len(others) != 1 || !strings.Contains(fmt.Sprint(others), "why:has no effect") {
		t.Errorf("%v, %v", rules, others)
	}
	knowsDrafts = false // it answered by what is in force
	_, one, _ = explain()
	s.Contains(one, "error:it is of an earlier version, which knows no drafts")
}
