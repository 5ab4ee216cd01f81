package health

import (
	"fmt"
	"slices"

	"github.com/weir-lb/weir/controller/model"
)

// Pool is the state of a pool and of its servers.
type Pool struct {
	Status
	Enabled, Up int      // number of servers
	Servers     []Server // one for each member of the pool
}

// OfPool returns the state of a pool. A pool is up if servers enough are up: min_servers_up, or one. isUsed tells
// whether an engine serves with the pool.
func OfPool(pool *model.Pool, isUsed bool, servers []Server) Pool {
	result := Pool{Servers: servers}
	var lost []string
	for i, member := range pool.Members {
		if !pool.Enabled || !member.Enabled {
			continue
		}
		result.Enabled++
		if servers[i].State == Up {
			result.Up++
		} else {
			lost = append(lost, fmt.Sprintf("server %s: %s", member.ID, servers[i].Reason))
		}
	}
	switch {
	case !pool.Enabled:
		result.Status = status(Disabled, "enabled is false")
	case !isUsed:
		result.Status = status(Unused, "no virtual service that is served uses it")
	case result.Up >= max(1, int(pool.MinServersUp)):
		result.Status = status(Up, lost...)
	case result.Up > 0:
		result.Status = status(Down, append([]string{fmt.Sprintf("%d of its servers are up, and min_servers_up is %d",
			result.Up, pool.MinServersUp)}, lost...)...)
	case pool.Size() == 0:
		result.Status = status(Down, "it has no server")
	case result.Enabled == 0 && len(pool.Members) > 0:
		result.Status = status(Down, "none of its servers is enabled")
	default:
		result.Status = status(Down, lost...)
	}
	return result
}

// IsUnsure tells whether the pool is not up now, but may be once all of its servers are checked.
func (p Pool) IsUnsure() bool {
	return p.Up == 0 && slices.ContainsFunc(p.Servers, func(server Server) bool { return server.State == Initializing })
}
