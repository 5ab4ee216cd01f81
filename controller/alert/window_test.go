package alert

import (
	"fmt"
	"testing"
	"time"

	"github.com/weir-lb/weir/logs/wire"
)

// streamed has rules see records for so many seconds, ten a second, each batch with those of two seconds, that long
// after them.
func (d *desk) streamed(seconds int, late time.Duration, fields ...string) {
	for i := range seconds {
		if d.now = d.now.Add(time.Second); d.now.Unix()%2 == 0 {
			var rows []wire.Row
			for n := range 20 {
				rows = append(rows, d.request(late+time.Duration(n)*100*time.Millisecond, fields...))
			}
			d.sees(rows...)
		}
		if i%5 == 4 {
			d.alerts.tick()
		}
	}
}

// Records come two to four seconds after the request.
func TestShortWindowsSeeRecordsThatComeLate(t *testing.T) {
	for _, c := range []struct{ length, threshold int }{{1, 8}, {3, 25}, {10, 90}, {60, 550}} {
		for _, late := range []time.Duration{1500 * time.Millisecond, 2 * time.Second, 2900 * time.Millisecond} {
			d := newDesk(t, logRuleOn(t, fmt.Sprintf(`"category":"ROLLINGWINDOW","threshold":%d,"rolling_window":%d,`,
				c.threshold, c.length), "eq(response_code,503)"))
			what := fmt.Sprintf("%d in %d s, %v late", c.threshold, c.length, late)
			d.streamed(c.length+20, late, "response_code=503")
			d.wants(what, "hook FIRING web")
			d.streamed(20, late, "response_code=503")
			d.wants(what + ": it lasts")
			d.pass(time.Duration(c.length)*time.Second + 10*time.Second)
			d.wants(what+": over", "hook RESOLVED web")
		}
	}
}

func TestWindowIsNoLongerThanItShallBe(t *testing.T) {
	for _, length := range []int{1, 3, 10, 60} {
		d := newDesk(t, logRuleOn(t, fmt.Sprintf(`"category":"ROLLINGWINDOW","threshold":%d,"rolling_window":%d,`,
			length*10+1, length), "eq(response_code,503)"))
		d.streamed(200, 2*time.Second, "response_code=503")
		d.wants(fmt.Sprintf("%d s", length))
	}
}

func TestRecordOutsideTheWindowRepeatsNoAlert(t *testing.T) {
	d := newDesk(t, logRuleOn(t, `"category":"ROLLINGWINDOW","threshold":10,"rolling_window":60,"throttle":0,`,
		"eq(response_code,503)"))
	d.sees(d.request(0, "response_code=503", "weight=10"))
	d.wants("it fires", "hook FIRING web")
	d.sees(d.request(2*time.Minute, "response_code=503"))
	d.wants("long ago")
	d.pass(30 * time.Second)
	d.sent()
	d.sees(d.request(94*time.Second, "response_code=503"))
	for _, e := range d.alerts.book.entries {
		if e.alert.ThrottleCount != 9 {
			t.Errorf("it is repeated: %+v", e.alert)
		}
	}
}

func TestRecordOfAFastClockCountsAsNow(t *testing.T) {
	d := newDesk(t, logRuleOn(t, `"category":"ROLLINGWINDOW","threshold":2,"rolling_window":10,`,
		"eq(response_code,503)"))
	d.sees(d.request(-time.Hour, "response_code=503"))
	d.sees(d.request(time.Second, "response_code=503"))
	d.wants("both", "hook FIRING web")
}

func TestChangedRuleInheritsNothing(t *testing.T) {
	const often = `"category":"ROLLINGWINDOW","threshold":10,"rolling_window":60,`
	d := newDesk(t, logRuleOn(t, often, "eq(response_code,503)"))
	d.sees(d.request(0, "response_code=503", "weight=9"))
	d.alerts.See([]wire.Row{d.request(0, "response_code=503", "weight=9")})
	d.rules = []*Rule{logRuleOn(t, often, "eq(response_code,404)")}
	d.alerts.read()
	d.alerts.look()
	d.wants("what the old filter saw")
	d.sees(d.request(0, "response_code=404", "weight=9"))
	d.wants("9 of 10")
	d.rules = []*Rule{logRuleOn(t, often, "eq(response_code,404)")} // read anew, and the same
	d.alerts.See([]wire.Row{d.request(0, "response_code=404")})
	d.alerts.read()
	d.alerts.look()
	d.wants("10", "hook FIRING web")
}

func TestWindowsThatFindNoRoomAreCountedAndToldOnce(t *testing.T) {
	rule := ruleOn(t, `{"name":"often","source":"EVENT_LOGS","category":"ROLLINGWINDOW","threshold":5,
		"rolling_window":60,"alert_rule":{"sys_event_rule":[{"event_id":"VS_DOWN"}]}}`)
	d := newDesk(t, rule)
	for i := range windowsMost + 3 {
		d.alerts.book.counts(rule, fmt.Sprint(rule.UUID, "/", i), d.now, 2, d.now)
	}
	if got := d.alerts.book.uncounted; got != 6 {
		t.Errorf("%d are not counted", got)
	}
	d.pass(5 * time.Second)
	if !d.alerts.blind.unwatched {
		t.Error("nobody is told")
	}
	d.pass(time.Minute)
	d.pass(5 * time.Second)
	if d.alerts.blind.unwatched || d.alerts.book.uncounted > 0 {
		t.Error("there is room again, and nobody is told")
	}
}
