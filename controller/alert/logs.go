package alert

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weir-lb/weir/logs/query"
)

// LogRulesMost is the number of enabled rules on records of a tenant: each record is compared with those of its tenant
// that may be about its service, and with those of admin.
const LogRulesMost = 100

// lateAfter is the age of records from which on they are late: the store or the controller was away.
const lateAfter = time.Minute

// logKinds are the types of records by the source of a rule.
var logKinds = map[string]string{"CONN_LOGS": query.Connections, "APP_LOGS": query.Requests}

// LogCondition reads the filter of a rule on records: conditions as the lists of logs take them.
func LogCondition(source, filter string) (*query.Expr, error) {
	condition, err := query.ParseAll(filter)
	if err != nil {
		return nil, err
	}
	checked, err := query.OfRequests(condition).Checked(logKinds[source])
	return &checked, err
}

// look has the book hear of what was seen, the earliest first.
func (a *Alerts) look() {
	seen, lost := a.eye.taken()
	now := a.config.Now()
	order := make([]sight, 0, len(seen))
	for of := range seen {
		order = append(order, of)
	}
	slices.SortFunc(order, func(x, y sight) int { return x.at.Compare(y.at) })
	for _, of := range order {
		rule := a.rules[of.rule.UUID]
		if rule == nil || !rule.fitsAs(of.rule) {
			continue // it was deleted or changed meanwhile
		}
		if now.Sub(of.at) >= lateAfter {
			a.blind.late += seen[of].times
		}
		a.book.saw(rule, of, seen[of], now)
	}
	if lost > 0 {
		a.config.Log.Warn("alerts cannot keep up with the records that fit rules", "lost", lost)
	}
}

// saw takes records that a rule fits.
func (b *book) saw(rule *Rule, of sight, one sighting, now time.Time) {
	o := Occurrence{Object: one.object, Times: uint32(min(one.times, math.MaxUint32)), Reason: saying(rule, of, one)}
	if rule.Category == "ROLLINGWINDOW" && !b.counts(rule, o.key(rule), of.at, one.times, now) {
		return
	}
	b.fire(rule, o, now, true)
}

// saying says what fits a rule, and names a record that `weir explain` tells about.
func saying(rule *Rule, of sight, one sighting) string {
	said := fmt.Sprintf("%s that fit: %d at %s, such as %s", logKinds[rule.Source], one.times,
		of.at.Format("15:04:05"), one.last)
	if rule.Category == "ROLLINGWINDOW" {
		said += fmt.Sprintf("; at least %d within %v", rule.Threshold, lengthOf(rule))
	}
	return said
}
