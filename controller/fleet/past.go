package fleet

import (
	"maps"

	"github.com/weir-lb/weir/controller/model"
)

// past is what engines counted and no sample says any more: data planes end, virtual services are taken from engines,
// engines are deleted. With it totals never fall while this controller runs.
type past struct {
	services map[string]totals // by uuid
	servers  map[ServerKey]totals
}

// totals are sums of counters, by their name.
type totals map[string]int64

func newPast() past { return past{services: map[string]totals{}, servers: map[ServerKey]totals{}} }

// keep takes over what the last sample of an engine says and the next does not go on from; nil: there is none.
func (p past) keep(last, next *Sample) {
	if last == nil {
		return
	}
	if next != nil && next.GetPid() != last.GetPid() {
		next = nil
	}
	for uuid, counters := range last.services {
		if again := next.Service(uuid); again == nil || again.GetConnectionsTotal() < counters.GetConnectionsTotal() {
			p.services[uuid] = p.services[uuid].plus(serviceCounts(counters, nil))
		}
	}
	for key, counters := range last.servers {
		if again := next.Server(key); again == nil || again.GetConnectionsTotal() < counters.GetConnectionsTotal() {
			p.servers[key] = p.servers[key].plus(serverCounts(counters, nil))
		}
	}
}

// forget drops what belongs to nothing any more.
func (p past) forget(services map[string]*model.VirtualService, members map[ServerKey]bool) {
	maps.DeleteFunc(p.services, func(uuid string, _ totals) bool { return services[uuid] == nil })
	maps.DeleteFunc(p.servers, func(key ServerKey, _ totals) bool { return !members[key] })
}

func (t totals) plus(counts []count) totals {
	if t == nil {
		t = totals{}
	}
	for _, c := range counts {
		if !c.gauge {
			t[c.name] += int64(c.now)
		}
	}
	return t
}
