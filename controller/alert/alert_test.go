package alert

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const downRule = `{"name":"down","source":"EVENT_LOGS","throttle":60,"alert_rule":{"operator":"OPERATOR_OR",
	"sys_event_rule":[{"event_id":"VS_DOWN"},{"event_id":"SERVER_DOWN"}]}}`

func TestEventBeginsAnAlertAndItsCounterpartEndsIt(t *testing.T) {
	d := newDesk(t, ruleOn(t, downRule))
	d.happens("VS_ADD_SE", "vs-1", "")
	d.wants("another event")
	d.happens("VS_DOWN", "vs-1", "")
	d.wants("down", "hook FIRING web")
	d.happens("VS_UP", "vs-2", "")
	d.wants("another one is up")
	d.happens("VS_UP", "vs-1", "")
	d.wants("up", "hook RESOLVED web")
	d.happens("SERVER_DOWN", "pool-1", "10.0.0.1:80")
	d.happens("SERVER_DOWN", "pool-1", "10.0.0.2:80")
	d.wants("two servers", "hook FIRING pool 10.0.0.1:80", "hook FIRING pool 10.0.0.2:80")
	d.happens("SERVER_UP", "pool-1", "10.0.0.1:80")
	d.wants("one is up again", "hook RESOLVED pool 10.0.0.1:80")
	if len(d.stored) != 3 {
		t.Errorf("stored are %d alerts", len(d.stored))
	}
}

func TestStreamThatIsBackEndsItsAlertAndNoOther(t *testing.T) {
	d := newDesk(t, ruleOn(t, `{"name":"out","source":"EVENT_LOGS","throttle":60,
		"alert_rule":{"sys_event_rule":[{"event_id":"STREAM_DOWN"}]}}`))
	tell := func(id, target string) {
		d.alerts.take(events.Entry{ID: id, Kind: "CONTROLLER", Name: "streams", Part: target, Tenant: adminTenant})
	}
	tell("STREAM_DOWN", "siem")
	tell("STREAM_DOWN", "collector")
	d.wants("both are away", "hook FIRING streams collector", "hook FIRING streams siem")
	tell("STREAM_UP", "siem")
	d.wants("one is back", "hook RESOLVED streams siem")
}

func TestThrottleHoldsRepetitionsBackAndCountsThem(t *testing.T) {
	d := newDesk(t, ruleOn(t, downRule))
	d.happens("VS_DOWN", "vs-1", "")
	d.wants("first", "hook FIRING web")
	d.happens("VS_UP", "vs-1", "")
	d.wants("up", "hook RESOLVED web")
	for range 5 {
		d.pass(5 * time.Second)
		d.happens("VS_DOWN", "vs-1", "")
		d.happens("VS_UP", "vs-1", "")
	}
	d.wants("flapping")
	d.happens("VS_DOWN", "vs-1", "")
	d.wants("down for good, within the throttle")
	for _, stored := range d.stored {
		if stored.ThrottleCount != 6 || stored.State != isThrottled || len(d.stored) != 1 {
			t.Errorf("%d alerts, %+v", len(d.stored), stored)
		}
	}
	d.pass(40 * time.Second)
	d.wants("the throttle is over, and it is still down", "hook FIRING web")
	d.pass(time.Hour)
	d.wants("it lasts")
	d.happens("VS_DOWN", "vs-1", "")
	d.wants("it happens again", "hook FIRING web")
}

func TestRestartRepeatsNothing(t *testing.T) {
	d := newDesk(t, ruleOn(t, downRule), ruleOn(t, fastRule))
	d.numbers["l7_client.avg_resp_5xx"] = map[string]float64{"vs-1": 20}
	d.happens("VS_DOWN", "vs-2", "")
	d.pass(15 * time.Second)
	d.wants("before", "hook FIRING shop", "hook FIRING web")
	deliver(d)
	values := d.numbers["l7_client.avg_resp_5xx"]
	delete(d.numbers, "l7_client.avg_resp_5xx") // nothing is counted yet
	d.restart()
	d.pass(30 * time.Second)
	d.wants("after the restart, and nothing known")
	d.numbers["l7_client.avg_resp_5xx"] = values
	d.pass(time.Hour)
	d.wants("it goes on")
	d.numbers["l7_client.avg_resp_5xx"] = map[string]float64{"vs-1": 1}
	d.pass(5 * time.Second)
	d.wants("over", "hook RESOLVED web")
	d.up = true // it came up while no leader listened
	d.pass(20 * time.Second)
	d.wants("nobody told", "hook RESOLVED shop")
}

// deliver settles what is on its way.
func deliver(d *desk) {
	for uuid, stored := range d.stored {
		for _, delivery := range stored.Deliveries {
			delivery.State = delivered
			d.alerts.book.settled(uuid, delivery)
		}
	}
	d.alerts.finish(d.Context())
}

func TestWhatWasOnItsWayIsSentAfterARestart(t *testing.T) {
	d := newDesk(t, ruleOn(t, downRule))
	d.happens("VS_DOWN", "vs-1", "")
	d.wants("before", "hook FIRING web")
	d.restart()
	d.wants("not delivered", "hook FIRING web")
	deliver(d)
	d.restart()
	d.wants("delivered")
}

func TestOnlyWhatTheTenantOfARuleMaySee(t *testing.T) {
	blue := ruleOn(t, downRule)
	blue.Tenant = "blue"
	d := newDesk(t, blue)
	d.happens("VS_DOWN", "vs-1", "")
	d.happens("VS_DOWN", "vs-2", "")
	d.wants("its own", "hook FIRING shop")
	for _, e := range d.alerts.book.entries {
		if e.tenant != "blue" {
			t.Errorf("the alert is of tenant %s", e.tenant)
		}
	}
}

func TestRulesFitByObjectAndDetail(t *testing.T) {
	entry := events.Entry{ID: "VS_DOWN", Kind: "VIRTUALSERVICE", UUID: "vs-1", Name: "web", Tenant: "admin",
		Related: []string{"se-1"}}
	for text, want := range map[string]bool{
		`"object_type":"VIRTUALSERVICE","obj_uuid":"vs-1","alert_rule":{"sys_event_rule":[{"event_id":"VS_DOWN"}]}`:          true,
		`"object_type":"POOL","alert_rule":{"sys_event_rule":[{"event_id":"VS_DOWN"}]}`:                                      false,
		`"obj_uuid":"vs-2","alert_rule":{"sys_event_rule":[{"event_id":"VS_DOWN"}]}`:                                         false,
		`"alert_rule":{"sys_event_rule":[{"event_id":"VS_UP"}]}`:                                                             false,
		`"alert_rule":{"sys_event_rule":[{"event_id":"VS_UP","not_cond":true}]}`:                                             true,
		`"alert_rule":{"sys_event_rule":[{"event_details":[{"event_details_key":"obj_name","event_details_value":"web"}]}]}`: true,
		`"alert_rule":{"sys_event_rule":[{"event_details":[{"event_details_key":"obj_name","event_details_value":"web",
			"comparator":"ALERT_OP_NE"}]}]}`: false,
		`"alert_rule":{"sys_event_rule":[{"event_details":[{"event_details_key":"related_uuids","event_details_value":"se-1"}]}]}`: true,
		`"alert_rule":{"sys_event_rule":[{"event_id":"VS_DOWN"},{"event_id":"VS_UP","not_cond":true}]}`:                            true,
	} {
		rule := ruleOn(t, `{"name":"r","source":"EVENT_LOGS",`+text+`}`)
		if got := rule.fitsEvent(entry); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestSilenceAndDismissalKeepQuiet(t *testing.T) {
	rule := ruleOn(t, downRule)
	rule.Silences = []kinds.Silence{{ObjectUUID: "vs-1", Until: noon.Add(10 * time.Minute).Format(time.RFC3339),
		By:  "jo",
		Why: "maintenance"}}
	d := newDesk(t, rule)
	d.happens("VS_DOWN", "vs-1", "")
	d.happens("VS_DOWN", "vs-2", "")
	d.wants("one is silenced", "hook FIRING shop")
	for _, stored := range d.stored {
		if stored.ObjectUUID == "vs-1" && stored.SilencedWhy != "maintenance" {
			t.Errorf("stored is %+v", stored)
		}
		if stored.ObjectUUID == "vs-2" {
			stored.State = isDismissed
		}
	}
	d.pass(9 * time.Minute)
	d.happens("VS_DOWN", "vs-2", "")
	d.wants("one is dismissed, one silenced")
	d.pass(90 * time.Second)
	d.wants("the silence is over", "hook FIRING web")
	d.happens("VS_UP", "vs-2", "")
	d.happens("VS_UP", "vs-1", "")
	d.wants("the end of what was dismissed is not told", "hook RESOLVED web")
}

func TestDeletedAlertDoesNotComeBackWhileItsCauseLasts(t *testing.T) {
	d := newDesk(t, ruleOn(t, fastRule))
	d.numbers["l7_client.avg_resp_5xx"] = map[string]float64{"vs-1": 20}
	d.pass(15 * time.Second)
	d.wants("it fires", "hook FIRING web")
	clear(d.stored)
	d.pass(10 * time.Minute)
	d.wants("deleted")
	d.numbers["l7_client.avg_resp_5xx"] = map[string]float64{"vs-1": 0}
	d.pass(5 * time.Second)
	d.numbers["l7_client.avg_resp_5xx"] = map[string]float64{"vs-1": 20}
	d.pass(15 * time.Second)
	d.wants("it is there again", "hook FIRING web")
}

func TestAlertsExpireAndThoseWithoutRuleEnd(t *testing.T) {
	rule := ruleOn(t, downRule)
	rule.ExpiryS = 3600
	d := newDesk(t, rule)
	d.happens("VS_DOWN", "vs-1", "")
	d.happens("VS_DOWN", "vs-2", "")
	d.wants("both", "hook FIRING shop", "hook FIRING web")
	d.pass(3700 * time.Second)
	d.wants("expired")
	if len(d.stored) > 0 {
		t.Errorf("stored are %v", d.stored)
	}
	d.happens("VS_DOWN", "vs-1", "")
	d.wants("again", "hook FIRING web")
	d.rules = nil
	d.pass(5 * time.Second)
	d.wants("the rule is deleted")
	for _, stored := range d.stored {
		if stored.Condition != resolved {
			t.Errorf("stored is %+v", stored)
		}
	}
}

func TestWhatCannotBeStoredIsSentAllTheSame(t *testing.T) {
	d := newDesk(t, ruleOn(t, downRule))
	d.full = errors.New("the disk is full")
	d.happens("VS_DOWN", "vs-1", "")
	d.wants("the disk is full", "hook FIRING web")
	d.full = nil
	d.pass(5 * time.Second)
	d.wants("there is room again")
	if len(d.stored) != 1 {
		t.Errorf("stored are %v", d.stored)
	}
}

func TestTooManyAlertsMakeRoomForNewOnes(t *testing.T) {
	d := newDesk(t, ruleOn(t, downRule))
	for i := range alertsMost {
		d.alerts.take(events.Entry{ID: "VS_DOWN", UUID: fmt.Sprint("vs-", i), Tenant: "admin"})
	}
	d.sent()
	d.happens("VS_DOWN", "vs-new", "")
	d.wants("all last")
	d.happens("VS_UP", "vs-7", "")
	d.sent()
	d.happens("VS_DOWN", "vs-new", "")
	d.wants("one is over", "hook FIRING")
	if len(d.stored) != alertsMost {
		t.Errorf("stored are %d", len(d.stored))
	}
}
