package rest

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/query"
	logtext "github.com/weir-lb/weir/logs/text"
)

// Logs is the record store.
type Logs interface {
	// Ask answers a query. Errors: *query.Error, logs.ErrBusy, *logs.Unavailable.
	Ask(context.Context, query.Query) (query.Answer, error)
	Status() logs.Status
	// Kept is how long rows are kept.
	Kept() time.Duration
}

// records is a type of records that a path shows. What it lists comes from the record store. A controller without one,
// or a client that wants no other source, reads the newest records from memory.
type records struct {
	kind     string       // of query.Types
	time     string       // the name of the field with the time of a record
	pageSize int          // unless the client chooses
	optional []string     // fields that are left out where they are empty
	also     []string     // parameters of this path that are in where
	scope    query.Scope  // what the caller may see
	where    []query.Expr // what the path itself asks for
	recent   func() []query.Row
}

// showRecords answers a query about records.
func (c *call) showRecords(of records) error {
	asked, err := c.parseRecords(of)
	if err != nil {
		return err
	}
	checked, err := asked.query.Check()
	if err != nil {
		return err
	}
	var answer query.Answer
	if asked.memory {
		answer, err = answerFromMemory(checked, of.recent())
	} else {
		answer, err = c.api.logs.Ask(c.r.Context(), checked)
	}
	if err != nil {
		return err
	}
	results := asked.results(of, answer)
	if asked.csv {
		return c.replyCSV(of, asked, results)
	}
	whole := schema.Object{"count": answer.Count, "results": results, "percent_remaining": answer.PercentRemaining,
		"source": asked.source()}
	if asked.query.Rows != nil && asked.page.hasNext(int(answer.Count)) {
		whole["next"] = c.origin() + c.r.URL.Path + "?" + asked.page.next(c.query).Encode()
	}
	if !asked.memory {
		if missing := missingFrom(c.api.logs.Status()); missing != nil {
			whole["missing"] = missing
		}
	}
	return c.reply(http.StatusOK, whole)
}

// missingFrom says what the store does not have yet, or never will; nil: nothing.
func missingFrom(status logs.Status) schema.Object {
	missing := schema.Object{}
	if status.Full != "" {
		missing["reason"] = status.Full
	}
	for name, count := range map[string]uint64{"waiting": uint64(status.Waiting), "lost": status.Lost,
		"refused": status.Refused} {
		if count > 0 {
			missing[name] = int64(count)
		}
	}
	if len(missing) == 0 || len(missing) == 1 && missing["waiting"] != nil {
		return nil // rows that wait come with the next query
	}
	return missing
}

// results are the lines of an answer, as clients read them.
func (a asking) results(of records, answer query.Answer) []schema.Object {
	results := []schema.Object{}
	for _, row := range answer.Rows {
		results = append(results, of.shape(row))
	}
	for _, group := range answer.Groups {
		line := schema.Object{"count": int64(group.Rows)}
		for n, name := range a.query.Groups.By {
			line[name] = group.Values[n]
		}
		for n, name := range a.columns {
			line[name] = nil
			if value := group.Aggregates[n]; value != nil {
				line[name] = *value
			}
		}
		results = append(results, line)
	}
	for _, bucket := range answer.Buckets {
		results = append(results, schema.Object{"start": bucket.Start.UTC().Format(time.RFC3339),
			"end":   bucket.Start.Add(a.query.Histogram.Step).UTC().Format(time.RFC3339),
			"value": int64(bucket.Rows)})
	}
	return results
}

// shape is a row as clients read it: all fields, and the time.
func (of records) shape(row query.Row) schema.Object {
	object := schema.Object{of.time: row.Time.UTC().Format(time.RFC3339Nano)}
	for name := range query.Types[of.kind] {
		value := row.Fields[name]
		switch {
		case value == "" && slices.Contains(of.optional, name):
		case slices.Contains(nested, name) && json.Valid([]byte(value)):
			object[name] = json.RawMessage(value)
		default:
			object[name] = value
		}
	}
	return object
}

// nested are fields whose value is JSON.
var nested = []string{"related_uuids", "old", "new"}

// rowOf makes a row of an entry in memory.
func rowOf(at time.Time, fields iter.Seq2[string, string]) query.Row {
	row := query.Row{Time: at, Fields: maps.Collect(fields)}
	for name, value := range row.Fields {
		row.Fields[name] = logtext.Encode(value)
	}
	return row
}

// answerFromMemory evaluates a query over rows, newest first.
func answerFromMemory(q query.Query, rows []query.Row) (query.Answer, error) {
	if q.Rows == nil || q.Rows.OrderBy != "" {
		return query.Answer{}, &badQuery{"source",
			"memory lists records by time: it does not group them, sort them or count them by time"}
	}
	var found []query.Row
	for _, row := range rows {
		if !row.Time.Before(q.From) && row.Time.Before(q.To) &&
			q.Where.Match(func(field string) string { return row.Fields[field] }) {
			found = append(found, row)
		}
	}
	if q.Rows.Oldest {
		slices.Reverse(found)
	}
	first := min(q.Rows.Offset, len(found))
	last := min(first+q.Rows.Limit, len(found))
	return query.Answer{Rows: found[first:last], Count: uint64(len(found))}, nil
}
