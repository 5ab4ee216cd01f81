package dataplane

import (
	"github.com/weir-lb/weir/agent/plan"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// Status is how the data plane is.
type Status struct {
	State           State
	Reason          string // of a state that is not Running, one line
	PID             int    // 0: none
	Restarts        uint32 // since the agent started
	ServingRevision uint64 // 0: no Plan
	SinceUnixMs     uint64 // of the state and its reason
}

// State is the stage of a data plane's life.
type State uint8

const (
	Unstarted State = iota
	Starting
	Running
	BackingOff // it ended, and will be started again
	Stopped
)

// Sample is what a data plane shows each second.
type Sample struct {
	Up      map[plan.Member]bool // whether it goes to a server
	Clients bool                 // there are any
	Wire    *dataplanev1.Sample  // all of it, for the controller
}

func sampleOf(wire *dataplanev1.Sample) Sample {
	sample := Sample{Up: make(map[plan.Member]bool, len(wire.GetServers())), Wire: wire}
	for _, server := range wire.GetServers() {
		sample.Up[plan.Member{Pool: server.GetPoolUuid(), Server: server.GetServerId()}] = server.GetUp()
	}
	for _, service := range wire.GetVirtualServices() {
		sample.Clients = sample.Clients || service.GetOpenConnections() > 0
	}
	return sample
}
