// Package events keeps the newest events, for operators: which engine came or went, which virtual service moved and
// why. Other packages add entries, and rest shows them. watch.go finds out which virtual services, pools and servers
// came up or went down, by comparing typed states (service.go, pool.go); engine.go has the texts of what happens to
// engines.
//
// The log is in memory and bounded: the oldest entry goes first, and all are lost with the leader that keeps them. The
// log of the process has every entry.
package events

import (
	"log/slog"
	"time"

	"github.com/weir-lb/weir/controller/recent"
)

// entriesMax are kept; the oldest goes first.
const entriesMax = 10_000

// Entry is one thing that happened, named as in Avi's event records.
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

// Log is the entries. It is safe for concurrent use.
type Log struct {
	log     *slog.Logger
	now     func() time.Time
	entries *recent.Ring[Entry]
}

// New is empty.
func New(log *slog.Logger, now func() time.Time) *Log {
	return &Log{log: log, now: now, entries: recent.NewRing[Entry](entriesMax)}
}

// Add notes what happened just now.
func (l *Log) Add(entry Entry) {
	entry.Time = l.now().UTC()
	if entry.Related == nil {
		entry.Related = []string{}
	}
	l.log.Info("event", "event", entry.ID, "kind", entry.Kind, "object", entry.Name, "message", entry.Message)
	l.entries.Add(entry)
}

// Entries are those kept, newest first.
func (l *Log) Entries() []Entry { return l.entries.NewestFirst() }
