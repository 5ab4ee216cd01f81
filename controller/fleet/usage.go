package fleet

import (
	"time"

	"github.com/weir-lb/weir/controller/place"
)

// Usage returns what every engine that works has used so far, by its uuid.
func (f *Fleet) Usage() map[string]place.Usage {
	f.mu.RLock()
	defer f.mu.RUnlock()
	all := map[string]place.Usage{}
	for uuid, engine := range f.known.engines {
		if engine.Works() && engine.Sample != nil {
			all[uuid] = engine.Sample.usage()
		}
	}
	return all
}

func (s *Sample) usage() place.Usage {
	usage := place.Usage{
		At: s.at(), Process: s.process, Workers: int(s.GetWorkers()),
		CPU:      time.Duration(s.busy()) * time.Microsecond,
		Services: make(map[string]place.ServiceUsage, len(s.GetVirtualServices())),
	}
	for _, counters := range s.GetVirtualServices() {
		usage.Services[counters.GetUuid()] = place.ServiceUsage{
			Connections: counters.GetConnectionsTotal(), Requests: counters.GetRequestsTotal(),
			Bytes: counters.GetReceivedBytesTotal() + counters.GetSentBytesTotal(), Open: counters.GetOpenConnections(),
		}
	}
	return usage
}
