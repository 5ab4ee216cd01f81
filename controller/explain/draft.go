package explain

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/sorted"
)

// Draft is what there would be after writes that nobody makes. An engine that is asked answers by it, and goes on by
// what it has. nil: the question is about what is in force.
type Draft struct {
	Model *model.Model
	// Engines returns the uuids of the engines that would serve a virtual service which is no child.
	Engines func(serviceUUID string) []string
	// Change turns the Plan that an engine has into the one that it would have.
	Change func(engineUUID string, has *enginev1.Plan) *dataplanev1.PlanChange
	// Findings are those of the model, and of the Plans that Change has made.
	Findings func() []model.Finding
}

// objects are those that a question is about.
type objects interface {
	VirtualService(uuid string) *model.VirtualService // nil: there is none
	Pool(uuid string) *model.Pool                     // nil: there is none
	Findings(vs *model.VirtualService) []model.Finding
}

// drafted are the objects of a draft.
type drafted struct{ *Draft }

func (d drafted) VirtualService(uuid string) *model.VirtualService {
	return sorted.Find(d.Model.VirtualServices, uuid, (*model.VirtualService).Key)
}

func (d drafted) Pool(uuid string) *model.Pool {
	return sorted.Find(d.Model.Pools, uuid, (*model.Pool).Key)
}

func (d drafted) Findings(vs *model.VirtualService) (own []model.Finding) {
	concerns := vs.Concerns()
	for _, finding := range d.Draft.Findings() {
		if concerns[finding.UUID] {
			own = append(own, finding)
		}
	}
	return own
}

// objects returns those of the draft, or those that are known.
func (d *Draft) objects(known *fleet.Known) objects {
	if d == nil {
		return known
	}
	return drafted{d}
}

// model returns that of the draft, or the one that is known.
func (d *Draft) model(known *fleet.Known) *model.Model {
	if d == nil {
		return known.Model()
	}
	return d.Model
}

// serving returns the engines that serve a virtual service, or would.
func (d *Draft) serving(known *fleet.Known, serviceUUID string) []string {
	if d == nil {
		return known.Assigned(serviceUUID)
	}
	return d.Engines(serviceUUID)
}

// addTo says on a page what would be found about virtual services beside rules without effect.
func (d *Draft) addTo(page schema.Object, known *fleet.Known, services []string) {
	if d == nil {
		return
	}
	all := []any{}
	for _, uuid := range services {
		if vs := d.objects(known).VirtualService(uuid); vs != nil {
			for _, finding := range d.objects(known).Findings(vs) {
				if finding.Rule == "" {
					all = append(all, shown(vs, finding))
				}
			}
		}
	}
	page["findings"] = all
}
