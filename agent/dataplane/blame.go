package dataplane

import (
	"fmt"

	"github.com/weir-lb/weir/agent/plan"
)

// suspectsMax bounds the findings about one Plan; a first Plan is all suspects.
const suspectsMax = 100

// blame suspects each object that differs between the Plan that served and the one with which data planes died: the
// cause came with the change. Health monitors are left out, because the data plane does not get them.
func blame(before, after *plan.Plan, cause error) []plan.Finding {
	changes := plan.Changes(before, after)
	if len(changes) == 0 {
		message := fmt.Sprintf(
			"the data plane died %d times while taking a Plan that differs in nothing from the one before: %v",
			deathsMax, cause,
		)
		return []plan.Finding{{Message: message}}
	}
	var suspects []plan.Finding
	for _, change := range changes[:min(len(changes), suspectsMax)] {
		suspects = append(suspects, plan.Finding{Object: change.Object, Message: fmt.Sprintf(
			"the data plane died %d times while taking a Plan in which this object %s: %v", deathsMax,
			change.How, cause)})
	}
	return suspects
}
