package attack

import "time"

const (
	// pointsMost bounds the moments that are kept of a period.
	pointsMost = 60
	// calmLeast is how long at least there must be no attack until it is over. It bounds the events of an attacker who
	// pauses again and again.
	calmLeast = 30 * time.Second
)

// watch compares what is counted of one attack with its threshold.
type watch struct {
	Attack
	lasts  bool
	least  int64     // from this number in a period on it is an attack
	severe int64     // from this number on it is a severe one
	lastAt time.Time // when there last was as much in a period
	points []point   // the oldest first; the first one is at least a period old as soon as there is one that old
}

// point is what had been counted at a moment.
type point struct {
	at    time.Time
	total int64
}

// step is what has become of an attack.
type step int

const (
	nothing step = iota
	begins
	worsens
	ends
)

// follow takes what was counted until now. An attack is over when there was less than the threshold in each period for
// as long as a period, and for calmLeast. whole: all engines are heard. While one is not, an attack lasts.
func (w *watch) follow(at time.Time, total int64, period time.Duration, whole bool) step {
	w.Count = w.inPeriod(at, total, period)
	if w.Count >= w.least || !whole {
		w.lastAt = at
	}
	switch {
	case !w.lasts && w.Count >= w.least:
		w.lasts, w.Since, w.Most, w.Severe = true, at, w.Count, w.Count >= w.severe
		return begins
	case !w.lasts:
		return nothing
	case at.Sub(w.lastAt) >= max(period, calmLeast):
		w.lasts = false
		return ends
	}
	w.Most = max(w.Most, w.Count)
	if !w.Severe && w.Count >= w.severe {
		w.Severe = true
		return worsens
	}
	return nothing
}

// inPeriod is what was counted in the last period: a little more than one, as moments are kept at some distance. The
// first look counts nothing.
func (w *watch) inPeriod(at time.Time, total int64, period time.Duration) int64 {
	if last := len(w.points) - 1; last >= 0 && (w.points[last].at.After(at) || w.points[last].total > total) {
		w.points = nil // the clock was set back, or the virtual service is counted anew
	}
	for len(w.points) > 1 && at.Sub(w.points[1].at) >= period {
		w.points = w.points[1:]
	}
	if len(w.points) == 0 || at.Sub(w.points[len(w.points)-1].at) >= period/pointsMost {
		w.points = append(w.points, point{at, total})
	}
	return total - w.points[0].total
}

// spread takes what an engine counted while it was silent as counted evenly over its silence: that which came before
// the period is not in it. total is what all engines have counted.
func (w *watch) spread(since, until time.Time, late, total int64) {
	if len(w.points) == 0 {
		return
	}
	late = min(late, total-w.points[len(w.points)-1].total) // the points must not exceed the total
	if late <= 0 {
		return
	}
	for i := range w.points {
		if after := w.points[i].at.Sub(since); after > 0 && w.points[i].at.Before(until) {
			w.points[i].total += int64(float64(late) * after.Seconds() / until.Sub(since).Seconds())
		}
	}
}
