package fleet

// before is what data planes had counted when this leader first heard of them. They may have counted for days, under
// another leader: who looks at what was counted since then subtracts it.
type before struct {
	services map[string]totals // by uuid
	servers  map[ServerKey]totals
	queues   map[string]totals // by uuid of the pool
}

func newBefore() before {
	return before{services: map[string]totals{}, servers: map[ServerKey]totals{},
		queues: map[string]totals{}}
}

// keep adds the counts of the first sample of an engine, if it served before.
func (b before) keep(first *Sample) {
	for _, counters := range first.GetVirtualServices() {
		uuid := counters.GetUuid()
		if counters.GetConnectionsTotal()+counters.GetRequestsTotal()+counters.GetReceivedDatagramsTotal() > 0 ||
			len(counters.GetErrors()) > 0 { // a service may have refused all that came
			b.services[uuid] = b.services[uuid].plus(serviceCounts(counters, nil))
		}
	}
	for _, counters := range first.GetServers() {
		key := ServerKey{counters.GetPoolUuid(), counters.GetServerId()}
		if counters.GetConnectionsTotal()+counters.GetRequestsTotal()+counters.GetFailuresTotal() > 0 {
			b.servers[key] = b.servers[key].plus(serverCounts(counters, nil))
		}
	}
	for _, counters := range first.GetPools() {
		pool := counters.GetPoolUuid()
		b.queues[pool] = b.queues[pool].plus(queueCounts(counters, nil))
	}
}

// timesOf returns the times in a sample, by virtual service, without the other counters.
func (s *Sample) timesOf() map[string]serviceTimes { return s.serviceTimes(nil) }
