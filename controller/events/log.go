// Package events keeps the newest events, for operators: which engine connected or left, which virtual service moved
// and why. Other packages add entries, and rest shows them. watch.go compares typed states to find the virtual
// services, pools and servers that came up or went down (service.go, pool.go); engine.go has the texts of the events
// about engines.
//
// The list is in memory and bounded: it drops the oldest entry first, and is lost when the leader ends. Each entry is
// also given to the record store, which keeps it, and written to the log of the process, by a goroutine of its own:
// callers hold locks, and a log can be slow.
package events

import (
	"encoding/json"
	"iter"
	"log/slog"
	"sync"
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
	// Part is the part of the object that the event is about: a server of a pool. Only alerts have it.
	Part string `json:"-"`
}

// ForAll tells whether every tenant may see the event: engines serve them all.
func (e Entry) ForAll() bool { return e.Kind == "SERVICEENGINE" }

// Fields are the fields of an event besides its time, as the record store keeps them.
func (e Entry) Fields() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		related, _ := json.Marshal(e.Related) // strings always have a JSON
		_ = yield("event_id", e.ID) && yield("obj_type", e.Kind) && yield("obj_uuid", e.UUID) &&
			yield("obj_name", e.Name) && yield("tenant", e.Tenant) && yield("event_description", e.Message) &&
			yield("related_uuids", string(related))
	}
}

// Log is the list of events. It is safe for concurrent use.
type Log struct {
	// Keep has each entry kept beyond the list, and never waits; nil: only the list has it. It is set before the first
	// entry.
	Keep func(Entry)

	// Hear hears of each entry, and never waits; nil: nobody listens. It is set before the first entry.
	Hear func(Entry)

	log     *slog.Logger
	now     func() time.Time
	entries *recent.Ring[Entry]

	mu      sync.Mutex
	pending []Entry // to be written to log; at most entriesMax
	lost    int     // number of entries that did not fit into pending
	writing bool    // a goroutine writes pending
	idle    sync.Cond
}

// New returns an empty list. Each entry is also written to log.
func New(log *slog.Logger, now func() time.Time) *Log {
	l := &Log{log: log, now: now, entries: recent.NewRing[Entry](entriesMax)}
	l.idle.L = &l.mu
	return l
}

// Add adds an event. Its time is now. Add never waits for the log of the process.
func (l *Log) Add(entry Entry) {
	entry.Time = l.now().UTC()
	if entry.Related == nil {
		entry.Related = []string{}
	}
	l.entries.Add(entry)
	if l.Keep != nil {
		l.Keep(entry)
	}
	if l.Hear != nil {
		l.Hear(entry)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == entriesMax {
		l.lost++
		return
	}
	l.pending = append(l.pending, entry)
	if !l.writing {
		l.writing = true
		go l.write()
	}
}

// write writes entries to the log of the process until none is left.
func (l *Log) write() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.pending)+l.lost > 0 {
		some, lost := l.pending, l.lost
		l.pending, l.lost = nil, 0
		l.mu.Unlock()
		for _, entry := range some {
			l.log.Info("event", "event", entry.ID, "kind", entry.Kind, "object", entry.Name, "message", entry.Message)
		}
		if lost > 0 {
			l.log.Warn("the log is too slow for the events: some are only in the list", "events", lost)
		}
		l.mu.Lock()
	}
	l.writing = false
	l.idle.Broadcast()
}

// Flush waits until all entries are written to the log of the process.
func (l *Log) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.writing {
		l.idle.Wait()
	}
}

// Entries returns the events, newest first.
func (l *Log) Entries() []Entry { return l.entries.NewestFirst() }
