package metrics

import (
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
)

// adminTenant is the uuid of the tenant that engines belong to.
const adminTenant = "admin"

// odometer adds up what the data planes of an engine counted, over all of them and since the collector began.
type odometer struct {
	running  bool // there was a sample
	process  uint32
	cpuUs    uint64
	services map[string]distance // of the last sample, by virtual service

	total     distance
	cpuUsEver uint64

	batches, readyTicks         uint64 // of the last sample, by all workers
	batchesEver, readyTicksEver uint64
}

type distance struct{ connections, requests, received, sent uint64 }

// advance takes a sample. What the first data plane had counted before the leader heard of it is not added.
func (o *odometer) advance(sample *fleet.Sample, countedBefore bool) {
	first := !o.running && countedBefore
	if !first && sample.Process() != o.process {
		o.services, o.cpuUs, o.batches, o.readyTicks = nil, 0, 0, 0
	}
	counted := make(map[string]distance, len(sample.GetVirtualServices()))
	for _, now := range sample.GetVirtualServices() {
		uuid, is := now.GetUuid(), distance{now.GetConnectionsTotal(), now.GetRequestsTotal(),
			now.GetReceivedBytesTotal(),
			now.GetSentBytesTotal()}
		counted[uuid] = is
		if !first {
			o.total.add(is, o.services[uuid])
		}
	}
	cpuUs := sample.GetCpuUserUs() + sample.GetCpuSystemUs()
	batches, readyTicks := uint64(0), uint64(0)
	for _, worker := range sample.GetWorkerCounters() {
		batches, readyTicks = batches+worker.GetBatchesTotal(), readyTicks+worker.GetReadyTicksTotal()
	}
	if !first {
		o.cpuUsEver += cpuUs - min(cpuUs, o.cpuUs)
		o.batchesEver += batches - min(batches, o.batches)
		o.readyTicksEver += readyTicks - min(readyTicks, o.readyTicks)
	}
	o.batches, o.readyTicks = batches, readyTicks
	o.running, o.process, o.cpuUs, o.services = true, sample.Process(), cpuUs, counted
}

// add adds what was counted between two samples. Counts that fell began again at zero.
func (d *distance) add(now, then distance) {
	if now.connections < then.connections || now.requests < then.requests || now.received < then.received ||
		now.sent < then.sent {
		then = distance{}
	}
	d.connections += now.connections - then.connections
	d.requests += now.requests - then.requests
	d.received += now.received - then.received
	d.sent += now.sent - then.sent
}

func (c *collector) readEngine(known *fleet.Known, engine *model.Engine, seen map[string]bool, at time.Time) {
	is := known.Engine(engine.UUID)
	if is == nil || is.Sample == nil || !is.Works() {
		if c.groups[engine.UUID] != nil {
			seen[engine.UUID] = true // its counts stay, and its series end
			c.groups[engine.UUID].idle = true
		}
		return
	}
	of := labelled{engine: engine.Name, tenant: c.config.TenantName(adminTenant), tenantUUID: adminTenant,
		uuid: engine.UUID}
	c.observe(seen, engine.UUID, "engine", of, at, func(r *readings) {
		o := &r.group.odometer
		o.advance(is.Sample, is.CountedBefore())
		r.total("weir_engine_cpu_seconds_total", float64(o.cpuUsEver)/1e6)
		r.counter("weir_engine_connections", int64(o.total.connections))
		r.counter("weir_engine_requests", int64(o.total.requests))
		r.counter("weir_engine_received_bytes", int64(o.total.received))
		r.counter("weir_engine_sent_bytes", int64(o.total.sent))
		r.loop(is, o)
		r.host(is)
		open := uint64(0)
		for _, counters := range is.Sample.GetVirtualServices() {
			open += counters.GetOpenConnections()
		}
		r.gauge("weir_engine_resident_bytes", float64(is.Sample.GetRssBytes()))
		r.gauge("weir_engine_memory_bytes", float64(is.Resources.GetMemoryBytes()))
		r.gauge("weir_engine_workers", float64(is.Sample.GetWorkers()))
		r.gauge("weir_engine_open_connections", float64(open))
		r.gauge("weir_engine_services", float64(len(is.Sample.GetVirtualServices())))
		if c.config.Scores != nil {
			of, graded := c.config.Scores.EngineScore(engine.UUID)
			r.score("weir_engine_", of, graded)
		}
	})
}
