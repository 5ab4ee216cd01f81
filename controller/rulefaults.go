package controller

import (
	"iter"

	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// ruleFaults finds rules without effect for REST, and groups that no rule can compare with, before a virtual service
// uses them.
func ruleFaults(kind string, policy schema.Object, objects *store.View) (warnings []schema.Warning) {
	stored := plan.Objects{
		Get: func(kind, uuid string) (schema.Object, bool) {
			record, known := objects.Get(kind, uuid)
			if !known {
				return nil, false
			}
			return record.Object, true
		},
		Referrers: func(kind, uuid string) iter.Seq[string] {
			return func(yield func(string) bool) {
				for referrer := range objects.Referrers(kind, uuid) {
					if !yield(referrer.Kind) {
						return
					}
				}
			}
		},
	}
	for _, finding := range append(plan.RulesWithoutEffect(kind, policy, stored.Get),
		plan.ComparedPorts(kind, policy, stored)...) {
		warnings = append(warnings, schema.Warning{Field: finding.Field, Message: finding.Message})
	}
	return warnings
}
