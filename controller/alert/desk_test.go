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

	"github.com/weir-lb/weir/controller/alert/notify"
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
	refuses func(Change) bool
	saves   int
	up      bool
	slow    bool
	over    string
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
		IsSlow: func(_, _ string) bool { return d.slow },
		IsOver: func(_, attack string) bool { return attack == d.over },
		Events: events.New(quiet, time.Now),
	})
	d.alerts.posts.send = func(ctx context.Context, _, _ string, _ *notify.Notice) notify.Result {
		<-ctx.Done() // no receiver answers while the test runs
		return notify.Result{}
	}
	d.alerts.begin()
}

func (d *desk) content() *Content {
	c := &Content{Rules: slices.Clone(d.rules), Stored: d.stored, Tenants: map[string]string{},
		Objects: func(string) []Object {
			return d.objects
		}}
	for uuid := range d.stored {
		c.Tenants[uuid] = "admin"
	}
	return c
}

func (d *desk) save(_ context.Context, changes []Change) error {
	d.saves++
	if d.full != nil {
		return d.full
	}
	for _, change := range changes {
		if d.refuses != nil && d.refuses(change) {
			return &Refused{errors.New("there is no such tenant")}
		}
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
