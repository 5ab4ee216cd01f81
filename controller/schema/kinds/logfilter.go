package kinds

import (
	"cmp"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
)

// MaxLogFilters is how many filters of logs a virtual service may have.
const MaxLogFilters = 16

// ActiveFilters returns the filters of logs of a virtual service that are in force, in their order. A record tells by
// the place in this list which filters hold for it.
func ActiveFilters(virtualService schema.Object) []schema.Object {
	policy, _ := virtualService["analytics_policy"].(schema.Object)
	active := slices.DeleteFunc(objects(policy["client_log_filters"]), func(filter schema.Object) bool {
		return filter["enabled"] != true
	})
	slices.SortStableFunc(active, func(a, b schema.Object) int {
		first, _ := a["index"].(int64)
		second, _ := b["index"].(int64)
		return cmp.Compare(first, second)
	})
	return active[:min(len(active), MaxLogFilters)]
}
