package admit

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/recent"
)

const (
	maxEntries   = 4096 // in memory; the oldest is dropped first. The log has all entries
	maxTextBytes = 256  // of texts that a client sent
)

// Entry is one action that somebody did or tried.
type Entry struct {
	Time    time.Time `json:"time"`
	User    string    `json:"user"`
	Address string    `json:"address"`
	Tenant  string    `json:"tenant"`
	Action  string    `json:"action"`
	Kind    string    `json:"kind"`
	Object  string    `json:"object"` // name of a new object, uuid of another
	Refused string    `json:"refused,omitempty"`
}

// Audit records who did what at this node. The entries are in memory and lost when the node ends; the log has all of
// them.
type Audit struct {
	log     *slog.Logger
	now     func() time.Time
	entries *recent.Ring[Entry]
}

// NewAudit returns an empty audit trail.
func NewAudit(log *slog.Logger, now func() time.Time) *Audit {
	return &Audit{log: log, now: now, entries: recent.NewRing[Entry](maxEntries)}
}

// Entries returns the entries in memory, newest first.
func (a *Audit) Entries() []Entry { return a.entries.NewestFirst() }

// Note records an action that does not change an object. err is why it failed, or nil.
func (a *Audit) Note(who Principal, action, kind, object string, err error) {
	a.add(Entry{User: who.Name, Address: who.Address, Action: action, Kind: kind, Object: object}, err)
}

func (a *Audit) note(w Write, action, object string, err error) {
	a.add(Entry{User: w.Who.Name, Address: w.Who.Address, Tenant: w.Tenant.Name, Action: action,
		Kind: w.Kind.Name, Object: object}, err)
}

func (a *Audit) add(entry Entry, err error) {
	entry.Time = a.now()
	entry.User, entry.Object = shortened(entry.User), shortened(entry.Object)
	level := slog.LevelInfo
	if err != nil {
		entry.Refused, level = shortened(err.Error()), slog.LevelWarn
	}
	a.log.LogAttrs(context.Background(), level, "audit", entry.attributes()...)
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
