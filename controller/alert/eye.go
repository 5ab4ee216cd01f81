package alert

import (
	"sync"
	"time"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/text"
	"github.com/weir-lb/weir/logs/wire"
)

// sightingsMost bounds what waits for the book: rules, objects and times. More are counted, and make no alert.
const sightingsMost = 20_000

// logRules are the rules on records of one type. They do not change.
type logRules struct {
	byService map[string][]*Rule // those about one virtual service, by its uuid
	others    []*Rule
	fields    map[string]bool // those that the rules compare
}

func logRulesOf(rules []*Rule) map[string]*logRules {
	all := map[string]*logRules{}
	for _, rule := range rules {
		kind := logKinds[rule.Source]
		if rule.where == nil {
			continue
		}
		if all[kind] == nil {
			all[kind] = &logRules{byService: map[string][]*Rule{}, fields: map[string]bool{}}
		}
		rule.where.EachField(func(name string) { all[kind].fields[name] = true })
		if of := all[kind]; rule.ObjectUUID != "" && rule.ObjectType == serviceType {
			of.byService[rule.ObjectUUID] = append(of.byService[rule.ObjectUUID], rule)
		} else {
			of.others = append(of.others, rule)
		}
	}
	return all
}

const serviceType = "VIRTUALSERVICE"

// sight is one rule that fits records of one object, within one second or part of its window.
type sight struct {
	rule *Rule
	uuid string // of the object
	at   time.Time
}

// sightOf is what a rule sees at a time, in UTC.
func sightOf(rule *Rule, object string, at time.Time) sight {
	return sight{rule, object, at.UTC().Truncate(min(time.Second, lengthOf(rule)/partsMost))}
}

// sighting is how often, and one of the records.
type sighting struct {
	object Object
	times  uint64
	last   string // request id
}

// eye compares records with rules as they come. See is safe for concurrent use with itself and the rest.
type eye struct {
	mu    sync.Mutex
	rules map[string]*logRules // by type of record
	seen  map[sight]sighting
	lost  uint64
}

func newEye() *eye { return &eye{seen: map[sight]sighting{}} }

func (e *eye) follow(rules []*Rule) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rules = logRulesOf(rules)
}

// See takes records that the store has. It is safe for concurrent use, and never waits.
func (a *Alerts) See(rows []wire.Row) { a.eye.see(rows) }

func (e *eye) see(rows []wire.Row) {
	e.mu.Lock()
	rules := e.rules
	e.mu.Unlock()
	if len(rules) == 0 {
		return
	}
	found := map[sight]sighting{}
	for i := range rows {
		if of := rules[rows[i].Type]; of != nil {
			of.compare(&rows[i], found)
		}
	}
	if len(found) > 0 {
		e.note(found)
	}
}

// compare adds what rules see in a record to found.
func (r *logRules) compare(row *wire.Row, found map[sight]sighting) {
	compared := r.comparedOf(row)
	value := func(name string) string {
		for i := range compared {
			if compared[i].Name == name {
				return compared[i].Value
			}
		}
		return ""
	}
	if valueOf(row, "lost") != "" {
		return // it stands for records that are lost, of which nothing is known
	}
	for _, rules := range [2][]*Rule{r.byService[valueOf(row, "virtualservice")], r.others} {
		for _, rule := range rules {
			if !rule.sees(row.Scope, row.Scope == wire.Everyone) || !rule.where.Match(value) {
				continue
			}
			object := objectIn(rule, row)
			if object.UUID == "" || rule.ObjectUUID != "" && rule.ObjectUUID != object.UUID {
				continue
			}
			of := sightOf(rule, object.UUID, row.Time)
			before := found[of]
			found[of] = sighting{object, before.times + query.WeightOf(valueOf(row, query.WeightField)),
				valueOf(row, "request_id")}
		}
	}
}

// comparedOf are the fields of a record that rules compare, as conditions have them.
func (r *logRules) comparedOf(row *wire.Row) []wire.Field {
	compared := make([]wire.Field, 0, 8)
	for i := range row.Fields {
		if field := &row.Fields[i]; r.fields[field.Name] {
			compared = append(compared, wire.Field{Name: field.Name, Value: text.Encode(field.Value)})
		}
	}
	return compared
}

func valueOf(row *wire.Row, name string) string {
	for i := range row.Fields {
		if row.Fields[i].Name == name {
			return row.Fields[i].Value
		}
	}
	return ""
}

// objectIn is the object that a rule is about, in a record. Without a uuid: the record has none.
func objectIn(rule *Rule, row *wire.Row) Object {
	switch rule.ObjectType {
	case "POOL":
		return Object{"POOL", valueOf(row, "pool"), valueOf(row, "pool_name"), row.Scope}
	case "SERVICEENGINE":
		return Object{"SERVICEENGINE", valueOf(row, "service_engine_uuid"), valueOf(row, "service_engine"), ""}
	}
	return Object{serviceType, valueOf(row, "virtualservice"), valueOf(row, "vs_name"), row.Scope}
}

func (e *eye) note(found map[sight]sighting) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for of, one := range found {
		before, known := e.seen[of]
		if !known && len(e.seen) >= sightingsMost {
			e.lost += one.times
			continue
		}
		one.times += before.times
		e.seen[of] = one
	}
}

// taken is what was seen since the last time.
func (e *eye) taken() (seen map[sight]sighting, lost uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	seen, lost = e.seen, e.lost
	e.seen, e.lost = map[sight]sighting{}, 0
	return seen, lost
}
