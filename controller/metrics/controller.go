package metrics

import (
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/host"
)

// controllerKey is that of the group of the controller, beside the uuids of objects.
const controllerKey = "/controller"

// ownMachine is what the machine of the controller had counted at the last collection, and since the first.
type ownMachine struct {
	last                 *host.Counts
	busyUs, allUs, ownUs uint64
}

// readController reads the controller itself: its machine, its process, and how many objects it has to do with.
func (c *collector) readController(m *model.Model, seen map[string]bool, at time.Time) {
	if c.config.Machine == nil {
		return
	}
	connected, active := c.busyEngines(m)
	of := labelled{tenant: c.config.TenantName(adminTenant), tenantUUID: adminTenant, uuid: series.ControllerUUID}
	c.observe(seen, controllerKey, "controller", of, at, func(r *readings) {
		now := c.config.Machine()
		own := &r.group.own
		if then := own.last; then != nil {
			own.busyUs += now.CPUBusyUs - min(now.CPUBusyUs, then.CPUBusyUs)
			own.allUs += now.CPUTotalUs - min(now.CPUTotalUs, then.CPUTotalUs)
			own.ownUs += now.OwnCPUUs - min(now.OwnCPUUs, then.OwnCPUUs)
		}
		own.last = &now
		r.total("weir_controller_host_cpu_busy_seconds_total", float64(own.busyUs)/1e6)
		r.total("weir_controller_host_cpu_seconds_total", float64(own.allUs)/1e6)
		r.total("weir_controller_cpu_seconds_total", float64(own.ownUs)/1e6)
		r.gauge("weir_controller_resident_bytes", float64(now.OwnRSSBytes))
		r.gauge("weir_controller_host_memory_used_bytes", used(now.MemoryBytes, now.MemoryAvailableBytes))
		r.gauge("weir_controller_host_memory_bytes", float64(now.MemoryBytes))
		r.gauge("weir_controller_disk_used_bytes", used(now.DiskBytes, now.DiskFreeBytes))
		r.gauge("weir_controller_disk_bytes", float64(now.DiskBytes))
		r.gauge("weir_controller_engines", float64(connected))
		r.gauge("weir_controller_virtual_services", float64(len(m.VirtualServices)))
		r.gauge("weir_controller_active_virtual_services", float64(active))
		servers := 0
		for _, pool := range m.Pools {
			servers += len(pool.Members)
		}
		r.gauge("weir_controller_servers", float64(servers))
	})
}

// busyEngines counts the engines that work, and the virtual services that some of them serve.
func (c *collector) busyEngines(m *model.Model) (engines, services int) {
	fleet.ReadEach(c.config.Fleet, m.Engines, func(known *fleet.Known, engine *model.Engine) {
		if known.Engine(engine.UUID).Works() {
			engines++
		}
	})
	fleet.ReadEach(c.config.Fleet, m.VirtualServices, func(known *fleet.Known, vs *model.VirtualService) {
		if len(known.Serving(vs.UUID, known.Assigned(vs.SeatsOf()))) > 0 {
			services++
		}
	})
	return engines, services
}
