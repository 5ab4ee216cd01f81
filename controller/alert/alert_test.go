package alert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/series"
)

// desk is a book with its rules, and a clock that the test moves. Nothing is stored or sent.
type desk struct {
	*testing.T
	alerts  *Alerts
	now     time.Time
	rules   []*Rule
	objects []Object
	numbers numbers
	stored  map[string]*kinds.Alert
	full    error // of Save
	up      bool
}

// numbers are live values by metric and object; those of the history begin with "past.".
type numbers map[string]map[string]float64

func (n numbers) Newest(_ series.Kind, metric string) (map[string]float64, bool) {
	return n[metric], !strings.HasPrefix(metric, "past.")
}

func (numbers) Step() int { return 0 }

func (n numbers) Ask(_ context.Context, questions []series.Question) (answers []series.Answer, err error) {
	for _, q := range questions {
		var answer series.Answer
		for uuid, value := range n[q.Metric] {
			answer.Series = append(answer.Series, series.Series{UUID: uuid,
				Points: []series.Point{{At: q.Stop, Value: value}}})
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func newDesk(t *testing.T, rules ...*Rule) *desk {
	d := &desk{T: t, now: noon, rules: rules, numbers: numbers{}, stored: map[string]*kinds.Alert{},
		objects: []Object{{"VIRTUALSERVICE", "vs-1", "web", "admin"}, {"VIRTUALSERVICE", "vs-2", "shop", "blue"}}}
	d.restart()
	return d
}

// restart begins anew with what is stored.
func (d *desk) restart() {
	quiet := slog.New(slog.DiscardHandler)
	d.alerts = New(Config{
		Content: d.content, Save: d.save, Numbers: d.numbers, Log: quiet, Now: func() time.Time { return d.now },
		IsUp:   func(_, _, _ string) bool { return d.up },
		Events: events.New(quiet, time.Now),
	})
	d.alerts.read()
	d.alerts.book.load(d.alerts.content)
}

func (d *desk) content() *Content {
	c := &Content{Rules: d.rules, Stored: d.stored, Tenants: map[string]string{}, Objects: func(string) []Object {
		return d.objects
	}}
	for uuid := range d.stored {
		c.Tenants[uuid] = "admin"
	}
	return c
}

func (d *desk) save(_ context.Context, changes []Change) error {
	if d.full != nil {
		return d.full
	}
	for _, change := range changes {
		if change.Gone {
			delete(d.stored, change.Alert.UUID)
			continue
		}
		copied := *change.Alert
		copied.Deliveries = slices.Clone(change.Alert.Deliveries)
		d.stored[copied.UUID] = &copied
	}
	return nil
}

// sent saves, and returns what would be sent: "RULE CONDITION OBJECT: reason".
func (d *desk) sent() (all []string) {
	d.Helper()
	for _, e := range d.alerts.book.entries {
		for _, delivery := range e.sends {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", delivery.Name, delivery.About,
				e.alert.ObjectName, e.alert.Part)))
		}
		e.sends = nil
	}
	d.alerts.finish(d.Context())
	slices.Sort(all)
	return all
}

func (d *desk) wants(what string, want ...string) {
	d.Helper()
	if got := d.sent(); !slices.Equal(got, want) {
		d.Errorf("%s: sent %q, want %q", what, got, want)
	}
}

// pass lets time pass, with a tick each 5 s.
func (d *desk) pass(length time.Duration) {
	for end := d.now.Add(length); d.now.Before(end); {
		d.now = d.now.Add(tickEvery)
		d.alerts.tick()
	}
}

// happens tells an event.
func (d *desk) happens(id, uuid, part string) {
	name := map[string]string{"vs-1": "web", "vs-2": "shop", "pool-1": "pool"}[uuid]
	tenant := map[string]string{"vs-2": "blue"}[uuid]
	if tenant == "" {
		tenant = "admin"
	}
	kind := "VIRTUALSERVICE"
	if strings.HasPrefix(uuid, "pool") {
		kind = "POOL"
	}
	d.alerts.take(events.Entry{ID: id, Kind: kind, UUID: uuid, Name: name, Tenant: tenant, Message: id, Part: part})
}

// ruleOn is a rule that sends to "hook".
func ruleOn(t *testing.T, text string) *Rule {
	t.Helper()
	k, _ := schema.Lookup(ruleKind)
	sent, err := schema.Parse(ruleKind, []byte(text))
	if err == nil {
		sent, err = k.Normalise(sent)
	}
	if err != nil {
		t.Fatal(err)
	}
	k.Fill(sent)
	if err := k.Check(sent); err != nil {
		t.Fatal(err)
	}
	config, err := schema.Into[kinds.AlertConfig](sent)
	if err != nil {
		t.Fatal(err)
	}
	config.UUID = "rule-" + config.Name
	return &Rule{AlertConfig: config, Tenant: "admin", Level: "ALERT_HIGH",
		Targets: []Target{{"webhook", "hook-1", "hook"}}}
}

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
