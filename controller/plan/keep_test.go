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
	contexts    []*kinds.VrfContext
	pools       []*model.Pool
	profile     *kinds.SSLProfile
}

var simEngines = []string{"se-1", "se-2"}

func newRevisions(random *rand.Rand) *revisions {
	r := &revisions{Rand: random, model: &model.Model{}}
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
	r.profile = schema.Defaults[kinds.SSLProfile]()
	r.profile.UUID = "sslprofile"
	r.model.VrfContexts = r.contexts
	r.regroup()
	return r
}

// regroup moves engines into a group that is a new struct.
func (r *revisions) regroup() {
	group := &model.Group{ServiceEngineGroup: *schema.Defaults[kinds.ServiceEngineGroup]()}
	group.UUID, group.WorkerPinning = "group", []string{"AUTO", "ALWAYS", "NEVER"}[r.IntN(3)]
	for _, uuid := range simEngines {
		engine := &model.Engine{Group: group}
		engine.UUID, group.Engines = uuid, append(group.Engines, engine)
	}
	r.model.Groups, r.model.Engines = []*model.Group{group}, group.Engines
	services := []*model.VirtualService(nil)
	for _, vs := range r.model.VirtualServices {
		own := *vs
		own.Group, services = group, append(services, &own)
	}
	r.model.VirtualServices = services
}

// offer adds, replaces or removes a virtual service.
func (r *revisions) offer() {
	vs := &model.VirtualService{
		Group: r.model.Groups[0], Addresses: []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(r.IntN(4))})},
		ApplicationProfile: &kinds.ApplicationProfile{Type: "APPLICATION_PROFILE_TYPE_HTTP"},
		HTTP:               schema.Defaults[kinds.HTTPProfile](), NetworkProfile: &kinds.NetworkProfile{},
		TCP: schema.Defaults[kinds.TCPProxy](), Pool: r.pools[r.IntN(len(r.pools))], SSLProfile: r.profile,
	}
	vs.UUID, vs.Name, vs.Type, vs.Enabled, vs.TrafficEnabled = fmt.Sprint("vs-", r.IntN(6)), fmt.Sprint(r.IntN(3)),
		"VS_TYPE_NORMAL", true, true
	port := uint32(80 + r.IntN(12))
	vs.Services = []kinds.Service{{Port: port, PortRangeEnd: port}}
	vs.LimitDoser = r.IntN(3) == 0
	vs.EnableRHI, vs.VrfContext = r.IntN(2) == 0, r.contexts[r.IntN(len(r.contexts))]
	if r.IntN(4) == 0 {
		vs.Services[0].EnableSSL, vs.Certificates = true, []*model.Certificate{{}}
	}
	edits := map[string]*model.VirtualService{vs.UUID: vs}
	if r.IntN(4) == 0 {
		edits[vs.UUID] = nil
	}
	r.model.VirtualServices = sorted.Edit(r.model.VirtualServices, edits, uuidOf)
}

func (r *revisions) assign() {
	assignment := place.Assignment{VirtualService: fmt.Sprint("vs-", r.IntN(6))}
	for _, engine := range simEngines {
		if r.IntN(3) > 0 {
			state := []place.SeatState{place.Serving, place.Serving, place.Draining, place.Standby}[r.IntN(4)]
			assignment.Seats = append(assignment.Seats, place.Seat{
				Engine: engine, State: state, NextHop: netip.AddrFrom4([4]byte{10, 1, 0, byte(r.IntN(2))}),
			})
		}
	}
	r.assignments = r.assignments.With([]place.Assignment{assignment})
}

func (r *revisions) next() {
	next := *r.model
	next.Revision++
	r.model = &next
	for range 1 + r.IntN(3) {
		switch r.IntN(10) {
		case 0, 1, 2:
			r.offer()
		case 3, 4, 5, 6:
			r.assign()
		case 7:
			secret := make([]byte, tickets.SecretBytes)
			ring := &tickets.Ring{Profile: "sslprofile", Lifetime: time.Hour,
				Turned: time.Unix(int64(r.model.Revision), 0), Current: secret, Previous: secret, Next: secret}
			r.rings = r.rings.Edit(map[string]*tickets.Ring{ring.Profile: ring})
		case 8:
			r.regroup()
		}
	}
}

func TestKeptPlansAreThoseThatWouldBeCompiledAnew(t *testing.T) {
	for seed := range uint64(120) {
		r, kept, before := newRevisions(rand.New(rand.NewPCG(seed, 0))), &Compiler{}, map[string]*enginev1.Plan{}
		for step := range 60 {
			r.next()
			kept.Turn(r.model, r.rings, r.assignments)
			for _, engine := range simEngines[r.IntN(2):] {
				plan, findings := kept.Compile(engine, before[engine])
				anew, found := NewCompiler(r.model, r.rings, r.assignments).Compile(engine, before[engine])
				if !proto.Equal(plan, anew) {
					t.Fatalf("seed %d, step %d: %s has\n%v\nand would have\n%v", seed, step, engine, plan, anew)
				}
				if !reflect.DeepEqual(findings, found) {
					t.Fatalf("seed %d, step %d: found of %s is\n%v\nand would be\n%v", seed, step,
						engine, findings, found)
				}
				before[engine] = plan
			}
		}
	}
}

func TestOneChangeLeavesAllOtherResourcesAsTheyAre(t *testing.T) {
	r, kept := newRevisions(rand.New(rand.NewPCG(1, 0))), &Compiler{}
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
	next.VirtualServices = sorted.Edit(next.VirtualServices, map[string]*model.VirtualService{vs.UUID: &vs}, uuidOf)
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
