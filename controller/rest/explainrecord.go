package rest

import (
	"net/http"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/story"
	logtext "github.com/weir-lb/weir/logs/text"
)

// explainRecord tells one request or connection: "GET /api/weir/explain/<request_id>".
func explainRecord(c *call) error {
	id := c.path[3]
	if c.api.logs == nil {
		return &admit.NotFound{Title: "Record " + id}
	}
	for _, kind := range []string{query.Requests, query.Connections} {
		row, err := c.recordOf(kind, id)
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

// recordOf finds the record with an id that the tenant may see; nil: there is none.
func (c *call) recordOf(kind, id string) (*query.Row, error) {
	where := query.Compare("request_id", query.Eq, id)
	const ahead = 2 * time.Hour // engines' clocks may be ahead
	asked := query.Query{
		Type: kind, Scope: query.Scope{All: c.tenant.All, Tenant: c.tenant.UUID}, Where: &where,
		From: c.api.now().Add(-c.api.logs.Kept(kind)), To: c.api.now().Add(ahead),
		Rows: &query.Rows{Limit: 1},
	}
	answer, err := c.api.logs.Ask(c.r.Context(), asked)
	if err != nil || len(answer.Rows) == 0 {
		return nil, err
	}
	return &answer.Rows[0], nil
}
