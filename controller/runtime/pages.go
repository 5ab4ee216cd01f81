// Package runtime makes the runtime pages of the API: what is known about an object, as JSON in Avi's shape. It reads
// fleet and decides nothing; rest serves its pages.
//
// References in a page have the stored form "/api/<kind>/<uuid>".
package runtime

import (
	"time"

	"github.com/weir-lb/weir/controller/autoscale"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/health"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/slowness"
)

const engineKind = "serviceengine"

// Pages makes the pages from what the fleet knows when a page is read.
type Pages struct {
	fleet  *fleet.Fleet
	slow   slowness.Of
	scaled autoscale.Of
	now    func() time.Time
}

// New returns the pages of a fleet. scaled is nil where nobody scales pools.
func New(fleet *fleet.Fleet, slow slowness.Of, scaled autoscale.Of, now func() time.Time) *Pages {
	return &Pages{fleet, slow, scaled, now}
}

// operStates are Avi's names of the states.
var operStates = map[health.State]string{
	health.Unknown: "OPER_UNKNOWN", health.Up: "OPER_UP", health.Down: "OPER_DOWN", health.Disabled: "OPER_DISABLED",
	health.Initializing: "OPER_INITIALIZING", health.Unused: "OPER_UNUSED", health.NoResources: "OPER_RESOURCES",
}

// StateName returns Avi's name of a state.
func StateName(state health.State) string { return operStates[state] }

func operStatus(state health.State, reasons ...string) schema.Object {
	return schema.Object{"state": operStates[state], "reason": stringList(reasons)}
}

// notRead returns the page of an object that is not in the model yet.
func notRead() schema.Object {
	return schema.Object{"oper_status": operStatus(health.Initializing, "its configuration is being read")}
}

func stringList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

func objectList(objects []schema.Object) []any {
	list := make([]any, len(objects))
	for i, object := range objects {
		list[i] = object
	}
	return list
}

// counted adds the counters to a page, if an engine has counted.
func counted(page schema.Object, tally fleet.Tally) {
	if tally.Totals == nil {
		return
	}
	totals, rates := schema.Object{}, schema.Object{}
	for name, total := range tally.Totals {
		if !isElsewhere(name) {
			totals[name] = total
		}
	}
	for name, rate := range tally.PerSecond {
		if !isElsewhere(name) {
			rates[name] = rate
		}
	}
	totals["per_second"] = rates
	page["counters"] = totals
}

func percentOf(part, whole int) int64 {
	if whole == 0 {
		return 0
	}
	return int64(100 * part / whole)
}

func second(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func unixMs(ms uint64) string { return time.UnixMilli(int64(ms)).UTC().Format(time.RFC3339Nano) }
