package plan

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/sorted"
	"github.com/weir-lb/weir/controller/tickets"
)

// revisions makes each revision from the one before. Nothing changes in place.
type revisions struct {
	*rand.Rand
	model       *model.Model
	rings       tickets.Rings
	assignments place.Assignments
	engines     []string

	contexts    []*kinds.VrfContext
	pools       []*model.Pool
	sets        []*model.HTTPPolicySet
	profile     *kinds.SSLProfile
	certificate *model.Certificate
}

var simEngines = []string{"se-1", "se-2", "se-3"}

func newRevisions(random *rand.Rand) *revisions {
	r := &revisions{Rand: random, model: &model.Model{}, engines: simEngines}
	for _, name := range []string{"blue", "global", "green"}[:1+random.IntN(3)] {
		vrf := &kinds.VrfContext{BGP: schema.Defaults[kinds.BGPProfile]()}
		vrf.UUID, vrf.Name = "vrf-"+name, name
		peer := *schema.Defaults[kinds.BGPPeer]()
		peer.PeerIP = &kinds.IPAddr{Addr: "10.0.0.1", Type: "V4"}
		vrf.BGP.Peers = []kinds.BGPPeer{peer}
		r.contexts = append(r.contexts, vrf)
	}
	for i := range 2 {
		pool := &model.Pool{Pool: *schema.Defaults[kinds.Pool](), Conn: schema.Defaults[kinds.ConnPool]()}
		pool.UUID = fmt.Sprint("pool-", i)
		r.pools = append(r.pools, pool)
	}
	r.sets = []*model.HTTPPolicySet{r.policies(0), r.policies(1)}
	r.profile = schema.Defaults[kinds.SSLProfile]()
	r.profile.UUID = "sslprofile"
	r.certificate = &model.Certificate{}
	r.certificate.UUID = "certificate"
	r.model.VrfContexts = r.contexts
	r.regroup()
	return r
}

// regroup moves engines into a group that is a new struct.
func (r *revisions) regroup() {
	group := &model.Group{ServiceEngineGroup: *schema.Defaults[kinds.ServiceEngineGroup]()}
	group.UUID, group.WorkerPinning = "group", []string{"AUTO", "ALWAYS", "NEVER"}[r.IntN(3)]
	group.DisableFlowProbes, group.VCPUs = r.IntN(3) == 0, uint32(1+r.IntN(2))
	for _, uuid := range r.engines {
		engine := &model.Engine{Group: group}
		engine.UUID, group.Engines = uuid, append(group.Engines, engine)
	}
	r.model.Groups, r.model.Engines = []*model.Group{group}, group.Engines
	r.change(func(vs *model.VirtualService) bool {
		vs.Group = group
		return true
	})
}

// change replaces virtual services by copies that edit has changed. edit returns false for those that stay.
func (r *revisions) change(edit func(vs *model.VirtualService) bool) {
	edits := map[string]*model.VirtualService{}
	for _, vs := range r.model.VirtualServices {
		if own := *vs; edit(&own) {
			edits[own.UUID] = &own
		}
	}
	r.model.VirtualServices = sorted.Edit(r.model.VirtualServices, edits, (*model.VirtualService).Key)
}

// service returns a virtual service that takes traffic.
func (r *revisions) service(uuid string, address byte, port uint32) *model.VirtualService {
	vs := &model.VirtualService{
		Group: r.model.Groups[0], Addresses: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, address})},
		ApplicationProfile: &kinds.ApplicationProfile{Type: "APPLICATION_PROFILE_TYPE_HTTP"},
		HTTP:               schema.Defaults[kinds.HTTPProfile](),
		NetworkProfile:     &kinds.NetworkProfile{Profile: &kinds.NetworkProfileSetting{}},
		TCP:                schema.Defaults[kinds.TCPProxy](), Pool: r.pools[0], SSLProfile: r.profile,
		VrfContext: r.contexts[0],
	}
	vs.UUID, vs.Name, vs.Type, vs.Enabled, vs.TrafficEnabled = uuid, uuid, "VS_TYPE_NORMAL", true, true
	vs.Services = []kinds.Service{{Port: port, PortRangeEnd: port}}
	return vs
}

// offer adds, replaces or removes a virtual service.
func (r *revisions) offer() {
	vs := r.service(fmt.Sprint("vs-", r.IntN(6)), byte(r.IntN(4)), uint32(80+r.IntN(12)))
	vs.Name, vs.Pool, vs.Closed = fmt.Sprint(r.IntN(3)), r.pools[r.IntN(len(r.pools))], r.IntN(8) == 0
	vs.Services[0].PortRangeEnd += uint32(r.IntN(3))
	vs.LimitDoser = r.IntN(3) == 0
	vs.EnableRHI, vs.VrfContext = r.IntN(2) == 0, r.contexts[r.IntN(len(r.contexts))]
	if r.IntN(4) == 0 {
		vs.Services[0].EnableSSL, vs.Certificates = true, []*model.Certificate{r.certificate}
	}
	for i, set := range r.sets {
		if r.IntN(3) == 0 {
			vs.Policies = append(vs.Policies, set)
			vs.HTTPPolicies = append(vs.HTTPPolicies, kinds.HTTPPolicies{Index: uint32(i)})
		}
	}
	if r.IntN(3) == 0 {
		vs.Type, vs.VHType = "VS_TYPE_VH_PARENT", "VS_TYPE_VH_ENHANCED"
	}
	if r.IntN(2) == 0 {
		r.makeChild(vs)
	}
	edits := map[string]*model.VirtualService{vs.UUID: vs}
	if r.IntN(4) == 0 {
		edits[vs.UUID] = nil
	}
	r.model.VirtualServices = sorted.Edit(r.model.VirtualServices, edits, (*model.VirtualService).Key)
}

// makeChild turns a virtual service into a child that wants a host.
func (r *revisions) makeChild(vs *model.VirtualService) {
	vs.UUID, vs.Type, vs.Services, vs.Addresses = fmt.Sprint("child-", r.IntN(6)), "VS_TYPE_VH_CHILD", nil, nil
	vs.VHParentRef = fmt.Sprint("/api/virtualservice/vs-", r.IntN(6))
	vs.VHType, vs.VHMatches = "VS_TYPE_VH_ENHANCED", []kinds.VHMatch{{Host: fmt.Sprintf("%d.test", r.IntN(3))}}
	vs.Closed = r.IntN(4) == 0
	vs.TrafficEnabled = r.IntN(5) > 0
	if r.IntN(5) == 0 {
		vs.HTTP, vs.L4 = nil, schema.Defaults[kinds.TCPAppProfile]()
	}
}

// policies returns a set whose rule chooses the last pool, or one that engines cannot carry out.
func (r *revisions) policies(i int) *model.HTTPPolicySet {
	group := &kinds.StringGroup{Pairs: []kinds.KeyValue{{Key: fmt.Sprint("/", r.IntN(3))}}}
	group.UUID = fmt.Sprintf("strings-%d-%d", i, r.IntN(2))
	set := &model.HTTPPolicySet{
		Pools: slices.Clone(r.pools[1:]), StringGroups: map[string]*kinds.StringGroup{group.UUID: group},
	}
	group.Name, set.UUID, set.Name = group.Pairs[0].Key, fmt.Sprint("set-", i), fmt.Sprint(r.IntN(4))
	action := &kinds.HTTPSwitchingAction{Action: kinds.SelectPool, PoolRef: set.Pools[0].UUID}
	if r.IntN(6) == 0 {
		action.Action = "HTTP_SWITCHING_SELECT_POOLGROUP"
	}
	match := &kinds.MatchTarget{Path: &kinds.PathMatch{Criteria: "EQUALS", GroupRefs: []string{group.UUID}}}
	set.Request = &kinds.HTTPRequestPolicy{Rules: []kinds.HTTPRequestRule{
		{Name: "rule", Enable: r.IntN(4) > 0, Match: match, Switching: action},
	}}
	return set
}

// alterSet makes a set of policies anew, and the virtual services that use it.
func (r *revisions) alterSet(i int) {
	was := r.sets[i]
	is := r.policies(i)
	r.sets = slices.Clone(r.sets)
	r.sets[i] = is
	r.change(func(vs *model.VirtualService) bool {
		at := slices.Index(vs.Policies, was)
		if at >= 0 {
			vs.Policies = slices.Clone(vs.Policies)
			vs.Policies[at] = is
		}
		return at >= 0
	})
}

// meetParents gives children the newest version of their parents.
func (r *revisions) meetParents() {
	r.change(func(vs *model.VirtualService) bool {
		if !vs.IsChild() {
			return false
		}
		was := vs.Parent
		vs.Parent = sorted.Find(r.model.VirtualServices, vs.SeatsOf(), (*model.VirtualService).Key)
		return vs.Parent != was
	})
}

// alter changes an object that several virtual services may use.
func (r *revisions) alter() {
	switch r.IntN(5) {
	case 4:
		r.alterSet(r.IntN(len(r.sets)))
	case 0:
		i := r.IntN(len(r.pools))
		was, is := r.pools[i], *r.pools[i]
		is.Name = fmt.Sprint("pool ", r.IntN(9))
		is.RequestQueueEnabled = r.IntN(2) == 0
		r.pools[i] = &is
		r.change(func(vs *model.VirtualService) bool {
			uses := vs.Pool == was
			vs.Pool = &is
			return uses
		})
		for i, set := range r.sets {
			if slices.Contains(set.Pools, was) {
				r.alterSet(i)
			}
		}
	case 1:
		is := *r.profile
		is.EnableSSLSessionReuse = !is.EnableSSLSessionReuse
		r.profile = &is
		r.change(func(vs *model.VirtualService) bool {
			vs.SSLProfile = &is
			return true
		})
	case 2:
		is := *r.certificate
		is.KeyDER = []byte{byte(r.IntN(9))}
		r.certificate = &is
		r.change(func(vs *model.VirtualService) bool {
			uses := len(vs.Certificates) > 0
			vs.Certificates = []*model.Certificate{&is}
			return uses
		})
	case 3:
		r.alterContext(r.IntN(len(r.contexts)))
	}
}

func (r *revisions) alterContext(i int) {
	was, is := r.contexts[i], *r.contexts[i]
	if is.BGP = nil; r.IntN(5) > 0 {
		is.BGP = schema.Defaults[kinds.BGPProfile]()
		is.BGP.Peers, is.BGP.LocalAS = []kinds.BGPPeer{*schema.Defaults[kinds.BGPPeer]()}, uint32(r.IntN(9))
		is.BGP.Peers[0].PeerIP = &kinds.IPAddr{Addr: "10.0.0.1", Type: "V4"}
	}
	r.contexts = slices.Clone(r.contexts)
	r.contexts[i], r.model.VrfContexts = &is, r.contexts
	r.change(func(vs *model.VirtualService) bool {
		uses := vs.VrfContext == was
		vs.VrfContext = &is
		return uses
	})
}

func (r *revisions) assign() {
	assignment := place.Assignment{VirtualService: fmt.Sprint("vs-", r.IntN(6))}
	if r.IntN(6) == 0 {
		r.assignments = r.assignments.With(nil, assignment.VirtualService)
		return
	}
	for _, engine := range simEngines {
		if r.IntN(3) > 0 {
			state := []place.SeatState{place.Serving, place.Serving, place.Draining, place.Standby,
				place.Stopped}[r.IntN(5)]
			assignment.Seats = append(assignment.Seats, place.Seat{
				Engine: engine, State: state, NextHop: netip.AddrFrom4([4]byte{10, 1, 0, byte(r.IntN(2))}),
			})
		}
	}
	r.assignments = r.assignments.With([]place.Assignment{assignment})
}

// turn adds the last engine, or removes it.
func (r *revisions) turn() {
	if len(r.engines) == len(simEngines) {
		r.engines = simEngines[:len(simEngines)-1]
	} else {
		r.engines = simEngines
	}
	r.regroup()
}

func (r *revisions) next() {
	next := *r.model
	next.Revision++
	r.model = &next
	for range r.IntN(4) {
		switch r.IntN(24) {
		case 0, 1, 2, 3, 4, 5, 6:
			r.offer()
		case 7, 8, 9, 10, 11, 12, 13, 14:
			r.assign()
		case 15, 16:
			secret := make([]byte, tickets.SecretBytes)
			ring := &tickets.Ring{Profile: "sslprofile", Lifetime: time.Hour,
				Turned: time.Unix(int64(r.model.Revision), 0), Current: secret, Previous: secret, Next: secret}
			r.rings = r.rings.Edit(map[string]*tickets.Ring{ring.Profile: ring})
		case 17:
			r.regroup()
		case 18:
			r.turn()
		default:
			r.alter()
		}
	}
	r.meetParents()
}

func TestKeptPlansAreThoseThatWouldBeCompiledAnew(t *testing.T) {
	contested, foreign := 0, 0 // updates of an assembly with a conflict, and of one with two routing contexts
	for seed := range uint64(150) {
		r, kept, before := newRevisions(rand.New(rand.NewPCG(seed, 0))), &Compiler{}, map[string]*enginev1.Plan{}
		for step := range 60 {
			r.next()
			kept.Turn(r.model, r.rings, r.assignments)
			for _, engine := range r.engines[r.IntN(2):] {
				was := kept.assemblies[engine]
				touched := was != nil && len(was.stale) > 0
				plan, findings := kept.Compile(engine, before[engine])
				anew, found := compilerOf(r.model, r.rings, r.assignments).Compile(engine, before[engine])
				if !proto.Equal(plan, anew) {
					t.Fatalf("seed %d, step %d: %s has\n%v\nand would have\n%v", seed, step, engine, plan, anew)
				}
				if !reflect.DeepEqual(findings, found) {
					t.Fatalf("seed %d, step %d: found of %s is\n%v\nand would be\n%v", seed, step,
						engine, findings, found)
				}
				if is := kept.assemblies[engine]; is == was && touched {
					if len(is.contested) > 0 {
						contested++
					}
					if len(is.contexts) > 1 {
						foreign++
					}
				}
				before[engine] = plan
			}
			if len(kept.sets) > len(r.sets) {
				t.Fatalf("seed %d, step %d: there are %d sets of policies, and %d are kept", seed, step, len(r.sets),
					len(kept.sets))
			}
		}
	}
	if contested < 20 || foreign < 20 {
		t.Errorf("%d updates had a conflict in the Plan, %d a second routing context", contested, foreign)
	}
}

func TestConflictOverAPortDoesNotMakeOtherChangesAssembleTheWholePlan(t *testing.T) {
	r, kept := newRevisions(rand.New(rand.NewPCG(2, 0))), &Compiler{}
	owner, loser, other := r.service("vs-1", 1, 80), r.service("vs-2", 1, 80), r.service("vs-3", 2, 80)
	blue, green := *r.contexts[0], *r.contexts[0]
	blue.UUID, green.UUID = "vrf-a", "vrf-b"
	owner.EnableRHI, owner.VrfContext, other.EnableRHI, other.VrfContext = true, &blue, true, &green
	r.model.VirtualServices = []*model.VirtualService{owner, loser, other}
	for _, vs := range r.model.VirtualServices {
		r.assignments = r.assignments.With([]place.Assignment{{VirtualService: vs.UUID, Seats: []place.Seat{
			{Engine: "se-1", State: place.Serving}}}})
	}
	var plan *enginev1.Plan
	turn := func(changed *model.VirtualService) *assembly {
		next := *r.model
		next.Revision++
		next.VirtualServices = sorted.Edit(next.VirtualServices,
			map[string]*model.VirtualService{changed.UUID: changed}, (*model.VirtualService).Key)
		r.model = &next
		kept.Turn(r.model, r.rings, r.assignments)
		plan, _ = kept.Compile("se-1", plan)
		return kept.assemblies["se-1"]
	}
	has := func(uuid string) bool {
		return sorted.Find(plan.GetResources(), uuid, (*enginev1.Resource).GetUuid) != nil
	}
	whole := turn(owner)
	if !has("vs-1") || has("vs-2") || !has("vs-3") {
		t.Fatalf("the Plan is %v", plan)
	}
	renamed := *other
	renamed.Name = "renamed"
	if turn(&renamed) != whole || turn(&renamed) != whole {
		t.Error("the whole Plan was assembled again for a virtual service without a conflict")
	}
	moved := *owner
	moved.Services = []kinds.Service{{Port: 81, PortRangeEnd: 81}}
	if turn(&moved) == whole || !has("vs-2") {
		t.Error("the port was given up, and the other virtual service did not get it")
	}
}

func TestOneChangeLeavesAllOtherResourcesAsTheyAre(t *testing.T) {
	r, kept := newRevisions(rand.New(rand.NewPCG(2, 0))), &Compiler{}
	for range 200 {
		r.next()
	}
	kept.Turn(r.model, r.rings, r.assignments)
	before, _ := kept.Compile("se-1", nil)
	served := func(vs *model.VirtualService) bool {
		return sorted.Find(before.GetResources(), vs.UUID, (*enginev1.Resource).GetUuid) != nil
	}
	next := *r.model
	vs := *next.VirtualServices[slices.IndexFunc(next.VirtualServices, served)]
	vs.Name = "another"
	next.VirtualServices = sorted.Edit(next.VirtualServices, map[string]*model.VirtualService{vs.UUID: &vs},
		(*model.VirtualService).Key)
	kept.Turn(&next, r.rings, r.assignments)
	if drafts := len(kept.drafts); drafts < 2 || kept.drafts[vs.UUID] != nil {
		t.Errorf("%d drafts are left", drafts)
	}
	after, _ := kept.Compile("se-1", before)
	changed := 0
	for was, is := range sorted.Differences(before.GetResources(), after.GetResources(), (*enginev1.Resource).GetUuid) {
		if changed++; was.GetUuid() != vs.UUID || is.GetUuid() != vs.UUID {
			t.Errorf("%v became %v", was, is)
		}
	}
	if changed != 1 {
		t.Errorf("%d resources are others", changed)
	}
}
