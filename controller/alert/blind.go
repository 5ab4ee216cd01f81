package alert

import (
	"fmt"
	"time"

	"github.com/weir-lb/weir/controller/events"
)

// blindness is what rules on records do not see.
type blindness struct {
	storeDown bool
	told      bool      // that they see nothing, perhaps by an earlier leader
	late      uint64    // records that came late
	toldLate  time.Time // when the last event told of some
	// unwatched is whether it was told that there are too many windows.
	unwatched bool
}

// Events about rules on records.
const (
	blindID  = "LOG_RULES_BLIND"
	seeingID = "LOG_RULES_SEEING"
	lateID   = "LOG_RULES_LATE"
)

// tellLateEvery is the time between two events about late records.
const tellLateEvery = time.Minute

// storeKnownAfter is how long a new leader needs to hear that the record store is down.
const storeKnownAfter = 3 * tickEvery

// tellBlind tells operators that rules on records see nothing while the store takes none, and that they saw some late.
func (a *Alerts) tellBlind(now time.Time) {
	watching := a.eye.watching()
	blind := watching > 0 && (a.blind.storeDown || a.config.NoRecords)
	switch {
	case blind && !a.blind.told:
		why := "the record store is down. They see the records when it is back"
		if a.config.NoRecords {
			why = "this controller keeps none: it runs with --logs memory"
		}
		a.tell(blindID, fmt.Sprintf("%d rules on logs of requests and connections see no records: %s", watching, why))
		a.blind.told = true
	case a.blind.told && !blind && watching > 0 && now.Sub(a.began) >= storeKnownAfter:
		a.tell(seeingID, "rules on logs of requests and connections see records again")
		a.blind.told = false
	}
	if a.blind.late > 0 && now.Sub(a.blind.toldLate) >= tellLateEvery {
		a.tell(lateID, fmt.Sprintf(
			"%d requests or connections that fit rules came more than %v late: the record store, the controller or "+
				"an engine was away. A rolling window counts those that are still in it", a.blind.late, lateAfter))
		a.blind.late, a.blind.toldLate = 0, now
	}
}

// tellUncounted says once that there are too many windows, and how much was not counted when there is room again.
func (a *Alerts) tellUncounted() {
	full := len(a.book.windows) >= windowsMost
	switch {
	case a.book.uncounted == 0:
	case !a.blind.unwatched:
		a.blind.unwatched = true
		a.config.Log.Warn(
			"rules count in too many windows: have fewer rules with ROLLINGWINDOW, or about fewer objects",
			"most", windowsMost, "not_counted", a.book.uncounted)
	case !full:
		a.config.Log.Warn("rules count all again", "not_counted", a.book.uncounted)
		a.blind.unwatched, a.book.uncounted = false, 0
	}
}

func (a *Alerts) tell(id, message string) {
	a.config.Events.Add(events.Entry{ID: id, Kind: "CONTROLLER", Name: "alerts", Tenant: adminTenant, Message: message})
}

// watching is the number of rules on records.
func (e *eye) watching() (count int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, of := range e.rules {
		count += len(of.others)
		for _, rules := range of.byService {
			count += len(rules)
		}
	}
	return count
}
