package habit

import (
	"math"
	"time"
)

const (
	// Of the last few points, so many must be unusual.
	looks  = 5
	enough = 3
	// stubborn is how long what is unusual is not learnt. After that it is the new habit.
	stubborn = time.Hour
)

// Habit is the habit of one metric of one object. The zero value has seen nothing.
type Habit struct {
	short  Short
	season *Season // nil: the metric has no season

	last   [looks]float64 // how unusual the last points were; 0: usual
	at     int
	since  time.Time // when it became unusual; zero: it is usual
	minute struct {
		sum   float64
		count int
		step  int64 // that they are of; 0: none
	}
}

// New returns a habit that has seen nothing. seasonal says that the metric follows the time of day.
func New(seasonal bool) *Habit {
	h := &Habit{}
	if seasonal {
		h.season = &Season{}
	}
	return h
}

// Verdict is what a habit says about a point.
type Verdict struct {
	Band
	Known   bool    // enough was seen to say anything
	Unusual bool    // enough of the last points are
	Off     float64 // how many deviations from the mean, the last unusual point
	Daily   bool    // the band is that of the time of day
}

// Look judges the point of a minute, and learns it. If quiet is set, it says nothing about it.
func (h *Habit) Look(at time.Time, value float64, quiet bool) Verdict {
	v := h.judge(at, value)
	off := 0.0
	if v.Known && !quiet && math.Abs(v.off(value)) > wide {
		off = v.off(value)
	}
	h.last[h.at], h.at = off, (h.at+1)%looks
	count := 0
	for _, one := range h.last {
		if one != 0 {
			count++
		}
	}
	v.Unusual, v.Off = count >= enough, off
	switch {
	case !v.Unusual:
		h.since = time.Time{}
	case h.since.IsZero():
		h.since = at
	}
	lasts := !h.since.IsZero() && at.Sub(h.since) > stubborn
	if lasts { // the new habit
		h.short, h.since = Short{}, time.Time{}
		h.last = [looks]float64{}
	}
	if off == 0 || lasts {
		h.learn(at, value)
	}
	return v
}

// judge says what is usual now.
func (h *Habit) judge(at time.Time, value float64) Verdict {
	if h.season != nil {
		if band, known := h.season.band(stepOf(at)); known {
			// Where a day is like the last, the hour may still know better: what both find unusual is.
			if short, has := h.short.band(); has && math.Abs(short.off(value)) < math.Abs(band.off(value)) {
				return Verdict{Band: short, Known: true}
			}
			return Verdict{Band: band, Known: true, Daily: true}
		}
	}
	band, known := h.short.band()
	return Verdict{Band: band, Known: known}
}

// learn takes a point of a minute. A season gets the mean of five.
func (h *Habit) learn(at time.Time, value float64) {
	h.short.learn(value)
	if h.season == nil {
		return
	}
	step := at.Unix() / (60 * StepMinutes)
	if m := &h.minute; m.step != step {
		if m.count > 0 {
			h.season.learn(stepOf(time.Unix(m.step*60*StepMinutes, 0)), m.sum/float64(m.count))
		}
		m.step, m.sum, m.count = step, 0, 0
	}
	h.minute.sum += value
	h.minute.count++
}

// Recall has a habit learn a past point of five minutes, in order.
func (h *Habit) Recall(at time.Time, value float64) {
	for range StepMinutes {
		h.short.learn(value)
	}
	if h.season != nil {
		h.season.learn(stepOf(at), value)
	}
}

func stepOf(at time.Time) int {
	return int(at.Unix()/(60*StepMinutes)) % stepsInDay
}
