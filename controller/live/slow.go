package live

import (
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
)

const (
	// slowNamed is the number of slow servers that an overview names of one virtual service.
	slowNamed = 3
	// slowSought is the size of the largest pool in which an overview looks for slow servers.
	slowSought = 1000
)

// slowJSON is a server that needs far longer for its answers than the others of its pool.
type slowJSON struct {
	ID      string  `json:"id"`
	Pool    string  `json:"pool"`  // its uuid
	Share   float32 `json:"share"` // of the answers of all servers of the pool, from 0 to 1
	MeanMs  float32 `json:"app_response_mean_ms"`
	OtherMs float32 `json:"others_mean_ms"` // of the servers that are not slow
}

// slowness is which virtual services have slow servers. It is looked for every five seconds, in the times of the
// last half minute.
type slowness struct {
	of map[string][]slowJSON // by uuid of the virtual service; those without slow servers are not there
	at map[string]time.Time  // when all were looked at, by uuid of the tenant
}

func newSlowness() slowness { return slowness{map[string][]slowJSON{}, map[string]time.Time{}} }

// refresh looks for slow servers of a tenant's virtual services, unless that was done a moment ago. isBusy says which
// have traffic.
func (s *slowness) refresh(known *fleet.Known, tenant string, all []ranked,
	isBusy func(uuid string) bool, now time.Time) {
	if age := now.Sub(s.at[tenant]); age >= 0 && age < allEvery {
		return
	}
	for uuid := range s.of {
		if known.VirtualService(uuid) == nil {
			delete(s.of, uuid)
		}
	}
	s.at[tenant] = now
	for _, one := range all {
		delete(s.of, one.vs.UUID)
		if pool := one.vs.Pool; pool != nil && len(pool.Members) <= slowSought && isBusy(one.vs.UUID) {
			if slow := slowIn(known, one); len(slow) > 0 {
				s.of[one.vs.UUID] = slow
			}
		}
	}
}

func slowIn(known *fleet.Known, of ranked) (list []slowJSON) {
	pool := of.vs.Pool
	slow := health.SlowServers(known.AppTimes(pool, slices.Values(known.Assigned(of.vs.UUID))))
	for _, server := range slow[:min(len(slow), slowNamed)] {
		list = append(list, slowJSON{
			ID: pool.Members[server.Index].ID, Pool: pool.UUID, Share: float32(server.Share),
			MeanMs: ms(server.Mean), OtherMs: ms(server.Others),
		})
	}
	return list
}
