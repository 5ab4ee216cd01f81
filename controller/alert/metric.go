package alert

import (
	"context"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/series"
)

// Numbers are the metrics that rules compare.
type Numbers interface {
	// Newest returns the newest values of a metric that is counted live, by uuid of the object. NaN: there is none
	// because nothing happened. An object of which nothing is known is not in it. false: the metric is not counted
	// live.
	Newest(kind series.Kind, metric string) (values map[string]float64, live bool)
	// Step is the number of the last step of what is counted live.
	Step() int
	// Ask returns values of the history.
	Ask(ctx context.Context, questions []series.Question) ([]series.Answer, error)
}

// askEvery is how often the history is asked.
const askEvery = 15 * time.Second

// measure is a metric of all objects of a kind.
type measure struct {
	kind   series.Kind
	metric string
}

// reading has the values of a measure, by uuid of the object.
type reading struct {
	values map[string]float64
	at     time.Time
}

// meter remembers values, and since when conditions hold.
type meter struct {
	readings map[measure]reading  // of metrics that are not counted live
	since    map[string]time.Time // when conditions began to hold
	unknown  map[string]time.Time // by key of the alert: since when it is not known
	wanted   chan []measure       // what to ask for
}

func newMeter() meter {
	return meter{readings: map[measure]reading{}, since: map[string]time.Time{}, unknown: map[string]time.Time{},
		wanted: make(chan []measure, 1)}
}

func (m *meter) take(values map[measure]reading) { m.readings = values }

// old is the age from which on a value of the history counts as unknown.
const old = 2 * time.Minute

// unknownMost is how long an alert lasts of which it is not known whether it still holds.
const unknownMost = 5 * time.Minute

// measure compares the metrics of all rules.
func (a *Alerts) measure(now time.Time) {
	var wanted []measure
	read := map[measure]map[string]float64{}
	held := map[string]bool{}
	for _, rule := range a.content.Rules {
		if rule.Source != "METRICS" {
			continue
		}
		values := make([]map[string]float64, len(rule.Rule.Metrics))
		for i, clause := range rule.Rule.Metrics {
			of := measure{kindOf(rule), clause.MetricID}
			if _, known := read[of]; !known {
				newest, live := a.config.Numbers.Newest(of.kind, of.metric)
				if !live {
					wanted, newest = append(wanted, of), nil
					if asked := a.meter.readings[of]; now.Sub(asked.at) <= old {
						newest = asked.values
					}
				}
				read[of] = newest
			}
			values[i] = read[of]
		}
		for _, object := range a.content.objects(rule) {
			a.judge(rule, object, values, held, now)
		}
	}
	for key := range a.meter.since {
		if !held[key] {
			delete(a.meter.since, key)
		}
	}
	for key := range a.meter.unknown {
		if a.rules[ruleInKey(key)] == nil || a.book.newest[key] == nil {
			delete(a.meter.unknown, key)
		}
	}
	select { // the newest list replaces one that nobody took
	case <-a.meter.wanted:
	default:
	}
	a.meter.wanted <- wanted
}

func kindOf(rule *Rule) series.Kind {
	switch rule.ObjectType {
	case "POOL":
		return series.Pool
	case "SERVICEENGINE":
		return series.Engine
	}
	return series.VirtualService
}

// judge compares the metrics of one object with a rule. held notes the conditions that hold.
func (a *Alerts) judge(rule *Rule, object Object, values []map[string]float64, held map[string]bool, now time.Time) {
	o := Occurrence{Object: object}
	last := a.book.newest[o.key(rule)]
	lasts := last != nil && last.alert.Condition == firing
	fitting, unknown := make([]bool, len(rule.Rule.Metrics)), false
	for i, clause := range rule.Rule.Metrics {
		value, known := values[i][object.UUID]
		if unknown = unknown || !known; !known || !compare(value, clause.Threshold.Comparator, clause.Threshold.Value) {
			continue
		}
		key := rule.UUID + "/" + object.UUID + "/" + string(rune('0'+i))
		held[key] = true
		since, before := a.meter.since[key]
		if !before {
			since = now
			a.meter.since[key] = now
		}
		// What fires goes on also after a restart, when nobody knows since when it holds.
		fitting[i] = lasts || now.Sub(since) >= time.Duration(clause.DurationS)*time.Second
		if fitting[i] && o.Metric == "" {
			o.Metric, o.Value, o.Reason = clause.MetricID, value, told(clause, value)
		}
	}
	key := o.key(rule)
	holds := slices.Contains(fitting, true)
	if rule.Rule.Operator == "OPERATOR_AND" {
		holds = !slices.Contains(fitting, false)
	}
	if rule.Category == "ROLLINGWINDOW" {
		if holds {
			holds = a.book.counts(rule, key, now, 1, now)
		} else {
			holds = lasts && a.book.isOften(rule, key, now)
		}
	}
	if holds {
		if o.Metric == "" && last != nil { // it held often enough, and not just now
			o.Metric, o.Value, o.Reason = last.alert.MetricID, last.alert.MetricValue, last.alert.Reason
		}
		delete(a.meter.unknown, key)
		a.book.fire(rule, o, now, false)
		return
	}
	a.calm(rule, key, unknown, now)
}

// calm ends an alert that does not hold. While that is not known, it lasts for some time.
func (a *Alerts) calm(rule *Rule, key string, unknown bool, now time.Time) {
	if !unknown {
		delete(a.meter.unknown, key)
		a.book.calm(rule, key, "it is as it should be again", now)
		return
	}
	since, before := a.meter.unknown[key]
	switch {
	case !before:
		a.meter.unknown[key] = now
	case now.Sub(since) >= unknownMost:
		a.book.calm(rule, key, "nothing is known of it any more", now)
	}
}

// calm notes that what an alert is about does not hold.
func (b *book) calm(rule *Rule, key, reason string, now time.Time) {
	delete(b.muted, key)
	if e := b.newest[key]; e != nil {
		b.resolve(rule, e, reason, now)
	}
}

// ask asks the history for what is wanted, until ctx ends.
func (a *Alerts) ask(ctx context.Context, measured chan<- map[measure]reading) {
	ticks := time.NewTicker(askEvery)
	defer ticks.Stop()
	var wanted []measure
	for {
		select {
		case <-ctx.Done():
			return
		case wanted = <-a.meter.wanted:
			continue
		case <-ticks.C:
		}
		if len(wanted) == 0 {
			continue
		}
		values := a.asked(ctx, wanted)
		select {
		case measured <- values:
		case <-ctx.Done():
			return
		}
	}
}

// asked asks the history for the newest values of all objects of a kind.
func (a *Alerts) asked(ctx context.Context, wanted []measure) map[measure]reading {
	all, now := map[measure]reading{}, a.config.Now()
	uuids := map[series.Kind][]string{}
	for _, of := range wanted {
		if uuids[of.kind] == nil {
			uuids[of.kind] = uuidsOf(a.config.Content().Objects(string(of.kind)))
		}
		stop := now.UTC().Truncate(askEvery)
		answers, err := a.config.Numbers.Ask(ctx, []series.Question{{
			Metric: of.metric, Kind: of.kind, UUIDs: uuids[of.kind], Start: stop, Stop: stop, Step: askEvery,
		}})
		if err != nil {
			a.config.Log.Warn("a metric of a rule cannot be read", "metric", of.metric, "reason", err)
			continue
		}
		values := map[string]float64{}
		for _, one := range answers[0].Series {
			if last := len(one.Points) - 1; last >= 0 && !one.Points[last].Null {
				values[one.UUID] = one.Points[last].Value
			}
		}
		all[of] = reading{values, now}
	}
	return all
}
