package admit

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/recent"
)

const (
	maxEntries   = 4096 // in memory; the oldest is dropped first. The log has all entries
	maxTextBytes = 256  // of texts that a client sent
	refusedMost  = 1024 // refusals that are remembered, so that each is noted once
)

// Entry is one action that somebody did or tried.
type Entry struct {
	Time    time.Time `json:"time"`
	User    string    `json:"user"`
	Address string    `json:"address"`
	Tenant  string    `json:"tenant"`
	Action  string    `json:"action"`
	Kind    string    `json:"kind"`
	Object  string    `json:"object"`         // its uuid; what the request called it, if it was refused
	Name    string    `json:"name,omitempty"` // of the object; empty: it is not known, or there is none
	Refused string    `json:"refused,omitempty"`

	// Old and New are the fields of the object that differ, as JSON, with secrets hidden. Only the record store has
	// them: they would fill the memory.
	Old string `json:"-"`
	New string `json:"-"`
}

// Fields are the fields of an entry besides its time, as the record store keeps them.
func (e Entry) Fields() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		_ = yield("user", e.User) && yield("address", e.Address) && yield("tenant", e.Tenant) &&
			yield("action", e.Action) && yield("kind", e.Kind) && yield("object", e.Object) &&
			yield("refused", e.Refused) && yield("name", e.Name) && yield("old", e.Old) && yield("new", e.New)
	}
}

// Audit records who did what at this node. The newest entries are in memory, and lost when the node ends; the record
// store and the log have all of them.
type Audit struct {
	// Keep has each entry kept, and never waits; nil: only memory and log have it. It is set before the first entry.
	Keep func(Entry)

	log     *slog.Logger
	now     func() time.Time
	entries *recent.Ring[Entry]

	mu      sync.Mutex
	refused map[string]bool // refusals of what is not audited, which were noted; at most refusedMost
}

// NewAudit returns an empty audit trail.
func NewAudit(log *slog.Logger, now func() time.Time) *Audit {
	return &Audit{log: log, now: now, entries: recent.NewRing[Entry](maxEntries), refused: map[string]bool{}}
}

// Entries returns the entries in memory, newest first.
func (a *Audit) Entries() []Entry { return a.entries.NewestFirst() }

// Note records an action that does not change an object. err is why it failed, or nil.
func (a *Audit) Note(who Principal, action, kind, object string, err error) {
	a.add(Entry{User: who.Name, Address: who.Address, Action: action, Kind: kind, Object: object}, err)
}

// NoteRefusal records a write that was refused before it came to the gate.
func (g *Gate) NoteRefusal(w Write, action, object string, why error) {
	g.Audit.noteChange(w, action, object, change{}, why)
}

// noteChange records what an object was before and after.
func (a *Audit) noteChange(w Write, action, object string, made change, err error) {
	if w.system && w.Kind.Unaudited && (err == nil || a.known(w.Kind.Name+" "+action+" "+object+": "+err.Error())) {
		return
	}
	entry := Entry{User: w.Who.Name, Address: w.Who.Address, Tenant: w.Tenant.Name, Action: action,
		Kind: w.Kind.Name, Object: object}
	if err == nil {
		entry.Old, entry.New = made.texts(w.Kind)
		entry.Name = shortened(made.name())
		if made.is != nil {
			entry.Object = made.is.UUID
		}
	}
	a.add(entry, err)
}

// known tells whether a refusal was noted already.
func (a *Audit) known(refusal string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused[refusal] {
		return true
	}
	if len(a.refused) >= refusedMost {
		clear(a.refused)
	}
	a.refused[refusal] = true
	return false
}

func (a *Audit) add(entry Entry, err error) {
	entry.Time = a.now()
	entry.User, entry.Object = shortened(entry.User), shortened(entry.Object)
	level := slog.LevelInfo
	if entry.User == System(bootstrapping).Name {
		level = slog.LevelDebug // Bootstrap logs how many they are
	}
	if err != nil {
		entry.Refused, level = shortened(err.Error()), slog.LevelWarn
	}
	a.log.LogAttrs(context.Background(), level, "audit", entry.attributes()...)
	if a.Keep != nil {
		a.Keep(entry)
	}
	entry.Old, entry.New = "", ""
	a.entries.Add(entry)
}

// attributes returns the fields of an entry, for the log.
func (e Entry) attributes() []slog.Attr {
	all := []slog.Attr{
		slog.String("user", e.User), slog.String("address", e.Address), slog.String("tenant", e.Tenant),
		slog.String("action", e.Action), slog.String("kind", e.Kind), slog.String("object", e.Object),
		slog.String("refused", e.Refused),
	}
	return slices.DeleteFunc(all, func(attribute slog.Attr) bool { return attribute.Value.String() == "" })
}

func shortened(text string) string {
	if len(text) <= maxTextBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxTextBytes], "") + "…"
}
