package events

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/health"
)

const adminTenant = "admin"

// Engine is an engine to which something happened.
type Engine struct{ UUID, Name string }

// Entry is an event of the engine.
func (e Engine) Entry(id, message string) Entry {
	return Entry{ID: id, Kind: "SERVICEENGINE", UUID: e.UUID, Name: e.Name, Tenant: adminTenant, Message: message}
}

// Turned says that the engine serves, or why it does not.
func (e Engine) Turned(turn health.Turn, whyDown string) Entry {
	if turn == health.CameUp {
		return e.Entry("SE_UP", "serves")
	}
	return e.Entry("SE_DOWN", whyDown)
}

// Missed says that its agent fell silent.
func (e Engine) Missed(heartbeats int) Entry {
	return e.Entry("SE_HEARTBEAT_FAILURE",
		fmt.Sprintf("%d heartbeats in a row did not come: its agent is cut off from the controller, or hangs",
			heartbeats))
}

// Said is what its agent says happened to an object.
func (e Engine) Said(id, message, object string) Entry {
	entry := e.Entry(id, message)
	entry.Related = []string{object}
	return entry
}

// Shortage is what an engine can be short of.
type Shortage int

const (
	ShortOfPlaces Shortage = iota // for clients
	ShortOfMemory                 // for what clients do not take
)

var shortages = [...]struct{ id, did string }{
	ShortOfPlaces: {"CONN_DROP_MAX_FLOW_TBL",
		"its places for clients run short: it sent %d away that held most or moved least, of %s"},
	ShortOfMemory: {"CONN_DROP_NO_CONN_MEM",
		"its memory for what clients do not take runs short: it sent %d away that held most and moved least, of %s"},
}

// Loss is how many clients a virtual service lost to a shortage.
type Loss struct {
	VirtualService, Name string
	Clients              uint64
}

// SentAway says which clients the engine sent away for want of something. losses come largest first.
func (e Engine) SentAway(shortage Shortage, losses []Loss) Entry {
	var clients uint64
	var names, related []string
	for _, loss := range losses {
		clients += loss.Clients
		names = append(names, fmt.Sprintf("%s (%d)", loss.Name, loss.Clients))
		related = append(related, loss.VirtualService)
	}
	told := shortages[shortage]
	entry := e.Entry(told.id, fmt.Sprintf(told.did, clients, strings.Join(names, ", ")))
	slices.Sort(related)
	entry.Related = related
	return entry
}
