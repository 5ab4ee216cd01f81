package rest

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
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
	// Kept is how long rows of a type are kept.
	Kept(kind string) time.Duration
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

	unrecorded func() uint64 // what no record stands for yet; nil: records stand for nothing

	layout    string                                 // of times; empty: RFC 3339
	shaped    func(records, query.Row) schema.Object // a row as clients read it; nil: shape
	translate func(query.Expr) query.Expr            // what a client's condition means; nil: what it says
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
	more := asked.cutGroups(&answer)
	results := asked.results(of, answer)
	if asked.csv {
		return c.replyCSV(of, asked, results)
	}
	whole := schema.Object{"count": answer.Count, "results": results, "percent_remaining": answer.PercentRemaining,
		"source": asked.source()}
	if of.unrecorded != nil {
		whole["unrecorded"] = of.unrecorded()
		if asked.query.Rows != nil {
			whole["weight"] = answer.Weight
		}
	}
	if more || asked.query.Rows != nil && asked.page.hasNext(int(answer.Count)) {
		whole["next"] = c.origin() + c.r.URL.Path + "?" + asked.page.next(c.query).Encode()
	}
	if !asked.memory {
		if missing := missingFrom(c.statusOf(of)); missing != nil {
			whole["missing"] = missing
		}
	}
	return c.reply(http.StatusOK, whole)
}

// cutGroups leaves the groups of the page, and tells whether there are more. The count is that of all groups that were
// read, up to groupsCounted, and of those before the page.
func (a asking) cutGroups(answer *query.Answer) (more bool) {
	if a.query.Groups == nil {
		return false
	}
	if len(answer.Groups) > 0 {
		answer.Count = uint64(a.query.Groups.Offset + len(answer.Groups))
	}
	more = len(answer.Groups) > a.page.size
	answer.Groups = answer.Groups[:min(len(answer.Groups), a.page.size)]
	return more
}

// statusOf is how the store is for a type of records.
func (c *call) statusOf(of records) logs.Status {
	status := c.api.logs.Status()
	if of.kind == query.Requests || of.kind == query.Connections {
		// What waits, and what was lost, are events and audit entries.
		return logs.Status{Full: status.NoRequests}
	}
	return status
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
		results = append(results, a.only(of, of.read(row)))
	}
	for _, group := range answer.Groups {
		line := schema.Object{"count": int64(group.Rows)}
		a.addTo(line, of, a.query.Groups.By, group.Values, group.Aggregates)
		results = append(results, line)
	}
	for _, bucket := range answer.Buckets {
		line := schema.Object{"start": bucket.Start.UTC().Format(time.RFC3339),
			"end":   bucket.Start.Add(a.query.Histogram.Step).UTC().Format(time.RFC3339),
			"value": int64(bucket.Rows)}
		a.addTo(line, of, a.query.Histogram.By, bucket.Values, bucket.Aggregates)
		results = append(results, line)
	}
	for _, facet := range answer.Facets {
		results = append(results, facetOf(of, facet))
	}
	return results
}

// facetOf is a field with its most frequent values, as clients read it.
func facetOf(of records, facet query.Facet) schema.Object {
	values := []schema.Object{}
	for _, value := range facet.Values {
		values = append(values, schema.Object{"value": groupValue(of, facet.Field, value.Value),
			"count": int64(value.Rows), "weight": int64(value.Weight)})
	}
	return schema.Object{"field": facet.Field, "values": values, "too_many": facet.TooMany}
}

// addTo adds the values and the aggregates of a group to a line.
func (a asking) addTo(line schema.Object, of records, by, values []string, aggregates []*float64) {
	for n, name := range by {
		line[name] = groupValue(of, name, values[n])
	}
	for n, name := range a.columns {
		line[name] = nil
		if value := aggregates[n]; value != nil {
			line[name] = *value
		}
	}
}

// groupValue is what the rows of a group have in common, as clients read it.
func groupValue(of records, name, value string) any {
	if of.shaped == nil {
		return value
	}
	switch query.Types[of.kind][name] {
	case query.Boolean:
		return value == query.True
	case query.Number:
		if whole, err := strconv.ParseInt(value, 10, 64); err == nil {
			return whole
		}
	}
	return value
}

// only leaves the columns that the client wants.
func (a asking) only(of records, whole schema.Object) schema.Object {
	if a.fields == nil {
		return whole
	}
	part := schema.Object{of.time: whole[of.time]}
	for _, name := range a.fields {
		if value, has := whole[name]; has {
			part[name] = value
		}
	}
	return part
}

func (of records) read(row query.Row) schema.Object {
	if of.shaped != nil {
		return of.shaped(of, row)
	}
	return of.shape(row)
}

// shape is a row as clients read it: all fields, and the time.
func (of records) shape(row query.Row) schema.Object {
	object := schema.Object{of.time: of.stamp(row.Time)}
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
