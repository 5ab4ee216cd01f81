package alert

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/alert/notify"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// postedTo is a post to a receiver.
func postedTo(receiver string, number int) post {
	return post{"alert-1", kinds.AlertDelivery{ID: fmt.Sprint(receiver, number), To: receiver, Name: receiver,
		Action: "webhook", State: waiting}, &notify.Notice{}}
}

func TestReceiverIsTriedFiveTimesAndThenGivenUp(t *testing.T) {
	d := newDesk(t)
	p := d.alerts.posts
	var tries, paused []int
	p.send = func(context.Context, string, string, *notify.Notice) notify.Result {
		tries = append(tries, len(tries)+1)
		return notify.Result{Answer: "503"}
	}
	p.pause = func(_ context.Context, try int) { paused = append(paused, try) }
	p.add(t.Context(), postedTo("hook", 1))
	var last report
	for range notify.TriesMost {
		last = <-p.reports
	}
	p.wait()
	if len(tries) != notify.TriesMost || fmt.Sprint(paused) != "[1 2 3 4]" || last.delivery.State != dead ||
		last.delivery.Tries != notify.TriesMost || last.delivery.Answer != "503" {
		t.Errorf("tries %v, pauses after %v, %+v", tries, paused, last.delivery)
	}
	d.alerts.tellDead(last)
	told := d.alerts.config.Events.Entries()
	if len(told) != 1 || told[0].ID != "ALERT_NOT_DELIVERED" || !strings.Contains(told[0].Message, "in 5 tries: 503") {
		t.Errorf("told %+v", told)
	}
}

func TestReceiverThatHangsDelaysNoOther(t *testing.T) {
	d := newDesk(t)
	p := d.alerts.posts
	release := make(chan struct{})
	p.send = func(_ context.Context, _, to string, _ *notify.Notice) notify.Result {
		if to == "stuck" {
			<-release
		}
		return notify.Result{OK: true, Answer: "200 OK"}
	}
	for i := range queuedMost + 5 { // one is being sent, and the others wait
		p.add(t.Context(), postedTo("stuck", i))
	}
	refused := 0
	p.add(t.Context(), postedTo("hook", 1))
	for delivered := false; !delivered; {
		r := <-p.reports
		switch {
		case r.delivery.To == "hook":
			delivered = r.delivery.State == "DELIVERED"
		case r.delivery.State == dead:
			refused++
		}
	}
	close(release)
	for left := queuedMost + 5 - refused; left > 0; left-- {
		if r := <-p.reports; r.delivery.State == dead {
			refused++
		}
	}
	p.wait()
	if refused < 4 || refused > 5 {
		t.Errorf("%d were refused, because too many wait", refused)
	}
}

func TestAlertOfATenantDoesNotSayWhatTheReceiverOfAnotherAnswers(t *testing.T) {
	d := newDesk(t, ruleOn(t, downRule)) // of admin
	d.happens("VS_DOWN", "vs-1", "")     // of admin
	d.happens("VS_DOWN", "vs-2", "")     // of blue
	d.sent()
	for id, e := range d.alerts.book.entries {
		delivery := e.alert.Deliveries[0]
		delivery.State, delivery.Answer = dead, "403: token s3cret is not known"
		d.alerts.settle(report{id, delivery})
		settled := e.alert.Deliveries[0]
		if settled.State != dead || (settled.Answer == "") != (e.tenant == "blue") {
			t.Errorf("in %s: %+v", e.tenant, settled)
		}
	}
}

func TestReceiverThatTakesNothingDoesNotHearOfThatAndOthersHearOfItSeldom(t *testing.T) {
	rule := ruleOn(t, `{"name":"lost","source":"EVENT_LOGS","throttle":0,
		"alert_rule":{"sys_event_rule":[{"event_id":"ALERT_NOT_DELIVERED"}]}}`)
	rule.Targets = append(rule.Targets, Target{"webhook", "hook-2", "second"})
	d := newDesk(t, rule)
	d.alerts.config.Events.Hear = d.alerts.take
	failed := func(uuid, name string) {
		d.alerts.tellDead(report{"alert-1", kinds.AlertDelivery{To: uuid, Name: name, State: dead}})
	}
	failed("hook-1", "hook")
	d.wants("the first fails", "second FIRING hook hook-1")
	for range 50 {
		failed("hook-2", "second")
		failed("hook-1", "hook")
		d.pass(5 * time.Second)
	}
	d.wants("both fail without end, for four minutes", "hook FIRING second hook-2")
	d.pass(notDeliveredLeast)
	failed("hook-1", "hook")
	d.wants("it still fails", "second FIRING hook hook-1")
}
