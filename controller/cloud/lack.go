package cloud

import (
	"fmt"
	"time"

	"github.com/weir-lb/weir/controller/place"
)

// tellAfter is the shortest time between two events about the same group.
const tellAfter = time.Minute

// lack is why a group cannot get more engines, and the time of the event about it.
type lack struct {
	why string
	at  time.Time
}

// tellLack adds an event that the group cannot get more engines. It adds another one only for another reason.
func (w *world) tellLack(d *decision, need place.Need, listing listing) {
	now := lack{listing.whyNone(), w.now}
	if last, told := w.memory.lacking[need.Group.UUID]; told &&
		(last.why == now.why || last.at.Add(tellAfter).After(w.now)) {
		return
	}
	w.memory.lacking[need.Group.UUID] = now
	d.news = append(d.news, news{"CREATE_SE_FAIL", Instance{Group: need.Group.UUID}, fmt.Sprintf(
		"group %s wants %d engines and has %d: cloud %s %s", need.Group.Name, need.Wanted, need.Have,
		need.Group.Cloud.Name, now.why)})
}

// whyNone says why no place is free. It names a few places that cannot be used.
func (l listing) whyNone() string {
	if l.problem != "" {
		return "cannot be asked: " + l.problem
	}
	text := fmt.Sprintf("has no free place among its %d", len(l.places))
	const listed = 3
	told := 0
	for _, place := range l.places {
		if place.Problem != "" && told < listed {
			text += fmt.Sprintf("; %s: %s", place.Engine, place.Problem)
			told++
		}
	}
	return text
}
