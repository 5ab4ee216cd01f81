package alert

import (
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/series"
)

const fastRule = `{"name":"errors","source":"METRICS","category":"WATERMARK","object_type":"VIRTUALSERVICE",
	"throttle":60,"alert_rule":{"metrics_rule":[{"metric_id":"l7_client.avg_resp_5xx","duration":10,
	"metric_threshold":{"comparator":"ALERT_OP_GT","threshold":10}}]}}`

func TestMetricMustHoldForTheDuration(t *testing.T) {
	d := newDesk(t, ruleOn(t, fastRule))
	set := func(value float64) {
		d.numbers["l7_client.avg_resp_5xx"] = map[string]float64{"vs-1": value, "vs-2": 0}
	}
	set(20)
	d.pass(10 * time.Second) // the first look notes that it holds
	d.wants("it holds for 5 s")
	set(10)
	d.pass(5 * time.Second)
	set(11)
	d.pass(10 * time.Second)
	d.wants("it held, but not in one piece")
	d.pass(5 * time.Second)
	d.wants("it holds for 10 s", "hook FIRING web")
	d.pass(10 * time.Minute)
	d.wants("a watermark is told once")
	set(10)
	d.pass(5 * time.Second)
	d.wants("over", "hook RESOLVED web")
	for _, stored := range d.stored {
		if stored.MetricID != "l7_client.avg_resp_5xx" || stored.MetricValue != 11 || stored.ObjectUUID != "vs-1" {
			t.Errorf("stored is %+v", stored)
		}
	}
}

func TestRealtimeMetricIsToldAgainAfterTheThrottle(t *testing.T) {
	rule := ruleOn(t, strings.Replace(fastRule, "WATERMARK", "REALTIME", 1))
	rule.Rule.Metrics[0].DurationS = 0
	d := newDesk(t, rule)
	d.numbers["l7_client.avg_resp_5xx"] = map[string]float64{"vs-1": 20}
	d.pass(5 * time.Second)
	d.wants("at once", "hook FIRING web")
	d.pass(55 * time.Second)
	d.wants("within the throttle")
	d.pass(5 * time.Second)
	d.wants("after it", "hook FIRING web")
}

func TestRollingWindowWantsEnoughInTheWindow(t *testing.T) {
	rule := ruleOn(t,
		`{"name":"often","source":"EVENT_LOGS","category":"ROLLINGWINDOW","threshold":3,"rolling_window":60,
		"alert_rule":{"sys_event_rule":[{"event_id":"SE_HEARTBEAT_FAILURE"}]}}`)
	d := newDesk(t, rule)
	for range 4 {
		d.happens("SE_HEARTBEAT_FAILURE", "vs-1", "")
		d.pass(35 * time.Second)
	}
	d.wants("never three in a minute")
	d.happens("SE_HEARTBEAT_FAILURE", "vs-1", "")
	d.happens("SE_HEARTBEAT_FAILURE", "vs-2", "") // another object
	d.wants("two in a minute")
	d.happens("SE_HEARTBEAT_FAILURE", "vs-1", "")
	d.wants("three", "hook FIRING web")
	d.restart()
	deliver(d)
	d.pass(50 * time.Second)
	d.wants("it lasts over a restart")
	d.pass(20 * time.Second)
	d.wants("rarer", "hook RESOLVED web")
}

func TestMetricOfTheHistory(t *testing.T) {
	rule := ruleOn(t, strings.Replace(fastRule, "l7_client.avg_resp_5xx", "past.x", 1))
	d := newDesk(t, rule)
	d.numbers["past.x"] = map[string]float64{"vs-1": 20}
	d.pass(time.Minute)
	d.wants("nobody has asked yet")
	wanted := <-d.alerts.meter.wanted
	if len(wanted) != 1 || wanted[0] != (measure{series.VirtualService, "past.x"}) {
		t.Fatalf("wanted %v", wanted)
	}
	for range 4 {
		d.alerts.meter.take(d.alerts.asked(t.Context(), wanted))
		d.pass(5 * time.Second)
	}
	d.wants("it holds", "hook FIRING web")
	d.pass(old + unknownMost - 10*time.Second)
	if got := d.sent(); len(got) != 0 {
		t.Errorf("not known for long enough: %q", got)
	}
	d.pass(10 * time.Second)
	d.wants("nothing is known of it any more", "hook RESOLVED web")
}

func TestWindowFollowsAThresholdThatIsLowered(t *testing.T) {
	rule, b := ruleOn(t, `{"name":"often","source":"EVENT_LOGS","category":"ROLLINGWINDOW","threshold":5,
		"rolling_window":60,"alert_rule":{"sys_event_rule":[{"event_id":"VS_DOWN"}]}}`), newBook()
	for range 4 {
		b.counts(rule, "key", noon, 1, noon)
	}
	rule.Threshold = 2
	for range 10 {
		if !b.counts(rule, "key", noon, 1, noon) || len(b.windows["key"]) != 1 {
			t.Fatalf("the window has %d", len(b.windows["key"]))
		}
	}
}
