package alert

import (
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// book has all alerts, and decides what becomes of them. It does no I/O: what it changes is saved and sent by others.
type book struct {
	entries map[string]*entry // by uuid
	newest  map[string]*entry // by key: the newest alert of a rule and object
	windows map[string]window
	muted   map[string]bool // by key: an operator deleted the alert while its cause lasts
	full    int             // alerts that were not made because there were too many
	// uncounted is what found no window because there were too many.
	uncounted uint64
}

// entry is an alert.
type entry struct {
	alert  *kinds.Alert
	tenant string
	fresh  bool // not stored yet
	dirty  bool // to be stored at once
	again  bool // it was repeated: to be stored with the next counts
	gone   bool // to be deleted
	// refused: the store does not take it, so it lasts in memory only.
	refused bool
	sends   []kinds.AlertDelivery
}

const (
	firing   = "FIRING"
	resolved = "RESOLVED"

	isOn        = "ALERT_STATE_ON"
	isThrottled = "ALERT_STATE_THROTTLED"
	isDismissed = Dismissed
	// Dismissed is the state of an alert that an operator has dismissed.
	Dismissed = "ALERT_STATE_DISMISSED"

	waiting   = "WAITING"
	delivered = "DELIVERED"
	dead      = "DEAD"
)

const (
	// alertsMost is the number of alerts that are kept.
	alertsMost = 2000
	// deliveriesMost is the number of deliveries that an alert remembers.
	deliveriesMost = 50
	// notDeliveredID is the event about a receiver that took no notice. Its part is the receiver.
	notDeliveredID = "ALERT_NOT_DELIVERED"
	// notDeliveredLeast is the least throttle of alerts about it.
	notDeliveredLeast = 10 * time.Minute
)

func newBook() *book {
	return &book{entries: map[string]*entry{}, newest: map[string]*entry{}, windows: map[string]window{},
		muted: map[string]bool{}}
}

// happened takes an event: alerts that it begins or repeats, and those that it ends.
func (b *book) happened(rule *Rule, event events.Entry, now time.Time) {
	o := Occurrence{Object: Object{event.Kind, event.UUID, event.Name, event.Tenant}, Part: event.Part, Event: event.ID,
		Reason: event.Message, Related: event.Related}
	key := o.key(rule)
	if rule.Category == "ROLLINGWINDOW" && !b.counts(rule, key, now, 1, now) {
		return
	}
	b.fire(rule, o, now, true)
}

// ended resolves the alerts that an event ends.
func (b *book) ended(event events.Entry, rules map[string]*Rule, now time.Time) {
	for _, began := range ends[event.ID] {
		for _, e := range b.newest {
			if e.alert.EventID == began && e.alert.ObjectUUID == event.UUID && e.alert.Part == event.Part {
				b.resolve(rules[ruleOf(e.alert)], e, event.Message, now)
			}
		}
	}
}

// fire begins an alert, or repeats one. isNew says that the occurrence is a new one, and not one that lasts.
func (b *book) fire(rule *Rule, o Occurrence, now time.Time, isNew bool) {
	key := o.key(rule)
	if b.muted[key] && !isNew {
		return
	}
	delete(b.muted, key)
	e := b.newest[key]
	throttled := e != nil && now.Before(moment(e.alert.ToldAt).Add(throttleOf(rule, o.Event)))
	switch {
	case e == nil || e.alert.Condition == resolved && !throttled:
		if e = b.begin(rule, key, o, now); e == nil {
			return
		}
	case e.alert.Condition == resolved:
		e.alert.Condition, e.alert.ResolvedAt, e.dirty = firing, 0, true
		if e.alert.State != isDismissed {
			e.alert.State = isThrottled
		}
		e.repeat(o, now)
	case isNew:
		e.repeat(o, now)
	case throttled:
		return
	}
	b.remind(rule, e, now, isNew || rule.Category == "REALTIME" && rule.ThrottleS > 0)
}

// throttleOf is how long nothing is sent again. Alerts about deliveries that failed could lead to the next ones without
// end.
func throttleOf(rule *Rule, event string) time.Duration {
	throttle := time.Duration(rule.ThrottleS) * time.Second
	if event == notDeliveredID {
		throttle = max(throttle, notDeliveredLeast)
	}
	return throttle
}

// begin makes an alert; nil: there are too many.
func (b *book) begin(rule *Rule, key string, o Occurrence, now time.Time) *entry {
	if len(b.entries) >= alertsMost && !b.dropOldest() {
		b.full++
		return nil
	}
	id := "alert-" + uuid.NewString()
	summary := fmt.Sprintf("%s %s: %s", o.Object.Name, rule.Name, o.Reason)
	if rule.Summary != "" {
		summary = fmt.Sprintf("%s: %s", o.Object.Name, rule.Summary)
	}
	a := &kinds.Alert{
		ConfigRef: "/api/" + ruleKind + "/" + rule.UUID, ConfigName: rule.Name, Level: rule.Level, State: isOn,
		Condition: firing,
		ObjectKey: key, ObjectType: o.Object.Kind, ObjectUUID: o.Object.UUID, ObjectName: o.Object.Name, Part: o.Part,
		Reason: o.Reason, Summary: summary, Description: rule.Recommendation, RelatedUUIDs: o.Related,
		ThrottleCount: max(1, o.Times) - 1, Threshold: rule.Threshold, EventID: o.Event, MetricID: o.Metric,
		MetricValue: o.Value, Timestamp: seconds(now),
	}
	a.UUID, a.Name = id, rule.Name+"-"+id[len(id)-12:]
	e := &entry{alert: a, tenant: o.Object.Tenant, fresh: true}
	if e.tenant == "" {
		e.tenant = rule.Tenant
	}
	e.touch(rule, now)
	b.entries[id], b.newest[key] = e, e
	return e
}

// dropOldest deletes the alert that was resolved longest ago; false: all last.
func (b *book) dropOldest() bool {
	var oldest *entry
	for _, e := range b.entries {
		if !e.gone && e.alert.Condition == resolved && (oldest == nil || e.alert.ResolvedAt < oldest.alert.ResolvedAt) {
			oldest = e
		}
	}
	if oldest != nil {
		b.drop(oldest)
	}
	return oldest != nil
}

// drop has an alert deleted. If it happens again before that is saved, there is a new one.
func (b *book) drop(e *entry) {
	e.gone, e.dirty = true, true
	if b.newest[e.alert.ObjectKey] == e {
		delete(b.newest, e.alert.ObjectKey)
	}
}

func (e *entry) touch(rule *Rule, now time.Time) {
	e.dirty = true
	e.alert.ExpiresAt = seconds(now.Add(time.Duration(rule.ExpiryS) * time.Second))
}

// repeat notes that an alert has happened again.
func (e *entry) repeat(o Occurrence, now time.Time) {
	e.again = true
	e.alert.ThrottleCount += min(max(1, o.Times), math.MaxUint32-e.alert.ThrottleCount)
	e.alert.LastThrottle, e.alert.Reason, e.alert.MetricValue = seconds(now), o.Reason, o.Value
}

// remind tells receivers about an alert that they have not heard of, or, if again is set, long ago.
func (b *book) remind(rule *Rule, e *entry, now time.Time, again bool) {
	a := e.alert
	switch {
	case a.Condition != firing || a.State == isDismissed:
	case now.Before(moment(a.ToldAt).Add(throttleOf(rule, a.EventID))) && a.ToldAt > 0:
		if a.State == isOn && again && e.alert.ThrottleCount > 0 {
			a.State, e.dirty = isThrottled, true
		}
	case a.Told == firing && !again:
	default:
		if silence := rule.silence(a.ObjectUUID, now); silence != nil {
			if a.SilencedWhy != silence.Why {
				a.SilencedBy, a.SilencedWhy, e.dirty = silence.By, silence.Why, true
			}
			return
		}
		a.State, a.SilencedBy, a.SilencedWhy = isOn, "", ""
		e.tell(rule, firing, now)
	}
}

// tell has receivers hear of an alert.
func (e *entry) tell(rule *Rule, about string, now time.Time) {
	a := e.alert
	a.Told, a.ToldAt = about, seconds(now)
	e.touch(rule, now)
	for i, target := range rule.Targets {
		if a.EventID == notDeliveredID && a.Part == target.UUID {
			continue // it is the one that took nothing
		}
		delivery := kinds.AlertDelivery{
			ID: fmt.Sprintf("%s.%d.%d", a.UUID, now.UnixMilli(), i), Action: target.Action, To: target.UUID,
			Name: target.Name, About: about, State: waiting, At: seconds(now),
		}
		a.Deliveries = append(a.Deliveries, delivery)
		e.sends = append(e.sends, delivery)
	}
	a.Deliveries = a.Deliveries[max(0, len(a.Deliveries)-deliveriesMost):]
}

// resolve ends an alert. Receivers that heard of its begin hear of its end. rule is nil if it is deleted.
func (b *book) resolve(rule *Rule, e *entry, reason string, now time.Time) {
	a := e.alert
	if a.Condition != firing {
		return
	}
	a.Condition, a.ResolvedAt, e.dirty = resolved, seconds(now), true
	if rule == nil || a.Told != firing {
		return
	}
	a.Reason = reason
	if a.State == isDismissed || rule.silence(a.ObjectUUID, now) != nil {
		return
	}
	toldAt := a.ToldAt
	e.tell(rule, resolved, now)
	a.ToldAt = toldAt // what begins again soon is throttled since it began
}

// tick does what time brings: reminders, the ends of windows, rules that are gone, and alerts that expire.
func (b *book) tick(rules map[string]*Rule, now time.Time) {
	for _, e := range b.entries {
		rule, a := rules[ruleOf(e.alert)], e.alert
		switch {
		case e.gone:
		case rule == nil:
			b.resolve(nil, e, "", now)
		case a.Condition == firing && a.MetricID == "" && rule.Category == "ROLLINGWINDOW" &&
			!b.isOften(rule, a.ObjectKey, now) && now.After(moment(a.Timestamp)):
			b.resolve(rule, e, "it happened too rarely since", now)
		default:
			b.remind(rule, e, now, false)
		}
		lasts := a.Condition == firing && a.MetricID != ""
		if !e.gone && !lasts && now.After(moment(a.ExpiresAt)) {
			b.drop(e)
		}
	}
	for key := range b.windows {
		rule := rules[ruleInKey(key)]
		if rule == nil || len(b.windowOf(rule, key, now)) == 0 {
			delete(b.windows, key)
		}
	}
}

func ruleOf(a *kinds.Alert) string { return uuidIn(a.ConfigRef) }

// settled takes what became of a delivery.
func (b *book) settled(id string, delivery kinds.AlertDelivery) {
	e := b.entries[id]
	if e == nil {
		return
	}
	for i := range e.alert.Deliveries {
		if e.alert.Deliveries[i].ID == delivery.ID {
			e.alert.Deliveries[i], e.dirty = delivery, true
		}
	}
}
