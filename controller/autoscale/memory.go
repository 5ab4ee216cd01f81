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
	heard   time.Time // since when all engines have heard of the disabled servers; zero: they have not
	rests   time.Time // nothing is decided before, because a decision could not be stored
	problem string    // why not
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
