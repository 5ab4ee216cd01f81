package alert

import (
	"strings"
	"testing"
	"time"
)

// heard wants the ids of all events that alerts told, the newest first.
func (d *desk) heard(what string, want ...string) {
	d.Helper()
	var got []string
	for _, entry := range d.alerts.config.Events.Entries() {
		got = append(got, entry.ID)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		d.Errorf("%s: heard %v, want %v", what, got, want)
	}
}

func TestOperatorsHearThatRulesOnRecordsAreBlindOrLate(t *testing.T) {
	d := newDesk(t, logRuleOn(t, "", "eq(response_code,503)"))
	d.pass(5 * time.Second)
	d.heard("all is well")
	d.happens("RECORD_STORE_DOWN", "", "")
	d.pass(10 * time.Second)
	d.heard("the store is down", blindID)
	d.happens("RECORD_STORE_UP", "", "")
	d.pass(10 * time.Second)
	d.heard("it is up", seeingID, blindID)
	d.sees(d.request(3*time.Minute, "response_code=503", "weight=7"))
	d.pass(10 * time.Second)
	d.heard("records of the time before", lateID, seeingID, blindID)
	d.wants("they still make an alert", "hook FIRING web")
}

func TestRulesSeeAgainOnlyIfThereAreRulesAndTheStoreIsUp(t *testing.T) {
	rule := logRuleOn(t, "", "eq(response_code,503)")
	d := newDesk(t, rule)
	d.happens("RECORD_STORE_DOWN", "", "")
	d.pass(20 * time.Second)
	d.rules = nil
	d.pass(10 * time.Second)
	d.heard("there are no rules", blindID)
	d.happens("RECORD_STORE_UP", "", "")
	d.pass(10 * time.Second)
	d.heard("still none", blindID)
	d.rules = []*Rule{rule}
	d.pass(10 * time.Second)
	d.heard("a rule, and the store is up", seeingID, blindID)
}

func TestNewLeaderEndsTheAlertAboutBlindRulesOfTheLastOne(t *testing.T) {
	d := newDesk(t, logRuleOn(t, "", "eq(response_code,503)"), ruleOn(t, `{"name":"blind","source":"EVENT_LOGS",
		"alert_rule":{"sys_event_rule":[{"event_id":"LOG_RULES_BLIND"}]}}`))
	d.happens(blindID, "", "")
	d.sent()
	d.restart()
	d.pass(10 * time.Second)
	d.heard("perhaps the store is still down")
	d.pass(10 * time.Second)
	d.heard("it is up", seeingID)
	d.pass(time.Minute)
	d.heard("once", seeingID)
}
