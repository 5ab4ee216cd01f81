// Package alert watches events, records and metrics for operators: rules (alertconfig) say when there is an alert, and
// action groups who hears of it. book.go decides, on values and the time; metric.go measures; eye.go compares records
// as they come; post.go sends, with a queue for each receiver, so that one that hangs delays nobody else.
//
// It belongs to the leader. The state of each alert is in the store, so that the next leader repeats nothing.
package alert

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weir-lb/weir/backoff"
	"github.com/weir-lb/weir/controller/alert/notify"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const (
	// lookEvery is how often the alerts look at what rules saw in records, and whether a step of what is counted live
	// has ended. Steps last 5 s.
	lookEvery = time.Second
	// tickEvery is how often rules are looked at if no step ends.
	tickEvery = 5 * time.Second
	// heardMost is the number of events that wait. More are counted, and make no alert.
	heardMost = 10_000
	// takenAtOnce is the number of events that one save is about.
	takenAtOnce = 500
)

// Config is what alerts need.
type Config struct {
	Content func() *Content // of the newest view; the same as long as nothing has changed
	Save    func(ctx context.Context, changes []Change) error
	Sender  *notify.Sender
	Numbers Numbers
	// IsUp tells whether an object, or a part of it, is up now. It ends alerts whose end nobody told.
	IsUp func(kind, uuid, part string) bool
	// IsSlow tells the same of a server that was slow.
	IsSlow func(poolUUID, server string) bool
	// IsOver tells whether an attack on a virtual service is over. False: it lasts, or that is not known yet.
	IsOver func(serviceUUID, attack string) bool
	Events *events.Log
	// NoRecords says that this controller keeps no records of requests, so that rules on them see nothing.
	NoRecords bool
	Log       *slog.Logger
	Now       func() time.Time
}

// Change is an alert to be stored or deleted.
type Change struct {
	Alert  *kinds.Alert
	Tenant string
	Fresh  bool // it is not stored yet
	Gone   bool
}

// Alerts watches. Run does the work; Hear is safe for concurrent use.
type Alerts struct {
	config Config
	heard  chan events.Entry
	lost   atomic.Int64
	eye    *eye

	book     *book
	content  *Content
	rules    map[string]*Rule
	meter    meter
	posts    *posts
	blind    blindness
	step     int       // of what is counted live, at the last tick
	ticked   time.Time // when that was
	lookedAt time.Time // when up was last looked at
	began    time.Time

	saveAfter   time.Time // nothing is saved before
	countsAfter time.Time // counts of repetitions are not saved before
	savePause   backoff.Backoff
}

// New returns alerts that hear nothing yet.
func New(config Config) *Alerts {
	a := &Alerts{config: config, heard: make(chan events.Entry, heardMost), eye: newEye(), book: newBook(),
		rules: map[string]*Rule{},
		meter: newMeter(), savePause: backoff.Backoff{First: time.Second, Most: time.Minute}}
	a.posts = newPosts(a)
	return a
}

// Hear takes an event. It never waits.
func (a *Alerts) Hear(entry events.Entry) {
	select {
	case a.heard <- entry:
	default:
		a.lost.Add(1)
	}
}

// Run watches until ctx ends.
func (a *Alerts) Run(ctx context.Context) error {
	a.begin()
	measured := make(chan map[measure]reading, 1)
	go a.ask(ctx, measured)
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	for {
		a.finish(ctx)
		select {
		case <-ctx.Done():
			a.posts.wait()
			return nil
		case entry := <-a.heard:
			a.read()
			a.take(entry)
			for range takenAtOnce {
				select {
				case entry := <-a.heard:
					a.take(entry)
					continue
				default:
				}
				break
			}
		case report := <-a.posts.reports:
			a.settle(report)
			a.tellDead(report)
		case values := <-measured:
			a.meter.take(values)
			a.tick()
		case <-looks.C:
			a.read()
			a.look()
			if a.config.Numbers.Step() != a.step || a.config.Now().Sub(a.ticked) >= tickEvery {
				a.tick()
			}
		}
	}
}

// begin goes on where the last leader ended.
func (a *Alerts) begin() {
	a.began = a.config.Now()
	a.read()
	a.book.load(a.content)
	a.blind.told = a.book.fires(blindID)
}

// read reads the newest content, if it has changed.
func (a *Alerts) read() {
	content := a.config.Content()
	if content == a.content {
		return
	}
	first := a.content == nil
	if first || !slices.Equal(a.content.Rules, content.Rules) {
		a.eye.follow(content.Rules)
	}
	before := a.rules
	a.content, a.rules = content, map[string]*Rule{}
	for _, rule := range content.Rules {
		a.rules[rule.UUID] = rule
		if !rule.fitsAs(before[rule.UUID]) {
			a.book.forgetWindows(rule.UUID)
		}
	}
	if !first {
		a.book.heed(content)
	}
}

// take takes an event.
func (a *Alerts) take(entry events.Entry) {
	now := a.config.Now()
	switch entry.ID {
	case "RECORD_STORE_DOWN":
		a.blind.storeDown = true
	case "RECORD_STORE_UP":
		a.blind.storeDown = false
	}
	a.book.ended(entry, a.rules, now)
	for _, rule := range a.content.Rules {
		if rule.fitsEvent(entry) {
			a.book.happened(rule, entry, now)
		}
	}
}

// tick does what time brings.
func (a *Alerts) tick() {
	a.read()
	now := a.config.Now()
	a.step, a.ticked = a.config.Numbers.Step(), now
	a.measure(now)
	if now.Sub(a.lookedAt) >= 3*tickEvery {
		a.lookedAt = now
		a.lookUp(now)
	}
	a.book.tick(a.rules, now)
	a.tellBlind(now)
	if lost := a.lost.Swap(0); lost > 0 {
		a.config.Log.Warn("alerts cannot keep up with the events", "lost", lost)
	}
	if full := a.book.full; full > 0 {
		a.book.full = 0
		a.config.Log.Warn("there are too many alerts: dismiss some", "most", alertsMost, "not_made", full)
	}
	a.tellUncounted()
}

// finish saves what has changed, and then sends what is to be sent. What could not be saved is sent all the same, and
// saved later: an alert must not wait for a full disk.
func (a *Alerts) finish(ctx context.Context) {
	a.save(ctx)
	for _, e := range a.book.entries {
		for _, delivery := range e.sends {
			a.posts.add(ctx, post{e.alert.UUID, delivery, noticeOf(e, delivery, a.config.Now())})
		}
		e.sends = nil
	}
}

// noticeOf is what a receiver is told.
func noticeOf(e *entry, delivery kinds.AlertDelivery, now time.Time) *notify.Notice {
	a := e.alert
	notice := &notify.Notice{
		ID: delivery.ID, Condition: delivery.About, Level: a.Level, Summary: a.Summary, Reason: a.Reason,
		Alert: notify.Named{UUID: a.UUID, Name: a.Name}, Rule: notify.Named{UUID: ruleOf(a), Name: a.ConfigName},
		Object: notify.Object{Type: a.ObjectType, UUID: a.ObjectUUID, Name: a.ObjectName, Tenant: e.tenant},
		Event:  a.EventID, Since: moment(a.Timestamp), At: now.UTC(), Count: a.ThrottleCount,
		Path: pageOf(a, now),
	}
	if a.MetricID != "" {
		notice.Metric = &notify.Metric{ID: a.MetricID, Value: a.MetricValue}
	}
	return notice
}

// pages are the paths of the web pages about objects.
var pages = map[string]string{"VIRTUALSERVICE": "/services/", "POOL": "/pools/", "SERVICEENGINE": "/engines/"}

// pageOf is the page about the object, at the time of the alert.
func pageOf(a *kinds.Alert, now time.Time) string {
	page := pages[a.ObjectType]
	if page == "" {
		return "/events"
	}
	const around = 15 * time.Minute
	began := moment(a.Timestamp)
	to := began.Add(around)
	if to.After(now) {
		to = now
	}
	return fmt.Sprintf("%s%s?from=%s&to=%s", page, a.ObjectUUID, began.Add(-around).Format(time.RFC3339),
		to.UTC().Format(time.RFC3339))
}

// settle notes what became of a delivery. Who reads the alert of a tenant need not know what the receivers of another
// one answer.
func (a *Alerts) settle(r report) {
	e := a.book.entries[r.alert]
	if e == nil {
		return
	}
	if rule := a.rules[ruleOf(e.alert)]; rule == nil || rule.Tenant != e.tenant {
		r.delivery.Answer = ""
	}
	a.book.settled(r.alert, r.delivery)
}

// tellDead adds an event about a delivery that was given up.
func (a *Alerts) tellDead(r report) {
	if r.delivery.State != dead {
		return
	}
	a.config.Events.Add(events.Entry{
		ID: notDeliveredID, Kind: "CONTROLLER", Name: r.delivery.Name, Part: r.delivery.To, Tenant: adminTenant,
		Message: fmt.Sprintf("%s %s did not take an alert in %d tries: %s", r.delivery.Action, r.delivery.Name,
			r.delivery.Tries, r.delivery.Answer),
		Related: []string{r.alert},
	})
}
