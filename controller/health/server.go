package health

import (
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
)

// Seen is the state of a server as one engine sees it.
type Seen struct {
	Engine string // uuid
	State  State  // Up, Down, or Unknown: not checked yet
	Reason string
	Told   bool // a monitor or failed connections gave the state
	Since  time.Time
}

// Server is the state of a server over all engines.
type Server struct {
	State   State
	Reason  string // why it is not up, or why it counts as up
	Checked []Seen // what the engines say that have checked it
	Since   time.Time
}

// OfServer returns the state of a server. A server is up if one of the engines that use it can reach it. seen has one
// entry for each engine; the result keeps the slice.
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
