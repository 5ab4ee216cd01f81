package live

import (
	"context"
	"strconv"
	"time"
)

// Topics are what one watch is about.
type Topics struct {
	Tenant   string // uuid of the tenant whose overview it is; "": all tenants
	Overview bool
	Engines  bool
	// EngineLoads has the engines with their loads, which are those of all tenants; otherwise with their states only.
	EngineLoads     bool
	VirtualServices []string // uuids
	Pools           []string // uuids
	// AfterMs is the id of the last event that the client has, and 0 if it has none.
	AfterMs int64
}

func (t Topics) list() []Topic {
	var all []Topic
	if t.Overview {
		all = append(all, Topic{Overview, t.Tenant})
	}
	if t.Engines {
		about := engineStates
		if t.EngineLoads {
			about = engineLoads
		}
		all = append(all, Topic{Engines, about})
	}
	for _, uuid := range t.VirtualServices {
		all = append(all, Topic{VirtualService, uuid})
	}
	for _, uuid := range t.Pools {
		all = append(all, Topic{Pool, uuid})
	}
	return all
}

// What is told about engines.
const (
	engineLoads  = ""
	engineStates = "states"
)

// Watch is one reader of events. It is not safe for concurrent use. A reader that does not call Next delays nobody: its
// next event has all that happened meanwhile.
type Watch struct {
	live    *Live
	topics  Topics
	fine    []Topic // those with steps of a second
	step    int     // that the last event was about
	afterMs int64   // end of that step
}

// Watch begins to watch topics. Close ends that.
func (l *Live) Watch(topics Topics) *Watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &Watch{live: l, topics: topics, afterMs: topics.AfterMs}
	for _, topic := range topics.list() {
		if !l.ring.watched.has(topic) {
			clear(l.memo) // it says how long the topic's steps are
		}
		if l.ring.watched.begin(l.ring, topic) {
			w.fine = append(w.fine, topic)
		}
	}
	return w
}

// Close ends the watch.
func (w *Watch) Close() {
	w.live.mu.Lock()
	defer w.live.mu.Unlock()
	for _, topic := range w.fine {
		w.live.ring.watched.end(topic, w.live.now())
	}
	w.fine = nil
}

// Next returns the next event as JSON, with its name and its id. The first one comes at once: it is a "snapshot" of the
// last five minutes, or, if the client says which event it had last, a "delta" with what came since. The next ones are
// deltas, one for each step. Next waits for the end of a step, or for ctx; error: that of ctx.
func (w *Watch) Next(ctx context.Context) (name, id string, data []byte, err error) {
	for {
		name, id, data, turned := w.take()
		if turned == nil {
			return name, id, data, nil
		}
		select {
		case <-turned:
		case <-ctx.Done():
			return "", "", nil, ctx.Err()
		}
	}
}

// take returns the event about the last step, or what to wait for if the watch has had it.
func (w *Watch) take() (name, id string, data []byte, turned <-chan struct{}) {
	l := w.live
	l.mu.Lock()
	defer l.mu.Unlock()
	clock := &l.ring.clocks[fineSize]
	if clock.step == w.step {
		return "", "", nil, l.turned
	}
	endMs := clock.endMs(clock.step)
	name = "delta"
	if age := endMs - w.afterMs; w.afterMs == 0 || age < 0 || age > ringLength.Milliseconds() {
		name, w.afterMs = "snapshot", 0 // also if the clock was set back
	}
	data = l.event(w.topics, w.afterMs)
	w.step, w.afterMs = clock.step, endMs
	return name, strconv.FormatInt(endMs, 10), data, nil
}

// ringLength is how far back the ring goes.
const ringLength = 5 * time.Minute
