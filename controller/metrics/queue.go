package metrics

import (
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
)

func (c *collector) labelsOfPool(pool *model.Pool) labelled {
	return labelled{pool: pool.Name, tenant: c.config.TenantName(pool.Tenant()), tenantUUID: pool.Tenant(),
		uuid: pool.UUID}
}

// readQueue takes what was counted of the queue of a pool.
func (c *collector) readQueue(known *fleet.Known, pool *model.Pool, seen map[string]bool, at time.Time) {
	key := pool.UUID + "/queue"
	if !pool.RequestQueueEnabled && c.groups[key] == nil {
		return
	}
	c.observe(seen, key, "pool", c.labelsOfPool(pool), at, func(r *readings) {
		r.counting = true
		defer func() { r.counting = false }()
		for name, value := range known.CountedOfQueue(pool.UUID) {
			if name == fleet.WaitingRequests {
				r.gauge("weir_pool_"+name, float64(value))
			} else {
				r.counter("weir_pool_"+name, value)
			}
		}
	})
}
