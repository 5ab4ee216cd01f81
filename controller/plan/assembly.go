package plan

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/sorted"
)

// assembly is the Plan of one engine, and what it consists of.
type assembly struct {
	resources []*enginev1.Resource // sorted; another list when one of them is another
	findings  []model.Finding      // the same

	shares   map[string]*share // by virtual service uuid
	bringers map[string]int    // how many shares bring a resource, by its uuid
	taken    map[netip.AddrPort]*draft
	contexts map[*kinds.VrfContext]int // how many shares are advertised in each

	contested bool              // two shares want the same port
	spoken    *kinds.VrfContext // that the engine speaks BGP in; nil: it does not
	group     *model.Group      // whose settings it obeys; nil: none
	own       []model.Finding   // of neither share

	stale map[string]bool // uuids of virtual services whose shares are not what they were
}

// share is what a virtual service brings to the Plan of an engine.
type share struct {
	draft      *draft
	seat       place.Seat
	assignment place.Assignment

	report report // that of the draft, and what is in the way on this engine
	brings []*enginev1.Resource
}

var duties = map[place.Duty]dataplanev1.Duty{
	place.Serve: dataplanev1.Duty_DUTY_SERVE, place.Drain: dataplanev1.Duty_DUTY_DRAIN,
	place.StandBy: dataplanev1.Duty_DUTY_STANDBY,
}

func newShare(draft *draft, assignment place.Assignment, seat place.Seat) *share {
	report := report{findings: slices.Clip(draft.report.findings), blocked: draft.report.blocked}
	return &share{draft: draft, seat: seat, assignment: assignment, report: report}
}

// update does anew what is stale. False: what changed concerns other shares too, and all is to be assembled again.
func (c *Compiler) update(a *assembly, engineUUID string) bool {
	if a.group != c.groupOf(engineUUID) || a.contested && len(a.stale) > 0 {
		return false
	}
	edits, added, tell := map[string]*enginev1.Resource{}, []*share(nil), false
	for uuid := range a.stale {
		was, is := a.shares[uuid], c.shareOf(uuid, engineUUID)
		if tell = tell || !slices.Equal(was.findings(), is.findings()); was != nil {
			a.drop(was, edits)
		}
		if is != nil {
			added = append(added, is)
		}
	}
	for _, share := range added {
		a.claim(share)
	}
	if a.contested || len(a.contexts) > 1 || a.spoken != c.contextOf(a, engineUUID) {
		return false
	}
	for _, share := range added {
		a.bring(share, edits)
	}
	a.resources = edit(a.resources, edits)
	if clear(a.stale); tell {
		a.tell()
	}
	return true
}

// assemble puts all together. Who is in the Plan before comes first, and keeps the ports that it has there.
func (c *Compiler) assemble(engineUUID string, before []*enginev1.Resource) *assembly {
	a := &assembly{
		shares: map[string]*share{}, bringers: map[string]int{}, taken: map[netip.AddrPort]*draft{},
		contexts: map[*kinds.VrfContext]int{}, stale: map[string]bool{}, group: c.groupOf(engineUUID),
	}
	var shares []*share
	for _, uuid := range incumbentsFirst(c.seated[engineUUID], before) {
		if share := c.shareOf(uuid, engineUUID); share != nil {
			a.claim(share)
			shares = append(shares, share)
		}
	}
	a.spoken = c.contextOf(a, engineUUID)
	edits := map[string]*enginev1.Resource{}
	for _, resource := range before {
		edits[resource.GetUuid()] = nil
	}
	for _, share := range shares {
		a.bring(share, edits)
	}
	a.speakBGP(edits)
	a.obeyGroup(edits)
	a.resources = edit(before, edits)
	a.tell()
	return a
}

// incumbentsFirst are virtual services in the order in which they get their ports.
func incumbentsFirst(seated map[string]bool, before []*enginev1.Resource) []string {
	rank := func(uuid string) int {
		if sorted.Find(before, uuid, (*enginev1.Resource).GetUuid) != nil {
			return 0
		}
		return 1
	}
	return slices.SortedFunc(maps.Keys(seated), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	})
}

// claim gives a share its ports, unless it is blocked.
func (a *assembly) claim(share *share) {
	a.shares[share.draft.vs.UUID] = share
	draft := share.draft
	for _, listener := range draft.service.GetListeners() {
		if owner, taken := a.taken[addressOf(listener)]; taken {
			a.contested = true
			share.report.block(draft.subject, portField(draft.vs, listener.GetPort()),
				"%s is served by virtual service %s already%s",
				addressOf(listener), owner.subject.name, elsewhere(draft.vs, owner.vs))
		}
	}
	if share.report.blocked {
		return
	}
	for _, listener := range draft.service.GetListeners() {
		a.taken[addressOf(listener)] = draft
	}
	if draft.advertisement != nil {
		a.contexts[draft.vs.VrfContext]++
	}
}

// bring adds the resources of a share that has its ports.
func (a *assembly) bring(share *share, edits map[string]*enginev1.Resource) {
	if share.report.blocked {
		return
	}
	draft := share.draft
	share.brings = draft.parts
	if duty := duties[share.seat.Duty()]; duty != draft.service.GetDuty() {
		service := proto.CloneOf(draft.service)
		service.Duty = duty
		share.brings = append(slices.Clone(draft.parts[:len(draft.parts)-1]), resourceOf(service))
	}
	if draft.advertisement != nil {
		share.brings = append(slices.Clip(share.brings), a.advertise(share)...)
	}
	for _, resource := range share.brings {
		a.bringers[resource.GetUuid()]++
		edits[resource.GetUuid()] = resource
	}
}

// drop takes a share away, with the resources that no other one brings. What several bring says the same in all of
// them.
func (a *assembly) drop(share *share, edits map[string]*enginev1.Resource) {
	delete(a.shares, share.draft.vs.UUID)
	if share.report.blocked {
		return
	}
	for _, listener := range share.draft.service.GetListeners() {
		delete(a.taken, addressOf(listener))
	}
	if context := share.draft.vs.VrfContext; share.draft.advertisement != nil {
		if a.contexts[context]--; a.contexts[context] == 0 {
			delete(a.contexts, context)
		}
	}
	for _, resource := range share.brings {
		uuid := resource.GetUuid()
		if a.bringers[uuid]--; a.bringers[uuid] == 0 {
			delete(a.bringers, uuid)
			edits[uuid] = nil
		}
	}
}

// edit leaves the resources that say the same as before.
func edit(before []*enginev1.Resource, edits map[string]*enginev1.Resource) []*enginev1.Resource {
	maps.DeleteFunc(edits, func(uuid string, resource *enginev1.Resource) bool {
		was := sorted.Find(before, uuid, (*enginev1.Resource).GetUuid)
		return was == resource || was != nil && resource != nil && proto.Equal(was, resource)
	})
	return sorted.Edit(before, edits, (*enginev1.Resource).GetUuid)
}

// tell puts together what was found.
func (a *assembly) tell() {
	findings := slices.Clone(a.own)
	for _, share := range a.shares {
		findings = append(findings, share.report.findings...)
	}
	a.findings = sortFindings(findings)
}

func (s *share) findings() []model.Finding {
	if s == nil {
		return nil
	}
	return s.report.findings
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

// sortFindings orders them by object and drops what several virtual services found in the same one.
func sortFindings(findings []model.Finding) []model.Finding {
	slices.SortStableFunc(findings, func(a, b model.Finding) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.UUID, b.UUID),
			strings.Compare(a.Field, b.Field),
			strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(findings)
}
