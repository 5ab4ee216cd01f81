package place

import (
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// Usage is what an engine has used so far, by its own counters.
type Usage struct {
	At       time.Time
	Process  uint32 // of the data plane; a new process counts from zero
	Workers  int
	CPU      time.Duration
	Services map[string]ServiceUsage // by virtual service uuid
}

// ServiceUsage is the part of Usage that belongs to one virtual service.
type ServiceUsage struct {
	Connections, Requests, Bytes uint64
	Open                         uint64 // connections that are open now
}

// Load is the share of its capacity that an engine used, on average between two usages.
type Load struct {
	Percent   float64            // by the criterion of the group with the highest value
	Criterion string             // "CPU"
	Services  map[string]float64 // part of Percent that belongs to each virtual service, by uuid
}

// criterion is a resource that may become scarce on an engine.
type criterion struct {
	name string
	// percent returns the share of the capacity that was used. weight returns the part of it that belongs to a virtual
	// service, in any unit.
	percent func(u used, capacity float64) float64
	weight  func(s ServiceUsage) float64
}

// used is the difference between two usages. For gauges it is the mean.
type used struct {
	seconds  float64
	workers  float64
	cpu      time.Duration
	all      ServiceUsage
	services map[string]ServiceUsage
}

// pieceBytes is the number of bytes that cost about as much CPU time as a request.
const pieceBytes = 16 << 10

var criteria = map[string]criterion{
	"SE_AUTO_REBALANCE_CPU": {
		"CPU", func(u used, _ float64) float64 { return 100 * u.cpu.Seconds() / (u.seconds * u.workers) },
		func(s ServiceUsage) float64 {
			return float64(s.Connections) + float64(s.Requests) + float64(s.Bytes)/pieceBytes
		},
	},
	"SE_AUTO_REBALANCE_MBPS": {
		"throughput", func(u used, capacity float64) float64 {
			return 100 * float64(u.all.Bytes) * 8 / 1e6 / u.seconds / capacity
		},
		func(s ServiceUsage) float64 { return float64(s.Bytes) },
	},
	"SE_AUTO_REBALANCE_OPEN_CONNS": {
		"open connections", func(u used, capacity float64) float64 { return 100 * float64(u.all.Open) / capacity },
		func(s ServiceUsage) float64 { return float64(s.Open) },
	},
	"SE_AUTO_REBALANCE_CPS": {
		"new connections", func(u used, capacity float64) float64 {
			return 100 * float64(u.all.Connections) / u.seconds / capacity
		},
		func(s ServiceUsage) float64 { return float64(s.Connections) },
	},
}

// LoadBetween returns the load of an engine of a group; false: the load is not known, for example because the usages
// are of different processes.
func LoadBetween(group *model.Group, then, now Usage) (Load, bool) {
	if then.Process != now.Process || !now.At.After(then.At) || now.Workers == 0 {
		return Load{}, false
	}
	between := difference(then, now)
	names, load := group.AutoRebalanceCriteria, Load{Services: map[string]float64{}}
	if len(names) == 0 {
		names = []string{"SE_AUTO_REBALANCE_CPU"}
	}
	var highest criterion
	for i, name := range names {
		criterion, counted := criteria[name]
		if !counted {
			continue
		}
		capacity := 0.0
		if i < len(group.AutoRebalanceCapacity) {
			capacity = float64(group.AutoRebalanceCapacity[i])
		}
		if percent := criterion.percent(between, capacity); highest.name == "" || percent > load.Percent {
			load.Percent, load.Criterion, highest = percent, criterion.name, criterion
		}
	}
	load.share(highest, between)
	return load, highest.name != ""
}

// share divides the load among virtual services.
func (l *Load) share(by criterion, between used) {
	sum := 0.0
	for _, service := range between.services {
		sum += by.weight(service)
	}
	for uuid, service := range between.services {
		if sum > 0 {
			l.Services[uuid] = l.Percent * by.weight(service) / sum
		}
	}
}

func difference(then, now Usage) used {
	between := used{
		seconds: now.At.Sub(then.At).Seconds(), workers: float64(now.Workers), cpu: now.CPU - then.CPU,
		services: map[string]ServiceUsage{},
	}
	for uuid, last := range now.Services {
		first := then.Services[uuid]
		service := ServiceUsage{
			Connections: since(first.Connections, last.Connections), Requests: since(first.Requests, last.Requests),
			Bytes: since(first.Bytes, last.Bytes), Open: (first.Open + last.Open) / 2,
		}
		between.services[uuid] = service
		between.all.Connections += service.Connections
		between.all.Requests += service.Requests
		between.all.Bytes += service.Bytes
		between.all.Open += service.Open
	}
	return between
}

// since returns the growth of a counter. A virtual service that was removed and added again counts from zero.
func since(then, now uint64) uint64 {
	if now < then {
		return now
	}
	return now - then
}
