package live

import "time"

// Kinds of topics.
const (
	Overview       = "overview"
	Engines        = "engines"
	VirtualService = "vs"
	Pool           = "pool"
)

// A Topic is what can be watched: a virtual service or a pool, by its uuid; all engines; or the overview of a tenant,
// by its uuid, "" for that of all tenants.
type Topic struct{ Kind, UUID string }

const (
	// watchedMost is the number of topics that are watched in steps of a second. Further ones have coarse steps.
	watchedMost = 200
	// lingering is how long a topic has steps of a second after the last watch has ended, for clients that come back.
	lingering = 30 * time.Second
)

// watched are the topics that somebody watches, or watched until a moment ago.
type watched map[Topic]*interest

type interest struct {
	watches int
	left    time.Time // when the last watch ended
}

func (w watched) has(topic Topic) bool { return w[topic] != nil }

// begin begins a watch. It tells whether the topic has steps of a second.
func (w watched) begin(r *ring, topic Topic) bool {
	if w[topic] == nil && !w.makeRoom(r) {
		return false
	}
	if w[topic] == nil {
		w[topic] = &interest{}
		r.watch(topic, true)
	}
	w[topic].watches++
	return true
}

// makeRoom ends the steps of the lingering topic that was left first, if there are too many topics.
func (w watched) makeRoom(r *ring) bool {
	if len(w) < watchedMost {
		return true
	}
	var oldest *Topic
	for topic, interest := range w {
		if interest.watches == 0 && (oldest == nil || interest.left.Before(w[*oldest].left)) {
			oldest = &topic
		}
	}
	if oldest == nil {
		return false
	}
	w.drop(r, *oldest)
	return true
}

// end ends a watch for which begin returned true.
func (w watched) end(topic Topic, now time.Time) {
	interest := w[topic]
	interest.watches--
	interest.left = now
}

// expire drops the topics that nobody has watched for a while.
func (w watched) expire(r *ring, now time.Time) {
	for topic, interest := range w {
		if interest.watches == 0 && now.Sub(interest.left) > lingering {
			w.drop(r, topic)
		}
	}
}

func (w watched) drop(r *ring, topic Topic) {
	delete(w, topic)
	r.watch(topic, false)
}

// watch begins or ends to keep each step of a topic.
func (r *ring) watch(topic Topic, on bool) {
	switch topic.Kind {
	case Overview:
		if sum := r.sums[topic.UUID]; sum != nil {
			sum.watch(on)
		}
	case VirtualService:
		if service := r.services[topic.UUID]; service != nil {
			service.series.watch(on)
			service.parts = nil
		}
	case Pool:
		delete(r.pools, topic.UUID)
		if on {
			r.pools[topic.UUID] = &pool{}
		}
	}
}
