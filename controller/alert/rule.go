package alert

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Occurrence is something that a rule fits: an event, or a metric of an object.
type Occurrence struct {
	Object  Object
	Part    string // of the object: a server of a pool; empty: the whole
	Event   string // its id; empty: it is about a metric
	Reason  string
	Metric  string
	Value   float64
	Related []string
	Times   uint32 // how often, if more than once
}

// key says which occurrences are the same alert.
func (o *Occurrence) key(rule *Rule) string {
	return strings.Join([]string{rule.UUID, o.Object.UUID, o.Part, o.Event}, "/")
}

// fitsEvent tells whether a rule fits an event.
func (r *Rule) fitsEvent(entry events.Entry) bool {
	switch {
	case r.Source != "EVENT_LOGS" || !r.sees(entry.Tenant, entry.ForAll()):
		return false
	case r.ObjectType != "" && r.ObjectType != entry.Kind, r.ObjectUUID != "" && r.ObjectUUID != entry.UUID:
		return false
	}
	one := func(rule kinds.AlertRuleEvent) bool { return fits(rule, entry) != rule.Not }
	if r.Rule.Operator == "OPERATOR_OR" {
		return slices.ContainsFunc(r.Rule.Events, one)
	}
	return !slices.ContainsFunc(r.Rule.Events, func(rule kinds.AlertRuleEvent) bool { return !one(rule) })
}

// fitsAs tells whether a rule fits the same as an earlier state of it.
func (r *Rule) fitsAs(earlier *Rule) bool {
	return r == earlier || earlier != nil && r.Source == earlier.Source && r.ObjectType == earlier.ObjectType &&
		r.ObjectUUID == earlier.ObjectUUID && reflect.DeepEqual(r.Rule, earlier.Rule)
}

func fits(rule kinds.AlertRuleEvent, entry events.Entry) bool {
	if rule.EventID != "" && rule.EventID != entry.ID {
		return false
	}
	for _, detail := range rule.Details {
		equal := detailOf(entry, detail.Key) == detail.Value
		if detail.Key == "related_uuids" {
			equal = slices.Contains(entry.Related, detail.Value)
		}
		if equal != (detail.Comparator == "ALERT_OP_EQ") {
			return false
		}
	}
	return true
}

func detailOf(entry events.Entry, key string) string {
	switch key {
	case "event_id":
		return entry.ID
	case "obj_type":
		return entry.Kind
	case "obj_uuid":
		return entry.UUID
	case "obj_name":
		return entry.Name
	case "tenant":
		return entry.Tenant
	}
	return entry.Message
}

// compare compares a value with a threshold.
func compare(value float64, comparator string, threshold int64) bool {
	with := float64(threshold)
	if math.IsNaN(value) {
		return false
	}
	switch comparator {
	case "ALERT_OP_LT":
		return value < with
	case "ALERT_OP_LE":
		return value <= with
	case "ALERT_OP_EQ":
		return value == with
	case "ALERT_OP_NE":
		return value != with
	case "ALERT_OP_GE":
		return value >= with
	}
	return value > with
}

var signs = map[string]string{"ALERT_OP_LT": "below", "ALERT_OP_LE": "at most", "ALERT_OP_EQ": "equal to",
	"ALERT_OP_NE": "other than", "ALERT_OP_GE": "at least", "ALERT_OP_GT": "above"}

// told says what a metric is, compared with its threshold.
func told(rule kinds.AlertRuleMetric, value float64) string {
	text := fmt.Sprintf("%s is %s, which is %s %d", rule.MetricID, strconv.FormatFloat(value, 'g', 4, 64),
		signs[rule.Threshold.Comparator], rule.Threshold.Value)
	if rule.DurationS > 0 {
		text += fmt.Sprintf(", for %v", time.Duration(rule.DurationS)*time.Second)
	}
	return text
}

// silence is the silence that an object is under; nil: none.
func (r *Rule) silence(uuid string, now time.Time) *kinds.Silence {
	for i, silence := range r.Silences {
		until, err := time.Parse(time.RFC3339, silence.Until)
		if err == nil && now.Before(until) && (silence.ObjectUUID == "" || silence.ObjectUUID == uuid) {
			return &r.Silences[i]
		}
	}
	return nil
}

// ends are the events that end what other events began, of the same object.
var ends = map[string][]string{
	"VS_UP": {"VS_DOWN"}, "POOL_UP": {"POOL_DOWN"}, "SERVER_UP": {"SERVER_DOWN"},
	"SE_UP":        {"SE_DOWN", "SE_HEARTBEAT_FAILURE"},
	"METRICS_KEPT": {"METRICS_NOT_KEPT"}, "RECORD_STORE_UP": {"RECORD_STORE_DOWN"}, "ANOMALY_ENDED": {"ANOMALY"},
	"SERVER_SLOW_ENDED": {"SERVER_SLOW"}, "DOS_ATTACK_ENDED": {attackID},
	seeingID:    {blindID},
	"STREAM_UP": {"STREAM_DOWN"}, "REMOTE_WRITE_UP": {"REMOTE_WRITE_DOWN"},
}

// seconds is a time as alerts have it.
func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }

func moment(seconds float64) time.Time { return time.UnixMilli(int64(seconds * 1000)).UTC() }

// ruleInKey is the uuid of the rule in the key of an alert.
func ruleInKey(key string) string {
	id, _, _ := strings.Cut(key, "/")
	return id
}
