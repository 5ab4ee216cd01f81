package link

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// pool is a resource whose content is told by its name.
func pool(uuid, name string) *enginev1.Resource {
	return &enginev1.Resource{Uuid: uuid, Body: &enginev1.Resource_Pool{
		Pool: &enginev1.Pool{Pool: &dataplanev1.Pool{Uuid: uuid, Name: name}},
	}}
}

func delta(base, revision uint64, nonce string, changed ...*enginev1.Resource) *enginev1.PlanDelta {
	return &enginev1.PlanDelta{BaseRevision: base, Revision: revision, Nonce: nonce, Changed: changed}
}

// show writes a Plan as "3: a=one b=two".
func show(plan *enginev1.Plan) string {
	if plan == nil {
		return "none"
	}
	text := fmt.Sprintf("%d:", plan.GetRevision())
	for _, resource := range plan.GetResources() {
		text += " " + resource.GetUuid() + "=" + resource.GetPool().GetPool().GetName()
	}
	return text
}

func TestAppliesADeltaToThePlanItIsMeantFor(t *testing.T) {
	base := &enginev1.Plan{Revision: 1, Resources: []*enginev1.Resource{pool("a", "one"), pool("b", "two"),
		pool("d", "four")}}
	before := proto.Clone(base)
	change := delta(1, 2, "", pool("c", "three"), pool("a", "uno"))
	change.Removed = []string{"b", "unheard-of"}
	got, fits := patch(base, change)
	if !fits || show(got) != "2: a=uno c=three d=four" {
		t.Errorf("got %s, %v", show(got), fits)
	}
	if !proto.Equal(base, before) {
		t.Error("the Plan before was changed")
	}
}

func TestWholePlanReplacesEverythingWhateverWasHeld(t *testing.T) {
	for _, base := range []*enginev1.Plan{nil, {Revision: 9, Resources: []*enginev1.Resource{pool("a", "one")}}} {
		if got, fits := patch(base, delta(0, 3, "", pool("b", "two"))); !fits || show(got) != "3: b=two" {
			t.Errorf("on %s: got %s, %v", show(base), show(got), fits)
		}
	}
}

func TestRefusesADeltaForAnotherPlan(t *testing.T) {
	for _, base := range []*enginev1.Plan{nil, {Revision: 1}, {Revision: 3}} {
		if got, fits := patch(base, delta(2, 4, "")); fits {
			t.Errorf("on %s: got %s", show(base), show(got))
		}
	}
}

// script drives a Session with one event a line and writes what follows.
type script struct {
	session Session
	plans   map[uint64]*plan.Plan
	out     strings.Builder
}

func (s *script) event(name string, revision uint64) {
	fmt.Fprintf(&s.out, "%s %d\n", name, revision)
	switch name {
	case "whole", "change":
		base := uint64(0)
		if name == "change" {
			base = revision - 1
		}
		plan, answer := s.session.Receive(delta(base, revision, fmt.Sprintf("n%d", revision),
			pool("p", fmt.Sprint(revision))))
		if plan != nil {
			s.plans[revision] = plan
			fmt.Fprintf(&s.out, "  try %s\n", show(plan.Wire()))
		}
		s.answer(answer)
	case "unreadable":
		router := &enginev1.BgpRouter{Peers: []*enginev1.BgpPeer{{Address: "nowhere"}}}
		_, answer := s.session.Receive(delta(0, revision, fmt.Sprintf("n%d", revision), &enginev1.Resource{
			Uuid: "r", Body: &enginev1.Resource_BgpRouter{BgpRouter: router},
		}))
		s.answer(answer)
	case "applied":
		s.answer(s.session.Applied(s.plans[revision], nil))
	case "refused":
		s.answer(s.session.Refused(s.plans[revision], []plan.Finding{{Message: "why"}}))
	case "disk":
		s.plans[revision], _ = plan.Read(&enginev1.Plan{Revision: revision,
			Resources: []*enginev1.Resource{pool("p", "kept")}})
	case "stream":
		s.session.Opened()
		fmt.Fprintf(&s.out, "  hello with %d\n", s.session.Revision())
	case "rejoined":
		s.session.Rejoined()
	}
}

func (s *script) answer(report *enginev1.Report) {
	if ack := report.GetAck(); ack != nil {
		fmt.Fprintf(&s.out, "  ack %d %s\n", ack.GetRevision(), ack.GetNonce())
	}
	if nack := report.GetNack(); nack != nil {
		fmt.Fprintf(&s.out, "  nack %d %s %s %d\n", nack.GetRevision(), nack.GetNonce(), nack.GetCause(),
			len(nack.GetErrors()))
	}
}

func TestSessionTranscripts(t *testing.T) {
	for name, want := range map[string]string{
		"a change is acknowledged when the data plane serves it": `
stream 0
  hello with 0
whole 1
  try 1: p=1
applied 1
  ack 1 n1
change 2
  try 2: p=2
applied 2
  ack 2 n2
`,
		"after a refusal the next change builds on what serves": `
whole 1
  try 1: p=1
applied 1
  ack 1 n1
change 2
  try 2: p=2
refused 2
  nack 2 n2 NACK_CAUSE_REFUSED 1
change 3
  nack 3 n3 NACK_CAUSE_RESYNC 0
whole 4
  try 4: p=4
applied 4
  ack 4 n4
`,
		"a Plan that cannot be read is refused, and changes go on from what serves": `
whole 1
  try 1: p=1
applied 1
  ack 1 n1
unreadable 2
  nack 2 n2 NACK_CAUSE_REFUSED 1
change 2
  try 2: p=2
applied 2
  ack 2 n2
`,
		"of changes in a row only the newest is answered": `
whole 1
  try 1: p=1
change 2
  try 2: p=2
applied 1
applied 2
  ack 2 n2
stream 0
  hello with 2
`,
		"a Plan from disk counts once the data plane serves it, and nobody waits for that": `
disk 7
stream 0
  hello with 0
applied 7
stream 0
  hello with 7
change 8
  try 8: p=8
`,
		"an answer that comes after its stream is not given to the next": `
whole 1
  try 1: p=1
stream 0
  hello with 0
applied 1
stream 0
  hello with 1
`,
		"another controller sends its Plan whole": `
whole 5
  try 5: p=5
applied 5
  ack 5 n5
rejoined 0
stream 0
  hello with 0
change 6
  nack 6 n6 NACK_CAUSE_RESYNC 0
whole 2
  try 2: p=2
applied 2
  ack 2 n2
stream 0
  hello with 2
`,
		"a Plan from disk is no Plan of another controller, however late it serves": `
disk 7
rejoined 0
applied 7
stream 0
  hello with 0
change 8
  nack 8 n8 NACK_CAUSE_RESYNC 0
whole 2
  try 2: p=2
applied 2
  ack 2 n2
stream 0
  hello with 2
`,
	} {
		t.Run(name, func(t *testing.T) {
			s := script{plans: map[uint64]*plan.Plan{}}
			for line := range strings.Lines(strings.TrimPrefix(want, "\n")) {
				var event string
				var revision uint64
				if _, err := fmt.Sscanf(line, "%s %d\n", &event, &revision); err == nil &&
					!strings.HasPrefix(line, " ") {
					s.event(event, revision)
				}
			}
			if got := "\n" + s.out.String(); got != want {
				t.Errorf("got:%swant:%s", got, want)
			}
		})
	}
}
