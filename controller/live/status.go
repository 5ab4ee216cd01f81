package live

import (
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/model"
)

// allEvery is how often the states of all virtual services are computed, if there are more than listedMost. Those that
// an overview lists are computed at each step.
const allEvery = 5 * time.Second

// statuses are the states of virtual services, by which overviews are ordered. It costs too much to compute thousands
// of them each second.
type statuses struct {
	of map[string]health.Status // by uuid of the virtual service
	at map[string]time.Time     // when all were computed, by uuid of the tenant
}

func newStatuses() statuses { return statuses{map[string]health.Status{}, map[string]time.Time{}} }

// refresh computes the states of a tenant's virtual services, unless they are many and were computed a moment ago.
func (s *statuses) refresh(from *fleet.Fleet, tenant string, all []ranked, now time.Time) {
	age := now.Sub(s.at[tenant])
	if len(all) > listedMost && age >= 0 && age < allEvery {
		return
	}
	from.Read(func(known *fleet.Known) {
		for uuid := range s.of {
			if known.VirtualService(uuid) == nil {
				delete(s.of, uuid)
			}
		}
	})
	s.at[tenant] = now
	fleet.ReadEach(from, all, func(known *fleet.Known, one ranked) {
		if vs := known.VirtualService(one.vs.UUID); vs != nil { // it is not deleted meanwhile
			s.now(known, vs)
		}
	})
}

// now computes the state of one virtual service.
func (s *statuses) now(known *fleet.Known, vs *model.VirtualService) health.Status {
	status := known.ServiceHealth(vs)
	s.of[vs.UUID] = status
	return status
}
