package alert

import "time"

// downs are the events that say that something is down.
var downs = map[string]bool{"VS_DOWN": true, "POOL_DOWN": true, "SERVER_DOWN": true, "SE_DOWN": true,
	"SE_HEARTBEAT_FAILURE": true}

const (
	slowID   = "SERVER_SLOW"
	attackID = "DOS_ATTACK"
)

// slowKnownAfter is how long a new leader needs to find servers that are slow.
const slowKnownAfter = time.Minute

// lookUp ends alerts about what is up again, and whose event is missing: it came up while no leader listened.
func (a *Alerts) lookUp(now time.Time) {
	for _, e := range a.book.entries {
		of := e.alert
		if of.Condition != firing || now.Sub(moment(of.Timestamp)) <= 3*tickEvery {
			continue
		}
		rule := a.rules[ruleOf(of)]
		switch {
		case downs[of.EventID] && a.config.IsUp(of.ObjectType, of.ObjectUUID, of.Part):
			a.book.resolve(rule, e, "is up", now)
		case of.EventID == slowID && now.Sub(a.began) >= slowKnownAfter && !a.config.IsSlow(of.ObjectUUID, of.Part):
			a.book.resolve(rule, e, "is not slow any more", now)
		case of.EventID == attackID && a.config.IsOver(of.ObjectUUID, of.Part):
			a.book.resolve(rule, e, "the attack is over", now)
		}
	}
}
