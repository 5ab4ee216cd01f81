package dataplane

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// model is a data plane of two workers that follows the contract, and checks that the agent does.
type model struct {
	*testing.T
	revision uint64 // of the Plan in force
	here     bool   // that Plan came over this connection
	objects  map[string]proto.Message
	held     map[slot]bool // listening sockets
}

// take returns the objects after a Plan or a change.
func (m *model) take(message *dataplanev1.ToDataplane) (after map[string]proto.Message, revision uint64) {
	m.Helper()
	if whole := message.GetPlan(); whole != nil {
		return objectsOf(whole), whole.GetRevision()
	}
	change := message.GetPlanChange()
	if !m.here || change.GetBaseRevision() != m.revision {
		m.Fatalf("got a change of revision %d, has %d", change.GetBaseRevision(), m.revision)
	}
	after = maps.Clone(m.objects)
	for _, uuid := range change.GetRemoved().GetVirtualServices() {
		delete(after, "vs "+uuid)
	}
	for _, uuid := range change.GetRemoved().GetPools() {
		delete(after, "pool "+uuid)
	}
	maps.Copy(after, objectsOf(change.GetChanged()))
	return after, change.GetChanged().GetRevision()
}

func objectsOf(of *dataplanev1.Plan) map[string]proto.Message {
	all := map[string]proto.Message{}
	for _, service := range of.GetVirtualServices() {
		all["vs "+service.GetUuid()] = service
	}
	for _, pool := range of.GetPools() {
		all["pool "+pool.GetUuid()] = pool
	}
	return all
}

// listening are the places of virtual services.
func listening(objects map[string]proto.Message) map[slot]bool {
	all := map[slot]bool{}
	for _, object := range objects {
		service, _ := object.(*dataplanev1.VirtualService)
		for _, listener := range service.GetListeners() {
			for worker := range uint32(2) {
				all[slot{at(listener.GetAddress(), listener.GetPort()), plan.ProtocolTCP, worker}] = true
			}
		}
	}
	return all
}

// settle drops the sockets that nobody listens on, after a Plan was accepted or refused.
func (m *model) settle() {
	used := listening(m.objects)
	maps.DeleteFunc(m.held, func(place slot, _ bool) bool { return !used[place] })
}

// handBack are the sockets that the next agent gets.
func (m *model) handBack() (all []*dataplanev1.Socket) {
	for _, place := range slices.SortedFunc(maps.Keys(m.held), compareSlots) {
		all = append(all, &dataplanev1.Socket{
			Address: place.at.Addr().String(), Port: uint32(place.at.Port()), Worker: place.worker,
		})
	}
	return all
}

// randomPlan changes a few resources. Each virtual service has a port of its own.
func randomPlan(random *rand.Rand, before *plan.Plan, revision uint64, ports []uint32) *plan.Plan {
	resources := slices.Clone(before.Wire().GetResources())
	for range 1 + random.IntN(3) {
		n, content := random.IntN(len(ports)), random.IntN(3)
		changed := poolNamed(fmt.Sprintf("pool-%d", n), fmt.Sprintf("server-%d", content))
		if random.IntN(2) == 0 {
			changed = serviceAt(ports[n : n+random.IntN(2)]...)
			changed.Uuid = fmt.Sprintf("vs-%d", n)
			changed.GetVirtualService().Uuid = changed.Uuid
			changed.GetVirtualService().Name = fmt.Sprintf("name-%d", content)
		}
		resources = slices.DeleteFunc(resources, func(other *enginev1.Resource) bool {
			return other.GetUuid() == changed.GetUuid()
		})
		if random.IntN(4) > 0 {
			resources = append(resources, changed)
		}
	}
	next, findings := before.Next(&enginev1.Plan{Revision: revision, Resources: resources})
	if next == nil {
		panic(findings)
	}
	return next
}

func TestADataPlaneHasWhatItsAgentTakesItToHaveWhateverHappens(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { play20Plans(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func play20Plans(t *testing.T, random *rand.Rand) {
	r := newRig(t)
	r.supervisor.exitPatience = time.Millisecond
	ports := []uint32{freePort(t), freePort(t), freePort(t)}
	plans := map[uint64]*plan.Plan{}
	var applied *plan.Plan
	m := &model{T: t, objects: map[string]proto.Message{}, held: map[slot]bool{}}
	r.run()
	far := r.accept(0)
	again := func() {
		far.Close()
		m.here = false
		far = r.accept(m.revision, m.handBack()...)
	}
	for revision := uint64(1); revision <= 20; revision++ {
		plans[revision] = randomPlan(random, applied, revision, ports)
		r.supervisor.Apply(plans[revision])
		for decided := uint64(0); decided != revision; {
			message := m.nextPlan(far)
			after, at := m.take(message)
			if want := objectsOf(plans[at].Dataplane()); !equal(after, want) {
				t.Fatalf("Plan %d leads to %v, want %v", at, after, want)
			}
			switch n := random.IntN(20); {
			case n < 2: // the connection breaks
				again()
			case n < 3: // it breaks before the answer
				m.objects, m.revision = after, at
				m.settle()
				again()
			case n < 5: // a new process
				m.revision, m.objects, m.held = 0, map[string]proto.Message{}, map[slot]bool{}
				again()
			case n < 7 && message.GetPlanChange() != nil:
				m.settle()
				resync := &dataplanev1.Nack{Revision: at, Resync: true}
				r.answer(far, &dataplanev1.FromDataplane{Frame: &dataplanev1.FromDataplane_Nack{Nack: resync}})
			case n < 9:
				m.settle()
				r.answer(far, nackOf(at, "no such cipher"))
				if restores := applied != nil && at == applied.Revision; !restores {
					decided = at
				}
			default:
				for place := range listening(after) {
					if !m.held[place] {
						t.Fatalf("Plan %d came without a socket for %v", at, place)
					}
				}
				m.objects, m.revision, m.here = after, at, true
				m.settle()
				r.answer(far, ackOf(at))
				applied, decided = plans[at], at
			}
			for len(r.told) > 0 {
				<-r.told
			}
		}
	}
}

// nextPlan takes sockets until a Plan or a change comes.
func (m *model) nextPlan(far *net.UnixConn) *dataplanev1.ToDataplane {
	m.Helper()
	far.SetReadDeadline(time.Now().Add(patience))
	for {
		message, _ := receive(m.T, far)
		for _, socket := range message.GetSockets().GetSockets() {
			m.held[slot{at(socket.GetAddress(), socket.GetPort()), plan.ProtocolTCP, socket.GetWorker()}] = true
		}
		if message.GetPlan() != nil || message.GetPlanChange() != nil {
			return message
		}
	}
}

func equal(a, b map[string]proto.Message) bool {
	return maps.EqualFunc(a, b, func(one, other proto.Message) bool { return proto.Equal(one, other) })
}
