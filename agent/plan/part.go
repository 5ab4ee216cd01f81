package plan

import (
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/api/parts"
)

// Dataplane is the data plane's part of a Plan; health monitors are left out: the agent runs them.
func (p *Plan) Dataplane() *dataplanev1.Plan {
	whole := &dataplanev1.Plan{Revision: p.Revision, WorkerPinning: p.pinning}
	for _, resource := range p.wire.GetResources() {
		parts.Add(whole, resource)
	}
	return whole
}
