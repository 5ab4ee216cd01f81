package kinds

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// PriorityLabels puts the labels of pool groups in an order.
type PriorityLabels struct {
	Identity
	Named
	Owned
	Clouded
	Description string             `json:"description"`
	Markers     []Marker           `json:"markers"`
	Labels      []EquivalentLabels `json:"equivalent_labels" items:"1024"` // the highest priority first
}

// EquivalentLabels are labels of one priority.
type EquivalentLabels struct {
	Labels []string `json:"labels" items:"1024"`
}

func init() {
	schema.Register[PriorityLabels](schema.Definition{
		Private: true,
		Serving: schema.PartOfService,
		Columns: []column.Column{column.Of("PRIORITIES", countOf("equivalent_labels"))},
		Example: "  weir prioritylabels create sites equivalent_labels[0].labels[0]=local " +
			"equivalent_labels[1].labels[0]=remote",
	})
}

func (p *PriorityLabels) Validate() *schema.FieldError {
	first := map[string]string{}
	for i, equivalent := range p.Labels {
		for j, label := range equivalent.Labels {
			at := fmt.Sprintf("equivalent_labels[%d].labels[%d]", i, j)
			if earlier, taken := first[label]; taken {
				return refuse(at, "%s is %s already", schema.Show(label), earlier)
			}
			first[label] = at
		}
	}
	return nil
}

// Priorities returns the priority of each label, the highest first. Labels that are not there have 0.
func (p *PriorityLabels) Priorities() map[string]uint32 {
	priorities := map[string]uint32{}
	for i, equivalent := range p.Labels {
		for _, label := range equivalent.Labels {
			priorities[label] = uint32(len(p.Labels) - i)
		}
	}
	return priorities
}
