package rest

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// Tester sends a test notice to a receiver, or to all of an action group, and returns what they said.
type Tester func(ctx context.Context, kind, uuid, by string) []Tested

// Tested is what a receiver of a test said.
type Tested struct {
	Action, UUID, Name string
	OK                 bool
	Answer             string
	Took               time.Duration
}

// testReceiver answers "POST /api/<kind>/<uuid>/test": it sends a notice now, and says what became of it.
func testReceiver(c *call) error {
	kind, _ := schema.Lookup(c.path[1])
	var name string
	err := c.api.gate.Act(c.r.Context(), c.write(kind), c.path[2], "test",
		func(_ *admit.Tx, object *store.Record) error {
			name = object.Name
			return nil
		})
	if err != nil {
		return err
	}
	results, ok := []any{}, true
	for _, tested := range c.api.tester(c.r.Context(), kind.Name, c.path[2], c.who.Name) {
		ok = ok && tested.OK
		results = append(results, schema.Object{"action": tested.Action, "uuid": tested.UUID, "name": tested.Name,
			"ok": tested.OK, "answer": tested.Answer, "took_ms": tested.Took.Milliseconds()})
	}
	if len(results) == 0 {
		return &schema.FieldError{Kind: kind.Name, Problem: name +
			" sends nothing: give it a webhook, addresses or a " +
			"syslog server"}
	}
	return c.reply(http.StatusOK, schema.Object{"ok": ok, "results": results})
}

// silencesMost bounds the silences of a rule. Those that are over make room.
const silencesMost = 100

// minutesMost are those of a year.
const minutesMost = 60 * 24 * 366

// silenceAlerts answers "POST /api/alertconfig/<uuid>/silence" with {"until" or "minutes", "why", "obj_uuid"}: until
// then, alerts of the rule are listed and not sent.
func silenceAlerts(c *call) error {
	kind, _ := schema.Lookup(c.path[1])
	sent, err := c.object("silence")
	if err != nil {
		return err
	}
	silence, err := c.silence(sent)
	if err != nil {
		return err
	}
	record, err := c.api.gate.Change(c.r.Context(), c.write(kind), c.path[2],
		func(stored schema.Object) (schema.Object, error) {
			stored["weir_silences"] = append(c.lasting(stored), silence)
			return stored, nil
		})
	if err != nil {
		return err
	}
	return c.written(http.StatusOK, kind, record, record.Object)
}

func (c *call) silence(sent schema.Object) (schema.Object, error) {
	for name := range sent {
		switch name {
		case "until", "minutes", "why", "obj_uuid":
		default:
			return nil, &schema.FieldError{Kind: "silence", Field: name,
				Problem: "is no part of a silence, which has " +
					"until or minutes, why and obj_uuid"}
		}
	}
	silence := schema.Object{"by": c.who.Name, "why": fieldText(sent, "why")}
	if silence["why"] == "" {
		return nil, &schema.FieldError{Kind: "silence", Field: "why", Problem: "is required: others will ask"}
	}
	if object := fieldText(sent, "obj_uuid"); object != "" {
		silence["obj_uuid"] = object
	}
	until := fieldText(sent, "until")
	if given := sent["minutes"]; given != nil && until == "" {
		minutes, err := whole(fmt.Sprint(given), "minutes", 0)
		if err != nil || minutes > minutesMost {
			return nil, &schema.FieldError{Kind: "silence", Field: "minutes",
				Problem: fmt.Sprintf("%v is out of range; give 1 to %d", given, minutesMost)}
		}
		until = c.api.now().Add(time.Duration(minutes) * time.Minute).UTC().Format(time.RFC3339)
	}
	at, err := time.Parse(time.RFC3339, until)
	if err != nil || !at.After(c.api.now()) {
		return nil, &schema.FieldError{Kind: "silence", Field: "until",
			Problem: schema.Show(until) + " is no time to come: give one as 2026-11-27T08:00:00Z, or minutes"}
	}
	silence["until"] = until
	return silence, nil
}

// lasting are the silences of a rule that are not over, without the oldest if there are too many.
func (c *call) lasting(rule schema.Object) (left []any) {
	all, _ := rule["weir_silences"].([]any)
	for _, item := range all {
		silence, _ := item.(schema.Object)
		if until, err := time.Parse(time.RFC3339, fieldText(silence, "until")); err == nil && until.After(c.api.now()) {
			left = append(left, item)
		}
	}
	return left[max(0, len(left)-silencesMost+1):]
}
