package fleet

// past is what engines counted and no sample says any more: data planes end, virtual services are taken from engines,
// engines are deleted. With it totals never fall while this controller runs.
type past struct {
	wanted   *wanted
	services map[string]totals // by uuid
	servers  map[ServerKey]totals
}

// totals are sums of counters, by their name.
type totals map[string]int64

func newPast(wanted *wanted) past {
	return past{wanted: wanted, services: map[string]totals{}, servers: map[ServerKey]totals{}}
}

// keep takes over what the last sample of an engine says and the next does not go on from; nil: there is none. What was
// counted for an object that is not wanted any more is nobody's.
func (p past) keep(last, next *Sample) {
	if last == nil {
		return
	}
	if next != nil && next.GetPid() != last.GetPid() {
		next = nil
	}
	for uuid, counters := range last.services {
		again := next.Service(uuid)
		ended := again == nil || again.GetConnectionsTotal() < counters.GetConnectionsTotal()
		if ended && p.wanted.services[uuid] != nil {
			p.services[uuid] = p.services[uuid].plus(serviceCounts(counters, nil))
		}
	}
	for key, counters := range last.servers {
		again := next.Server(key)
		ended := again == nil || again.GetConnectionsTotal() < counters.GetConnectionsTotal()
		if ended && p.wanted.members[key] {
			p.servers[key] = p.servers[key].plus(serverCounts(counters, nil))
		}
	}
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
