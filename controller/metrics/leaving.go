package metrics

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/weir-lb/weir/controller/metrics/retention"
)

// leaving are series whose objects were renamed or deleted, by the hash of their labels. A series stays here until each
// tier that has it has a mark of its end: a coarse tier gets that with its next samples. Without the mark, queries
// would go on with the last value, and the tier would keep the series in memory until its next block.
type leaving map[uint64]left

type left struct {
	sort   sort
	labels labels.Labels
	in     [len(retention.Tiers)]inTier
}

// add takes a series that some tiers have.
func (l leaving) add(e *entry) {
	if isLive(e) {
		l[e.labels.Hash()] = left{e.sort, e.labels, e.in}
	}
}

// comeBack has a series go on if it is leaving.
func (l leaving) comeBack(e *entry) {
	hash := e.labels.Hash()
	if was, is := l[hash]; is && labels.Equal(was.labels, e.labels) {
		for i := range was.in {
			e.in[i].ref, e.in[i].live = was.in[i].ref, was.in[i].live
		}
		delete(l, hash)
	}
}

// end marks the ends of series in the tiers that are due.
func (l leaving) end(samples *samples) {
	for hash, one := range l {
		e := &entry{sort: one.sort, labels: one.labels, in: one.in}
		for i := range e.in {
			if samples.due[i] {
				samples.stale(i, e)
			}
		}
		if one.in = e.in; isLive(e) {
			l[hash] = one
		} else {
			delete(l, hash)
		}
		samples.next()
	}
}

func isLive(e *entry) bool {
	for i := range e.in {
		if e.in[i].live {
			return true
		}
	}
	return false
}
