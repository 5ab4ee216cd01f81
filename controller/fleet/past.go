package fleet

// past is the counts that are no longer in any sample: a data plane ended, a virtual service was taken from an engine,
// an engine was deleted. With these counts, totals never fall while this controller runs.
type past struct {
	wanted   *wanted
	services map[string]totals // by uuid
	servers  map[ServerKey]totals
	queues   map[string]totals // by uuid of the pool
}

// totals are sums of counters, by their name.
type totals map[string]int64

func newPast(wanted *wanted) past {
	return past{wanted: wanted, services: map[string]totals{}, servers: map[ServerKey]totals{},
		queues: map[string]totals{}}
}

// keep adds the counts of the last sample that the next sample does not continue; next is nil if the engine is gone.
// keep drops the counts of objects that are deleted.
func (p past) keep(last, next *Sample) {
	if last == nil {
		return
	}
	if next != nil && next.process != last.process {
		next = nil
	}
	for at, counters := range last.GetVirtualServices() {
		again := next.serviceAt(at, last)
		if again == counters {
			continue
		}
		uuid := counters.GetUuid()
		ended := again == nil || again.GetConnectionsTotal() < counters.GetConnectionsTotal() ||
			again.GetRequestsTotal() < counters.GetRequestsTotal()
		if ended && p.wanted.services[uuid] != nil {
			p.services[uuid] = p.services[uuid].plus(serviceCounts(counters, nil))
		}
	}
	for at, counters := range last.GetServers() {
		again := next.serverAt(at, last)
		if again == counters {
			continue
		}
		key := ServerKey{counters.GetPoolUuid(), counters.GetServerId()}
		ended := again == nil || again.GetConnectionsTotal() < counters.GetConnectionsTotal() ||
			again.GetRequestsTotal() < counters.GetRequestsTotal()
		if ended && p.wanted.members[key] {
			p.servers[key] = p.servers[key].plus(serverCounts(counters, nil))
		}
	}
	p.keepQueues(last, next)
}

// with adds the counts of an engine as it is now. One that does not work has nothing open.
func (t totals) with(counts []count, from *Engine) totals {
	if t == nil {
		t = make(totals, len(counts))
	}
	for _, c := range counts {
		if c.gauge && !from.Works() {
			c.now = 0
		}
		t[c.name] += int64(c.now)
	}
	return t
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
