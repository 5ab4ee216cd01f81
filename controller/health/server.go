package health

import (
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// Seen is what one engine says of a server.
type Seen struct {
	Engine string // uuid
	State  State  // Up, Down, or Unknown: nothing yet
	Reason string
	Told   bool // by a monitor, or by what connections came to
	Since  time.Time
}

// Server is what the engines together say of a server.
type Server struct {
	State   State
	Reason  string // of one that is not up, or why it counts as up
	Checked []Seen // by the engines that have checked it
	Since   time.Time
}

// OfServer: up if one of the engines that use it can reach it. The result takes over seen, which holds one for each
// engine.
func OfServer(pool *model.Pool, member *model.Member, seen []Seen) Server {
	switch {
	case !pool.Enabled || !member.Enabled:
		return Server{State: Disabled, Reason: "enabled is false"}
	case len(seen) == 0:
		return Server{State: Unknown, Reason: "no engine uses it"}
	}
	server := Server{State: Initializing, Reason: "no engine has checked it yet"}
	if len(pool.HealthMonitors) == 0 {
		server.Reason = "not monitored"
	}
	for _, by := range seen {
		if by.State == Unknown {
			continue
		}
		if by.State == Up || server.State != Up {
			server.State, server.Reason = by.State, by.Reason
		}
		if by.Since.After(server.Since) {
			server.Since = by.Since
		}
	}
	server.Checked = slices.DeleteFunc(seen, func(by Seen) bool { return !by.Told })
	return server
}
