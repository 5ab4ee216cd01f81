package alert

import (
	"testing"
	"time"
)

func TestAlertAboutASlowServerEndsIfNobodyTold(t *testing.T) {
	d := newDesk(t, ruleOn(t, `{"name":"slow","source":"EVENT_LOGS",
		"alert_rule":{"sys_event_rule":[{"event_id":"SERVER_SLOW"}]}}`))
	d.slow = true
	d.happens(slowID, "pool-1", "10.0.0.1:80")
	d.pass(2 * time.Minute)
	d.wants("it is slow", "hook FIRING pool 10.0.0.1:80")
	deliver(d)
	d.restart()
	d.slow = false
	d.pass(30 * time.Second)
	d.wants("the new leader does not know yet")
	d.pass(time.Minute)
	d.wants("it is not slow", "hook RESOLVED pool 10.0.0.1:80")
}

func TestAlertAboutAnAttackEndsWithItsEventOrIfNobodyTold(t *testing.T) {
	d := newDesk(t, ruleOn(t, `{"name":"attacked","source":"EVENT_LOGS",
		"alert_rule":{"sys_event_rule":[{"event_id":"DOS_ATTACK"}]}}`))
	d.happens(attackID, "vs-1", "DOS_HTTP_ERROR")
	d.happens(attackID, "vs-1", "DOS_HTTP_ABORT")
	d.pass(2 * time.Minute)
	d.wants("there are two", "hook FIRING web DOS_HTTP_ABORT", "hook FIRING web DOS_HTTP_ERROR")
	deliver(d)
	d.happens("DOS_ATTACK_ENDED", "vs-1", "DOS_HTTP_ERROR")
	d.pass(time.Second)
	d.wants("one is over", "hook RESOLVED web DOS_HTTP_ERROR")
	deliver(d)
	d.restart()
	d.pass(time.Minute)
	d.wants("the other one lasts, or nobody knows")
	d.over = "DOS_HTTP_ABORT"
	d.pass(time.Minute)
	d.wants("the other one is over", "hook RESOLVED web DOS_HTTP_ABORT")
}
