package live

import (
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
)

// pool is a pool that is watched. There is no history of its servers: only what they did in the last step.
type pool struct {
	members []string // ids of its servers
	rates   map[string]*serverRates
}

// serverRates is what a server did in the last step, per second, over all engines.
type serverRates struct {
	requests, failures, connections float64
	open                            uint64
}

// lookUp takes the servers of the pool; nil: there is no such pool.
func (p *pool) lookUp(of *model.Pool) {
	p.members = p.members[:0]
	if of == nil {
		return
	}
	for _, member := range of.Members {
		p.members = append(p.members, member.ID)
	}
}

// fold adds up what engines counted about each server in a step.
func (p *pool) fold(uuid string, told []*interval) {
	p.rates = make(map[string]*serverRates, len(p.members))
	for _, member := range p.members {
		key := fleet.ServerKey{Pool: uuid, Server: member}
		for _, interval := range told {
			if interval.last.Server(key) == nil {
				continue
			}
			if p.rates[member] == nil {
				p.rates[member] = &serverRates{}
			}
			p.rates[member].add(key, interval)
		}
	}
}

func (r *serverRates) add(key fleet.ServerKey, from *interval) {
	for _, part := range from.stretches {
		now, then := part.to.Server(key), part.from.Server(key)
		if now.GetRequestsTotal() < then.GetRequestsTotal() || now.GetConnectionsTotal() < then.GetConnectionsTotal() {
			then = nil // the server left the engine and came back: it counts again from zero
		}
		r.requests += grown(now.GetRequestsTotal(), then.GetRequestsTotal()) / from.seconds
		r.failures += grown(now.GetFailuresTotal(), then.GetFailuresTotal()) / from.seconds
		r.connections += grown(now.GetConnectionsTotal(), then.GetConnectionsTotal()) / from.seconds
	}
	r.open += from.last.Server(key).GetOpenConnections()
}
