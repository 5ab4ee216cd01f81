package autoscale

import (
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// watchedFor is how long the load of a pool is watched before servers leave. Its highest load in that time counts: one
// moment without load takes no servers away.
const watchedFor = time.Minute

// memory is what the leader remembers of a pool. It begins again with the next leader.
type memory struct {
	began   time.Time
	loads   []loadAt  // of the last watchedFor, the earliest first
	heard   time.Time // since when all engines have heard of the disabled servers; zero: they have not
	rests   time.Time // nothing is decided before, because a decision could not be stored
	problem string    // why not
	known   reading
}

// reading is a pool as it was read, and the records that it was read from. These keep their pointers until they change.
type reading struct {
	from [4]*store.Record
	pool *scaled // nil: it cannot be read
}

// read returns nil if the pool or its policy cannot be read.
func (m *memory) read(view *store.View, record *store.Record) *scaled {
	if now := m.known.pool.records(view, record); m.known.pool == nil || now != m.known.from {
		m.known.pool = read(view, record)
		m.known.from = m.known.pool.records(view, record)
	}
	return m.known.pool
}

// records are those that a pool is read from.
func (s *scaled) records(view *store.View, pool *store.Record) (of [4]*store.Record) {
	if s == nil {
		return of
	}
	of[0] = pool
	of[1], _ = view.Get(policyKind, schema.UUIDOf(policyKind, s.AutoscalePolicyRef))
	of[2], _ = view.Get(launchKind, schema.UUIDOf(launchKind, s.AutoscaleLaunchRef))
	of[3], _ = view.Get(webhookKind, s.webhook)
	return of
}

type loadAt struct {
	at            time.Time
	open, engines int
}

func (w *Watch) remembers(pool string) *memory {
	if w.pools[pool] == nil {
		w.pools[pool] = &memory{began: w.config.Now()}
	}
	return w.pools[pool]
}

// note notes a number of connections, and of the engines that have them. It returns the highest number of connections
// and the lowest one of engines in the last watchedFor. isWatched tells whether it could be seen for so long.
func (m *memory) note(open, engines int, now time.Time) (peak, fewest int, isWatched bool) {
	m.loads = append(slices.DeleteFunc(m.loads, func(of loadAt) bool { return now.Sub(of.at) > watchedFor }),
		loadAt{now, open, engines})
	fewest = engines
	for _, of := range m.loads {
		peak, fewest = max(peak, of.open), min(fewest, of.engines)
	}
	return peak, fewest, fewest > 0 && now.Sub(m.began) >= watchedFor
}

// hear notes whether all engines have heard of the disabled servers, and returns since when they have.
func (m *memory) hear(all bool, now time.Time) time.Time {
	switch {
	case !all:
		m.heard = time.Time{}
	case m.heard.IsZero():
		m.heard = now
	}
	return m.heard
}
