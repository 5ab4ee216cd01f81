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

// frozen is what the controller has read of what operators wrote: nothing of it changes in place, and what they have
// not changed is the same in the next model, by its pointer.
type frozen struct {
	group    *model.Group
	services map[*model.VirtualService]*model.VirtualService // by what operators have
}

// view is the model at the revision of now.
func (s *sim) view() *model.Model {
	s.freezeGroup()
	now := &model.Model{Revision: s.revision, Groups: []*model.Group{s.frozen.group}, Engines: s.frozen.group.Engines}
	services := map[*model.VirtualService]*model.VirtualService{}
	for _, vs := range s.model.VirtualServices {
		own := s.frozen.services[vs]
		if own == nil || own.Group != s.frozen.group || !reflect.DeepEqual(own.VirtualService, vs.VirtualService) {
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

// agree: who remembers what rests decides what would be decided as a whole.
func (s *sim) agree(in reconcile.Input) {
	s.Helper()
	if kept, whole := s.placer.Decide(in.Input), place.Decide(in.Input); !reflect.DeepEqual(kept, whole) {
		s.wrong("decided again it is\n%+v\nand as a whole\n%+v", kept, whole)
	}
}

// agreeOnPlans: what is changed in Plans leads to what would be compiled as a whole.
func (s *sim) agreeOnPlans(in reconcile.Input, state reconcile.State) {
	s.Helper()
	compiler := plan.NewCompiler(in.Model, in.Rings, in.Before)
	for engine, kept := range state.Plans {
		if whole, _ := compiler.Compile(engine, kept); !plan.Same(kept, whole) {
			s.wrong("the Plan of %s is\n%v\nand as a whole\n%v", engine, kept, proto.CloneOf(whole))
		}
	}
}
