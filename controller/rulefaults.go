package controller

import (
	"github.com/weir-lb/weir/controller/plan"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// ruleFaults finds rules without effect for REST, before a virtual service uses them.
func ruleFaults(kind string, policy schema.Object, objects *store.View) (warnings []schema.Warning) {
	get := func(kind, uuid string) (schema.Object, bool) {
		record, known := objects.Get(kind, uuid)
		if !known {
			return nil, false
		}
		return record.Object, true
	}
	for _, finding := range plan.RulesWithoutEffect(kind, policy, get) {
		warnings = append(warnings, schema.Warning{Field: finding.Field, Message: finding.Message})
	}
	return warnings
}
