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
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/sorted"
)

// assembly is the Plan of one engine, with the parts that it was made from.
type assembly struct {
	resources []*enginev1.Resource // sorted; a new list whenever a resource changes
	findings  model.Findings       // of the engine and of all shares

	shares    map[string]*share // by virtual service uuid
	bringers  map[string]int    // number of shares that bring a resource, by uuid of the resource
	bytes     int               // of the resources that shares bring
	noRoom    map[string]bool   // uuids of virtual services that were left out, because there is no room for them
	taken     map[claim]*draft
	contested map[claim]bool            // all claims of the shares that did not get theirs
	contexts  map[*kinds.VrfContext]int // number of shares that are advertised in each

	expressionBytes map[string]int  // of the children of each parent, by its uuid
	crowded         map[string]bool // parents, by uuid, with children that were left out because of that

	spoken *kinds.VrfContext // where the engine speaks BGP; nil: nowhere
	group  *model.Group      // whose settings apply to the engine; nil: none

	stale map[string]bool // uuids of virtual services whose shares have changed
}

// share is what a virtual service adds to the Plan of an engine.
type share struct {
	draft      *draft // of a child that is not served: perhaps its refusal
	seat       place.Seat
	assignment place.Assignment

	report report // the report of the draft, and what prevents service on this engine
	absent bool   // it adds nothing
	brings []part
}

var duties = map[place.Duty]dataplanev1.Duty{
	place.Serve: dataplanev1.Duty_DUTY_SERVE, place.Drain: dataplanev1.Duty_DUTY_DRAIN,
	place.StandBy: dataplanev1.Duty_DUTY_STANDBY,
}

func newShare(draft *draft, assignment place.Assignment, seat place.Seat) *share {
	report := report{findings: slices.Clip(draft.report.findings), blocked: draft.report.blocked}
	return &share{draft: draft, seat: seat, assignment: assignment, report: report, absent: report.blocked}
}

// update makes the stale shares again. It returns false if the change concerns other shares too. Then the whole Plan
// has to be assembled.
func (c *Compiler) update(a *assembly, engineUUID string) bool {
	if len(a.noRoom) > 0 || a.group != c.groupOf(engineUUID) {
		return false
	}
	edits, added := map[string]*enginev1.Resource{}, []*share(nil)
	var had, has []model.Finding
	for uuid := range a.stale {
		was, is := a.shares[uuid], c.shareOf(uuid, engineUUID)
		if a.contests(was) || a.contests(is) {
			return false
		}
		if was != nil {
			had = append(had, was.report.findings...)
			a.drop(was, edits)
		}
		if is != nil {
			added = append(added, is)
		}
	}
	parentsFirst(added)
	for _, share := range added {
		if !a.claim(share) {
			return false
		}
	}
	for _, share := range added {
		if !a.claimTexts(share) {
			return false
		}
	}
	if a.spoken != c.contextOf(a, engineUUID) {
		return false
	}
	for _, share := range added {
		a.bring(share, edits)
		has = append(has, share.report.findings...)
	}
	if a.bytes > c.bytesMost {
		return false
	}
	a.resources = edit(a.resources, edits)
	a.findings.Replace(had, has)
	clear(a.stale)
	return true
}

// contests tells whether a share has or wants a port that a share did not get, or another port of such a share; or its
// parent has children that were left out.
func (a *assembly) contests(share *share) bool {
	return share != nil && (share.isChild() && a.crowded[share.draft.vs.SeatsOf()] ||
		slices.ContainsFunc(share.draft.claims, func(c claim) bool { return a.contested[c.key()] }))
}

// assemble makes the whole Plan. before has the resources of the last Plan: virtual services in it come first, and keep
// their ports. Virtual services for which the Plan has no room are left out.
func (c *Compiler) assemble(engineUUID string, before []*enginev1.Resource) *assembly {
	oversize := map[string]bool{}
	for {
		a, more := c.assembleWithout(oversize, engineUUID, before)
		if len(more) == 0 {
			return a
		}
		maps.Copy(oversize, more)
	}
}

// assembleWithout returns the Plan without some virtual services, and the uuids of more for which it has no room.
func (c *Compiler) assembleWithout(
	oversize map[string]bool, engineUUID string, before []*enginev1.Resource,
) (*assembly, map[string]bool) {
	a := &assembly{
		noRoom: oversize,
		shares: map[string]*share{}, bringers: map[string]int{}, taken: map[claim]*draft{},
		contested: map[claim]bool{}, contexts: map[*kinds.VrfContext]int{}, stale: map[string]bool{},
		expressionBytes: map[string]int{}, crowded: map[string]bool{},
		group: c.groupOf(engineUUID),
	}
	var shares []*share
	for uuid := range c.servedAt(engineUUID) {
		share := c.shareOf(uuid, engineUUID)
		if share == nil {
			continue
		}
		if oversize[uuid] {
			share.refuseSize(c.bytesMost)
		}
		shares = append(shares, share)
	}
	incumbentsFirst(shares, before)
	a.givePorts(shares)
	a.spoken = c.contextOf(a, engineUUID)
	edits := map[string]*enginev1.Resource{}
	for _, resource := range before {
		edits[resource.GetUuid()] = nil
	}
	findings := a.speakBGP(edits)
	for _, share := range shares {
		a.bring(share, edits)
		findings = append(findings, share.report.findings...)
	}
	if a.bytes > c.bytesMost {
		if more := oversizeOf(shares, oversize, before, c.bytesMost); len(more) > 0 {
			return nil, more
		}
	}
	a.obeyGroup(edits)
	a.resources = edit(before, edits)
	a.findings.Replace(nil, findings)
	return a, nil
}

// incumbentsFirst sorts shares in the order in which they get their ports.
func incumbentsFirst(shares []*share, before []*enginev1.Resource) {
	rank := func(share *share) int {
		if sorted.Find(before, share.draft.vs.UUID, (*enginev1.Resource).GetUuid) != nil {
			return 0
		}
		return 1
	}
	slices.SortFunc(shares, func(a, b *share) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), bySeat(a, b)) })
}

// bySeat compares shares by what the store has: the one that the engine has served for longer comes first. After a
// start of the controller there is no Plan before, and nothing that serves may make room for what is new. A child comes
// directly behind its parent.
func bySeat(a, b *share) int {
	starts := func(share *share) int {
		switch share.seat.State {
		case place.Serving, place.Leaving, place.Draining:
			return 0
		default:
			return 1
		}
	}
	return cmp.Or(
		cmp.Compare(starts(a), starts(b)),
		a.seat.Since.Compare(b.seat.Since),
		strings.Compare(a.draft.vs.SeatsOf(), b.draft.vs.SeatsOf()),
		cmp.Compare(a.rank(), b.rank()),
		strings.Compare(a.draft.vs.UUID, b.draft.vs.UUID),
	)
}

// givePorts gives the shares their ports, in this order, and then the children what they want of their parents: first
// what they want by their own texts, and then what by those of string groups, by their names, so that all engines give
// the same. It blocks the shares that do not get theirs. Their findings name the owners at the end, so they do not
// depend on the order of the others.
func (a *assembly) givePorts(shares []*share) {
	parentsFirst(shares)
	firstChild := slices.IndexFunc(shares, (*share).isChild)
	if firstChild < 0 {
		firstChild = len(shares)
	}
	for _, shares := range [][]*share{shares[:firstChild], shares[firstChild:]} {
		var given, refused []*share
		for _, share := range shares {
			if a.claim(share) {
				given = append(given, share)
			} else {
				refused = append(refused, share)
			}
		}
		slices.SortFunc(given, byName)
		for _, share := range given {
			if !a.claimTexts(share) {
				refused = append(refused, share)
			}
		}
		for _, share := range refused {
			a.refuse(share)
		}
	}
}

func byName(a, b *share) int {
	return cmp.Or(strings.Compare(a.draft.vs.Name, b.draft.vs.Name), strings.Compare(a.draft.vs.UUID, b.draft.vs.UUID))
}

func (s *share) isChild() bool { return s.draft.vs.IsChild() }

// rank puts parents before children.
func (s *share) rank() int {
	if s.isChild() {
		return 1
	}
	return 0
}

func parentsFirst(shares []*share) {
	slices.SortStableFunc(shares, func(a, b *share) int { return cmp.Compare(a.rank(), b.rank()) })
}

// claim gives a share its ports, and a child what it wants by its own texts. It returns false if one of them is taken.
// A share that adds nothing needs none.
func (a *assembly) claim(share *share) bool {
	a.shares[share.draft.vs.UUID] = share
	if share.isChild() {
		a.meetParent(share)
	}
	if share.absent {
		return true
	}
	if !a.take(share.draft, func(c claim) bool { return c.group == "" }) {
		return false
	}
	if share.draft.advertisement != nil {
		a.contexts[share.draft.vs.VrfContext]++
	}
	return true
}

// claimTexts gives a child what it wants by texts of string groups, when all children have what they want by their own,
// and memory for its expressions.
func (a *assembly) claimTexts(share *share) bool {
	if share.absent || !share.isChild() {
		return true
	}
	parent, bytes := share.draft.vs.SeatsOf(), share.draft.expressionBytes
	if bytes > 0 && a.expressionBytes[parent]+bytes > kinds.ExpressionsOfParentMost {
		a.crowded[parent] = true
		share.report.block(share.draft.subject, "vh_matches", "the regular expressions of the children of %s may need "+
			"%d MiB in each worker of an engine together, children that come before by their names need %d KiB, and "+
			"those of this child %d KiB: use fewer or shorter ones", share.draft.vs.Parent.Name,
			kinds.ExpressionsOfParentMost>>20, a.expressionBytes[parent]>>10, bytes>>10)
		return false
	}
	if !a.take(share.draft, func(c claim) bool { return c.group != "" }) {
		return false
	}
	a.expressionBytes[parent] += bytes
	return true
}

// take gives a draft those of its claims that are meant, unless another draft has one of them.
func (a *assembly) take(draft *draft, meant func(claim) bool) bool {
	for _, claim := range draft.claims {
		if owner := a.taken[claim.key()]; meant(claim) && owner != nil && owner != draft {
			return false
		}
	}
	for _, claim := range draft.claims {
		if meant(claim) {
			a.taken[claim.key()] = draft
		}
	}
	return true
}

// meetParent blocks a child if its parent is not served on the engine, or serves something else. If the parent is
// served, a blocked child refuses its clients: they would get what another child, or the parent, has for them.
func (a *assembly) meetParent(share *share) {
	vs := share.draft.vs
	if vs.Parent == nil {
		return
	}
	parent := a.shares[vs.Parent.UUID]
	switch {
	case parent == nil || parent.absent:
		if !share.report.blocked {
			share.report.block(share.draft.subject, "vh_parent_vs_ref", "its parent %s is not served: see there",
				vs.Parent.Name)
		}
		share.absent = true
		return
	case !share.report.blocked:
		compareWithParent(share.draft.subject, vs, parent.draft.vs, &share.report)
	}
	if share.report.blocked {
		share.refuseClients(parent.draft.vs)
	}
}

func (s *share) refuseClients(parent *model.VirtualService) {
	refusal := s.draft.refusalUnder(parent)
	if s.absent = refusal == nil; !s.absent {
		s.draft = refusal
	}
}

// refuse blocks a share, and says which virtual services have what it claims.
func (a *assembly) refuse(share *share) {
	draft := share.draft
	share.absent = true
	said := map[[3]string]bool{} // about groups: one finding for each rule, group and owner, with the first text
	for _, c := range draft.claims {
		a.contested[c.key()] = true
		owner := a.taken[c.key()]
		switch {
		case owner == nil || owner == draft:
		case c.group != "":
			about := [...]string{c.field, c.group, owner.vs.UUID}
			if !said[about] {
				said[about] = true
				share.report.block(draft.subject, c.field, "what it wants by string group %s%s is wanted by child %s "+
					"of the same parent already", c.group, shownText(c.text), owner.subject.name)
			}
		case c.parent != "":
			share.report.block(draft.subject, c.field, "is wanted by child %s of the same parent already",
				owner.subject.name)
		default:
			share.report.block(draft.subject, portField(draft.vs, uint32(c.at.Port())),
				"%s is served by virtual service %s already%s",
				c.at, owner.subject.name, elsewhere(draft.vs, owner.vs))
		}
	}
}

func shownText(text string) string {
	if text == "" {
		return ""
	}
	return " (" + schema.Show(text) + ")"
}

// bring adds the resources of a share, unless something blocks the share.
func (a *assembly) bring(share *share, edits map[string]*enginev1.Resource) {
	if share.absent {
		return
	}
	draft := share.draft
	share.brings = draft.parts
	duty, engines := duties[share.seat.Duty()], share.engines()
	if duty != draft.service.GetDuty() || engines != draft.service.GetEngines() {
		service := proto.CloneOf(draft.service)
		service.Duty, service.Engines = duty, engines
		share.brings = append(slices.Clone(draft.parts[:len(draft.parts)-1]), partOf(resourceOf(service)))
	}
	if draft.advertisement != nil {
		share.brings = append(slices.Clip(share.brings), a.advertise(share)...)
	}
	for _, part := range share.brings {
		if a.bringers[part.GetUuid()]++; a.bringers[part.GetUuid()] == 1 {
			a.bytes += part.bytes
		}
		edits[part.GetUuid()] = part.Resource
	}
}

// engines is the number of engines that share out the limits of a virtual service, and that its scripts may ask for; 0:
// there is nothing to share out, or one.
// Those that drain count, too: they still have clients. Standbys have none. controller/shares divides the rates of keys
// over the same engines.
func (s *share) engines() uint32 {
	if !s.draft.limits && len(s.draft.service.GetScriptSetUuids()) == 0 {
		return 0
	}
	serving := uint32(0)
	for _, seat := range s.assignment.Seats {
		if duty := seat.Duty(); duty == place.Serve || duty == place.Drain {
			serving++
		}
	}
	if serving == 1 {
		return 0
	}
	return serving
}

// drop removes a share, and the resources that no other share brings. A resource is the same in all shares that bring
// it.
func (a *assembly) drop(share *share, edits map[string]*enginev1.Resource) {
	delete(a.shares, share.draft.vs.UUID)
	if share.absent {
		return
	}
	for _, claim := range share.draft.claims {
		delete(a.taken, claim.key())
	}
	if share.isChild() {
		a.expressionBytes[share.draft.vs.SeatsOf()] -= share.draft.expressionBytes
	}
	if context := share.draft.vs.VrfContext; share.draft.advertisement != nil {
		if a.contexts[context]--; a.contexts[context] == 0 {
			delete(a.contexts, context)
		}
	}
	for _, part := range share.brings {
		uuid := part.GetUuid()
		if a.bringers[uuid]--; a.bringers[uuid] == 0 {
			a.bytes -= part.bytes
			delete(a.bringers, uuid)
			edits[uuid] = nil
		}
	}
}

// edit applies edits to a list of resources. Resources whose content is as before keep their pointers.
func edit(before []*enginev1.Resource, edits map[string]*enginev1.Resource) []*enginev1.Resource {
	maps.DeleteFunc(edits, func(uuid string, resource *enginev1.Resource) bool {
		was := sorted.Find(before, uuid, (*enginev1.Resource).GetUuid)
		return was == resource || was != nil && resource != nil && proto.Equal(was, resource)
	})
	return sorted.Edit(before, edits, (*enginev1.Resource).GetUuid)
}

// elsewhere says what to do if two virtual services have the same address in different routing contexts. The network
// can tell these addresses apart, an engine cannot.
func elsewhere(vs, owner *model.VirtualService) string {
	if vs.VrfContext == owner.VrfContext {
		return ""
	}
	return ", in another vrfcontext: an engine is in one network; give them engine groups of their own (se_group_ref)"
}

// port is a port of an address. UDP has ports of its own.
type port struct {
	netip.AddrPort
	protocol dataplanev1.TransportProtocol
}

func addressOf(listener *dataplanev1.Listener) port {
	address, _ := netip.ParseAddr(listener.GetAddress()) // addresses in the model are valid
	return port{netip.AddrPortFrom(address, uint16(listener.GetPort())), listener.GetProtocol()}
}
