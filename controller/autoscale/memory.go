package autoscale

import (
	"slices"
	"time"
)

// watchedFor is how long the load of a pool is watched before servers leave. Its highest load in that time counts: one
// moment without load takes no servers away.
const watchedFor = time.Minute

// memory is what the leader remembers of a pool. It begins again with the next leader.
type memory struct {
	began   time.Time
	loads   []loadAt  // of the last watchedFor, the earliest first
	rests   time.Time // nothing is decided before, because a decision could not be stored
	problem string    // why not
}

type loadAt struct {
	at   time.Time
	open int
}

func (w *Watch) remembers(pool string) *memory {
	if w.pools[pool] == nil {
		w.pools[pool] = &memory{began: w.config.Now()}
	}
	return w.pools[pool]
}

// note notes a number of connections, and returns the highest one of the last watchedFor. isWatched tells whether the
// memory goes back so far.
func (m *memory) note(open int, now time.Time) (peak int, isWatched bool) {
	m.loads = append(slices.DeleteFunc(m.loads, func(of loadAt) bool { return now.Sub(of.at) > watchedFor }),
		loadAt{now, open})
	for _, of := range m.loads {
		peak = max(peak, of.open)
	}
	return peak, now.Sub(m.began) >= watchedFor
}
