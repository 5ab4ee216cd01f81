package reconcile_test

import (
	"reflect"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/reconcile"
)

// frozen is what the controller has read of the objects. It never changes in place. Objects that operators have not
// changed are the same in the next model, by pointer.
type frozen struct {
	group    *model.Group
	services map[*model.VirtualService]*model.VirtualService // by the pointer in sim.model
}

// view returns the model at the present revision.
func (s *sim) view() *model.Model {
	s.freezeGroup()
	now := &model.Model{Revision: s.revision, Groups: []*model.Group{s.frozen.group}, Engines: s.frozen.group.Engines}
	services := map[*model.VirtualService]*model.VirtualService{}
	for _, vs := range s.model.VirtualServices {
		own := s.frozen.services[vs]
		if own == nil || own.Group != s.frozen.group || !slices.Equal(own.Addresses, vs.Addresses) ||
			!reflect.DeepEqual(own.VirtualService, vs.VirtualService) {
			made := *vs
			made.Group, own = s.frozen.group, &made
		}
		services[vs], now.VirtualServices = own, append(now.VirtualServices, own)
	}
	s.frozen.services = services
	return now
}

func (s *sim) freezeGroup() {
	from, was := s.model.Groups[0], s.frozen.group
	sameEngine := func(was, is *model.Engine) bool { return reflect.DeepEqual(was.ServiceEngine, is.ServiceEngine) }
	if was != nil && reflect.DeepEqual(was.ServiceEngineGroup, from.ServiceEngineGroup) &&
		slices.EqualFunc(was.Engines, from.Engines, sameEngine) {
		return
	}
	group := &model.Group{ServiceEngineGroup: from.ServiceEngineGroup}
	for _, engine := range from.Engines {
		group.Engines = append(group.Engines, &model.Engine{ServiceEngine: engine.ServiceEngine, Group: group})
	}
	s.frozen.group = group
}

// agree checks that a Placer that skips sets at rest decides the same as one that decides everything.
func (s *sim) agree(in reconcile.Input) {
	s.Helper()
	if kept, whole := s.placer.Decide(in.Input), place.Decide(in.Input); !reflect.DeepEqual(kept, whole) {
		s.wrong("decided again it is\n%+v\nand as a whole\n%+v", kept, whole)
	}
}

// agreeOnPlans checks that updated Plans are the same as Plans that are compiled as a whole.
func (s *sim) agreeOnPlans(in reconcile.Input, state reconcile.State) {
	s.Helper()
	var compiler plan.Compiler
	compiler.Turn(in.Model, in.Rings, in.Before)
	for engine, kept := range state.Plans {
		if whole, _ := compiler.Compile(engine, kept); !plan.Same(kept, whole) {
			s.wrong("the Plan of %s is\n%v\nand as a whole\n%v", engine, kept, proto.CloneOf(whole))
		}
	}
}
