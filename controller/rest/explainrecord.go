package rest

import (
	"errors"
	"net/http"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/story"
	logtext "github.com/weir-lb/weir/logs/text"
)

// errNotReached: the time was up before the record was found.
var errNotReached = errors.New(
	"The record store has not looked through all that it keeps in time: try again, or give " +
		"start and end around the time of the record")

// explainRecord tells one request or connection: "GET /api/weir/explain/<request_id>". With type (1: requests,
// 0: connections), start and end it looks only there, which is quicker.
func explainRecord(c *call) error {
	kinds, span, err := c.whereToLook()
	if err != nil {
		return err
	}
	id := c.path[3]
	if c.api.logs == nil {
		return &admit.NotFound{Title: "Record " + id}
	}
	for _, kind := range kinds {
		row, err := c.recordOf(kind, id, span)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		of := records{kind: kind, time: "report_timestamp", layout: requestTime}
		plain := map[string]string{}
		for name, value := range row.Fields {
			plain[name] = logtext.Decode(value)
		}
		stages := story.Tell(kind, plain)
		for i := range stages {
			stages[i].Text = logtext.Encode(stages[i].Text)
		}
		return c.reply(http.StatusOK, schema.Object{
			"request_id": id, "type": kind, "stages": stages, "record": c.shapeRequest(of, *row),
		})
	}
	return &admit.NotFound{Title: "Record " + id}
}

// whereToLook reads type, start and end.
func (c *call) whereToLook() (kinds []string, span asking, err error) {
	for name := range c.query {
		switch name {
		case "type", "start", "end":
		default:
			return nil, span, &badQuery{name, "is unknown; give type, start or end"}
		}
	}
	switch c.query.Get("type") {
	case "":
		kinds = []string{query.Requests, query.Connections}
	case requestLogs:
		kinds = []string{query.Requests}
	case connectionLogs:
		kinds = []string{query.Connections}
	default:
		return nil, span, &badQuery{"type", "give 1 for requests or 0 for connections"}
	}
	span.memory = c.api.logs == nil
	return kinds, span, c.parseSpan(records{kind: kinds[0]}, &span)
}

// recordOf finds the record with an id that the tenant may see; nil: there is none.
func (c *call) recordOf(kind, id string, span asking) (*query.Row, error) {
	where := query.Compare("request_id", query.Eq, id)
	const patience = 30 * time.Second // what is old is found last
	asked, err := query.Query{
		Type: kind, Scope: query.Scope{All: c.tenant.All, Tenant: c.tenant.UUID}, Where: &where,
		From: span.query.From, To: span.query.To, Timeout: patience, Rows: &query.Rows{Limit: 1},
	}.Check()
	if err != nil {
		return nil, err
	}
	answer, err := c.api.logs.Ask(c.r.Context(), asked)
	switch {
	case err != nil:
		return nil, err
	case len(answer.Rows) > 0:
		return &answer.Rows[0], nil
	case answer.PercentRemaining > 0:
		return nil, errNotReached
	}
	return nil, nil
}
