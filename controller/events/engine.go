package events

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/health"
)

const adminTenant = "admin"

// Engine is the engine that an event is about.
type Engine struct{ UUID, Name string }

// Entry returns an event about the engine.
func (e Engine) Entry(id, message string) Entry {
	return Entry{ID: id, Kind: "SERVICEENGINE", UUID: e.UUID, Name: e.Name, Tenant: adminTenant, Message: message}
}

// Turned returns the event that the engine serves now, or that it does not, and why.
func (e Engine) Turned(turn health.Turn, whyDown string) Entry {
	if turn == health.CameUp {
		return e.Entry("SE_UP", "serves")
	}
	return e.Entry("SE_DOWN", whyDown)
}

// Replaced returns the event that another host has joined under the engine's name. err is why the controller does not
// know whether the join is stored; nil: it is.
func (e Engine) Replaced(err error) Entry {
	if err != nil {
		return e.Entry("SE_REPLACED", fmt.Sprintf("a host tried to join under the name of this engine, and the join "+
			"may be stored: if so, the one that had the name before cannot connect any more: %v", err))
	}
	return e.Entry("SE_REPLACED",
		"a host has joined under the name of this engine: the one that had the name before cannot connect any more")
}

// Missed returns the event that heartbeats of the engine's agent did not arrive.
func (e Engine) Missed(heartbeats int) Entry {
	return e.Entry("SE_HEARTBEAT_FAILURE",
		fmt.Sprintf("%d heartbeats in a row are missing: the agent hangs, or is cut off from the controller",
			heartbeats))
}

// ChecksTooMany returns the event that the engine reports the states of more servers than the controller keeps.
func (e Engine) ChecksTooMany(most int) Entry {
	return e.Entry("SE_VERDICTS_DROPPED",
		fmt.Sprintf("checks more than %d servers: the controller shows the states of that many, and not of the others",
			most))
}

// Said returns an event that the agent reported, about an object.
func (e Engine) Said(id, message, object string) Entry {
	entry := e.Entry(id, message)
	entry.Related = []string{object}
	return entry
}

// Shortage is a kind of thing that an engine can run out of.
type Shortage int

const (
	ShortOfPlaces Shortage = iota // connections of clients
	ShortOfMemory                 // memory for unsent responses
)

var shortages = [...]struct{ id, did string }{
	ShortOfPlaces: {"CONN_DROP_MAX_FLOW_TBL",
		"few places for clients are left: it closed or refused %d connections or UDP sessions, first those that are idle or of addresses with many connections: %s"},
	ShortOfMemory: {"CONN_DROP_NO_CONN_MEM",
		"little memory for unsent responses is left: it closed %d connections, first those that hold much of it and move little: %s"},
}

// Loss is the number of clients that a virtual service lost in a shortage.
type Loss struct {
	VirtualService, Name string
	Clients              uint64
}

// SentAway returns the event that the engine sent clients away because of a shortage. The largest loss stands first in
// losses.
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
