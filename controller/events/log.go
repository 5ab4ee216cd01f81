// Package events keeps the newest events, for operators: which engine connected or left, which virtual service moved
// and why. Other packages add entries, and rest shows them. watch.go compares typed states to find the virtual
// services, pools and servers that came up or went down (service.go, pool.go); engine.go has the texts of the events
// about engines.
//
// The list is in memory and bounded: it drops the oldest entry first, and is lost when the leader ends. Each entry is
// also written to the log of the process.
package events

import (
	"log/slog"
	"time"

	"github.com/weir-lb/weir/controller/recent"
)

// entriesMax is the number of entries that are kept.
const entriesMax = 10_000

// Entry is one event, with the names of Avi's event records.
type Entry struct {
	Time    time.Time `json:"report_timestamp"`
	ID      string    `json:"event_id"` // VS_SCALEOUT_COMPLETE
	Kind    string    `json:"obj_type"` // VIRTUALSERVICE
	UUID    string    `json:"obj_uuid"`
	Name    string    `json:"obj_name"`
	Tenant  string    `json:"tenant"` // uuid
	Message string    `json:"event_description"`
	Related []string  `json:"related_uuids"`
}

// Log is the list of events. It is safe for concurrent use.
type Log struct {
	log     *slog.Logger
	now     func() time.Time
	entries *recent.Ring[Entry]
}

// New returns an empty list. Each entry is also written to log.
func New(log *slog.Logger, now func() time.Time) *Log {
	return &Log{log: log, now: now, entries: recent.NewRing[Entry](entriesMax)}
}

// Add adds an event. Its time is now.
func (l *Log) Add(entry Entry) {
	entry.Time = l.now().UTC()
	if entry.Related == nil {
		entry.Related = []string{}
	}
	l.log.Info("event", "event", entry.ID, "kind", entry.Kind, "object", entry.Name, "message", entry.Message)
	l.entries.Add(entry)
}

// Entries returns the events, newest first.
func (l *Log) Entries() []Entry { return l.entries.NewestFirst() }
