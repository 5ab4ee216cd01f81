package place

import (
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// Usage is what an engine has used up so far, as it counts it.
type Usage struct {
	At       time.Time
	Process  uint32 // of the data plane: another one counts from zero
	Workers  int
	CPU      time.Duration
	Services map[string]ServiceUsage // by virtual service uuid
}

// ServiceUsage is the part of one virtual service.
type ServiceUsage struct {
	Connections, Requests, Bytes uint64
	Open                         uint64 // connections just now
}

// Load is how much of what an engine can take it took, on average between two usages.
type Load struct {
	Percent   float64            // by the criterion of its group that is highest
	Criterion string             // "CPU"
	Services  map[string]float64 // the part of each virtual service in Percent, by uuid
}

// criterion is something that may become scarce on an engine.
type criterion struct {
	name string
	// percent of the capacity that was used; weight is what a virtual service had of it.
	percent func(u used, capacity float64) float64
	weight  func(s ServiceUsage) float64
}

// used is what came between two usages; gauges are means.
type used struct {
	seconds  float64
	workers  float64
	cpu      time.Duration
	all      ServiceUsage
	services map[string]ServiceUsage
}

// pieceBytes cost about as much CPU time as a request.
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

// LoadBetween is the load of an engine of a group; false: the usages are not of one process, or of one time.
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

// since: one that is taken away and comes again counts from zero.
func since(then, now uint64) uint64 {
	if now < then {
		return now
	}
	return now - then
}
