package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Virtual services need so much of a Plan that each engine has room for one address only.
func TestEverySeedPutsVirtualServicesWhereThereIsRoom(t *testing.T) {
	name := strings.Repeat("x", 40<<20)
	for seed := range seeds() / 15 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newSim(t, seed*5) // engines have networks of their own
			s.model.Groups[0].MaxSE = 10
			for s.joined < 8 {
				s.join()
			}
			for _, vs := range s.services() {
				if vs.Services[0].Port%2 == 0 { // of those that share an address, one
					vs.Pool = &model.Pool{Pool: *schema.Defaults[kinds.Pool](), Conn: schema.Defaults[kinds.ConnPool]()}
					vs.Pool.UUID, vs.Pool.Name = "pool-"+vs.UUID, name
				}
			}
			s.troubled = false
			s.mustSettle()
			for _, engine := range s.engines {
				if pools := pools(engine); pools > 1 {
					s.wrong("%s has %d large virtual services", engine.UUID, pools)
				}
			}
			s.engine(s.primaryOf(0)).die()
			for end := s.now.Add(simLost + 2*simPlanned); s.unserved() != ""; s.tick() {
				if s.now.After(end) {
					s.wrong("%s is not served: %v", s.unserved(), s.stored)
				}
			}
			s.heal()
			s.mustSettle()
		})
	}
}

func pools(e *simEngine) (count int) {
	for _, resource := range e.held.GetResources() {
		if resource.GetPool() != nil {
			count++
		}
	}
	return count
}
