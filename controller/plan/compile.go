// Package plan compiles what one engine shall do: a pure function of the model and the placement, the stage between
// place and link. Units and names of the API end here; what an engine cannot do yet is a finding, not a surprise.
//
// compile.go puts a Plan together; service.go is one virtual service; http, l4, tcp, tls, servertls, pool and monitor
// convert one object each; advertisement and bgp are the routes to a virtual service and who is told of them; settings is
// what a group says of its engines' processes; unheeded and unheeded_group name the settings without effect; cipherlist reads
// cipher strings; delta is the difference of two Plans.
package plan

import (
	"cmp"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/tickets"
)

// Compiler makes the Plans of one model after the other. What several engines serve is compiled once, and so is what does not
// change: its resources are the same in both Plans, by their pointers.
type Compiler struct {
	model  *model.Model
	rings  map[string]tickets.Ring // by SSL profile uuid
	drafts map[*model.VirtualService]*draft
}

var duties = map[place.Duty]dataplanev1.Duty{
	place.Serve: dataplanev1.Duty_DUTY_SERVE, place.Drain: dataplanev1.Duty_DUTY_DRAIN, place.StandBy: dataplanev1.Duty_DUTY_STANDBY,
}

// NewCompiler starts with nothing compiled. It is for one goroutine.
func NewCompiler(m *model.Model, rings map[string]tickets.Ring) *Compiler {
	c := &Compiler{}
	c.Turn(m, rings)
	return c
}

// Turn goes on with another model.
func (c *Compiler) Turn(m *model.Model, rings map[string]tickets.Ring) {
	drafts := make(map[*model.VirtualService]*draft, len(m.VirtualServices))
	for _, vs := range m.VirtualServices {
		if made := c.drafts[vs]; made != nil && (vs.SSLProfile == nil || reflect.DeepEqual(c.rings[vs.SSLProfile.UUID], rings[vs.SSLProfile.UUID])) {
			drafts[vs] = made
		}
	}
	c.model, c.rings, c.drafts = m, rings, drafts
}

// Compile makes the Plan of one engine, its resources sorted by uuid. A virtual service that cannot be served is left
// out and a finding says why; the others go on. Of two that want the same port, the one in the Plan before keeps it.
func (c *Compiler) Compile(placement place.Placement, engineUUID string, before *enginev1.Plan) (*enginev1.Plan, []model.Finding) {
	assembly := assembly{resources: map[string]*enginev1.Resource{}, taken: map[netip.AddrPort]*draft{}}
	for _, owed := range incumbentsFirst(placement.Duties(engineUUID), before) {
		vs := owed.VirtualService
		if c.drafts[vs] == nil {
			c.drafts[vs] = newDraft(vs, c.rings)
		}
		assembly.add(c.drafts[vs], duties[owed.Duty])
	}
	assembly.speakBGP(c.model, placement, engineUUID)
	assembly.obeyGroup(c.model, engineUUID)
	return assembly.plan(uint64(c.model.Revision)), sortFindings(assembly.findings)
}

func incumbentsFirst(services []place.Owed, before *enginev1.Plan) []place.Owed {
	served := map[string]bool{}
	for _, resource := range before.GetResources() {
		served[resource.GetUuid()] = true
	}
	rank := func(vs place.Owed) int {
		if served[vs.UUID] {
			return 0
		}
		return 1
	}
	ordered := slices.Clone(services)
	slices.SortStableFunc(ordered, func(a, b place.Owed) int { return cmp.Compare(rank(a), rank(b)) })
	return ordered
}

// assembly is a Plan in the making.
type assembly struct {
	resources map[string]*enginev1.Resource
	findings  []model.Finding
	taken     map[netip.AddrPort]*draft // by which virtual service

	advertised []*draft // those with an advertisement
}

func (a *assembly) add(draft *draft, duty dataplanev1.Duty) {
	report := report{findings: slices.Clip(draft.report.findings), blocked: draft.report.blocked}
	for _, listener := range draft.service.GetListeners() {
		if owner, taken := a.taken[addressOf(listener)]; taken {
			report.block(draft.subject, portField(draft.vs, listener.GetPort()), "%s is served by virtual service %s already%s",
				addressOf(listener), owner.subject.name, elsewhere(draft.vs, owner.vs))
		}
	}
	a.findings = append(a.findings, report.findings...)
	if report.blocked {
		return
	}
	for _, resource := range draft.parts {
		a.resources[resource.GetUuid()] = resource
	}
	if duty != draft.service.GetDuty() {
		service := proto.CloneOf(draft.service)
		service.Duty = duty
		a.resources[draft.vs.UUID] = resourceOf(service)
	}
	if draft.advertisement != nil {
		a.advertised = append(a.advertised, draft)
	}
	for _, listener := range draft.service.GetListeners() {
		a.taken[addressOf(listener)] = draft
	}
}

// elsewhere says what to do where the same address is another one on the network, and not on an engine.
func elsewhere(vs, owner *model.VirtualService) string {
	if vs.VrfContext == owner.VrfContext {
		return ""
	}
	return ", in another vrfcontext: an engine is in one network; give them engine groups of their own (se_group_ref)"
}

func addressOf(listener *dataplanev1.Listener) netip.AddrPort {
	address, _ := netip.ParseAddr(listener.GetAddress()) // it was one before
	return netip.AddrPortFrom(address, uint16(listener.GetPort()))
}

func (a *assembly) plan(revision uint64) *enginev1.Plan {
	plan := &enginev1.Plan{Revision: revision}
	for _, resource := range a.resources {
		plan.Resources = append(plan.Resources, resource)
	}
	slices.SortFunc(plan.GetResources(), func(a, b *enginev1.Resource) int { return strings.Compare(a.GetUuid(), b.GetUuid()) })
	return plan
}

// sortFindings orders them by object and drops what several virtual services found in the same one.
func sortFindings(findings []model.Finding) []model.Finding {
	slices.SortStableFunc(findings, func(a, b model.Finding) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.UUID, b.UUID), strings.Compare(a.Field, b.Field),
			strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(findings)
}
