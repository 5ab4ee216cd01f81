package rest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/logs/query"
)

// asking is a query about records, and the form of its answer.
type asking struct {
	query   query.Query
	page    page
	columns []string // names of the aggregates
	fields  []string // those that the client wants of each row; nil: all
	csv     bool
	memory  bool // ask the memory of the controller, not the store
}

func (a asking) source() string {
	if a.memory {
		return sourceMemory
	}
	return sourceStore
}

const (
	sourceMemory = "memory"
	sourceStore  = "store"
)

// recordParameters are all parameters that lists of records know. Avi's clients send those of classes of requests, of
// forms and of caches with every query; they mean nothing for events.
var (
	recordParameters = []string{"page", "page_size", "start", "end", "duration", "filter", "orderby", "groupby", "cols",
		"step", "facets", "timeout", "format", "source"}
	meaningless = []string{"adf", "udf", "nf", "download", "query_id", "js_compat", "tenant", "tenant_name", "_"}
)

func (c *call) parseRecords(of records) (asked asking, err error) {
	for name := range c.query {
		if !slices.Contains(recordParameters, name) && !slices.Contains(meaningless, name) &&
			!slices.Contains(of.also, name) {
			return asked, &badQuery{name, "lists of records have no such parameter: there are " +
				strings.Join(append(slices.Clone(of.also), recordParameters...), ", ")}
		}
	}
	if asked.memory, err = c.fromMemory(); err != nil {
		return asked, err
	}
	if asked.csv, err = c.wantsCSV(); err != nil {
		return asked, err
	}
	if asked.page, err = pageWithin(c.query, of.pageSize, maxLogPageSize); err != nil {
		return asked, err
	}
	asked.query = query.Query{Type: of.kind, Scope: of.scope}
	if err = c.parseSpan(of, &asked); err != nil {
		return asked, err
	}
	where := slices.Clone(of.where)
	for _, text := range c.query["filter"] {
		condition, err := query.Parse(text)
		if err != nil {
			return asked, err
		}
		if of.translate != nil {
			condition = of.translate(condition)
		}
		where = append(where, condition)
	}
	asked.query.Where = query.All(where...)
	return asked, c.parseForm(of, &asked)
}

// fromMemory tells whether to ask the memory of the controller.
func (c *call) fromMemory() (bool, error) {
	switch source := c.query.Get("source"); {
	case source == sourceMemory, source == "" && c.api.logs == nil:
		return true, nil
	case source == sourceStore && c.api.logs == nil:
		return false, &badQuery{"source", "this controller keeps no record store"}
	case source == "", source == sourceStore:
		return false, nil
	}
	return false, &badQuery{"source", "give store or memory"}
}

func (c *call) wantsCSV() (bool, error) {
	switch c.query.Get("format") {
	case "", "json":
		return false, nil
	case "csv":
		return true, nil
	}
	return false, &badQuery{"format", "give json or csv"}
}

// parseSpan reads start, end, duration and timeout. Without a start, the range begins with the oldest row.
func (c *call) parseSpan(of records, asked *asking) error {
	const ahead = 2 * time.Hour // rows may be of clocks that are ahead
	q := &asked.query
	q.To, q.From = c.api.now().Add(ahead), time.Unix(0, 0)
	if !asked.memory {
		q.From = c.api.now().Add(-c.api.logs.Kept(of.kind))
	}
	for name, into := range map[string]*time.Time{"start": &q.From, "end": &q.To} {
		if given := c.query.Get(name); given != "" {
			at, err := time.Parse(time.RFC3339, given)
			if err != nil {
				return &badQuery{name, fmt.Sprintf("%q is no time: write it as 2026-11-24T09:30:00Z", given)}
			}
			*into = at
		}
	}
	if c.query.Has("duration") {
		seconds, err := positive(c.query, "duration", 0, 10*366*24*3600)
		if err != nil {
			return err
		}
		if c.query.Has("start") {
			return &badQuery{"duration", "give start or duration: the duration ends with the range"}
		}
		if !c.query.Has("end") {
			q.To = c.api.now()
		}
		q.From = q.To.Add(-time.Duration(seconds) * time.Second)
		if !c.query.Has("end") {
			q.To = q.To.Add(ahead)
		}
	}
	seconds, err := positive(c.query, "timeout", 0, int(query.MaxTimeout/time.Second))
	q.Timeout = time.Duration(seconds) * time.Second
	return err
}

// parseForm reads what to make of the rows: a list, groups, or a histogram.
func (c *call) parseForm(of records, asked *asking) (err error) {
	offset, order := (asked.page.number-1)*asked.page.size, c.query.Get("orderby")
	switch {
	case c.query.Has("facets"):
		return c.parseFacets(asked, order)
	case c.query.Has("step"):
		return c.parseHistogram(asked, order)
	case c.query.Has("groupby"), strings.Contains(c.query.Get("cols"), "("):
		return c.parseGroups(asked, offset, order)
	}
	if asked.fields, err = c.parseFields(of); err != nil {
		return err
	}
	field, descending := strings.CutPrefix(order, "-")
	rows := &query.Rows{Offset: offset, Limit: asked.page.size, Count: true, Oldest: order != "" && !descending}
	if field != of.time {
		rows.OrderBy = field
	}
	asked.query.Rows = rows
	return nil
}

// parseFields reads cols=field,field of a list.
func (c *call) parseFields(of records) (wanted []string, err error) {
	for name := range strings.SplitSeq(c.query.Get("cols"), ",") {
		if name == "" || name == of.time {
			continue
		}
		if _, known := query.Types[of.kind][name]; !known {
			return nil, &badQuery{"cols", fmt.Sprintf("there is no field %q; with groupby or step, write sum(field), "+
				"avg, min, max, or p99(field)", name)}
		}
		wanted = append(wanted, name)
	}
	return wanted, nil
}

func (c *call) parseHistogram(asked *asking, order string) error {
	if order != "" {
		return &badQuery{"step", "a histogram has no order"}
	}
	seconds, err := positive(c.query, "step", 0, 366*24*3600)
	if err != nil {
		return err
	}
	histogram := &query.Histogram{Step: time.Duration(seconds) * time.Second, By: c.groupedBy()}
	histogram.Aggregates, asked.columns, err = c.parseAggregates()
	asked.query.Histogram = histogram
	return err
}

// parseFacets reads facets=field,field.
func (c *call) parseFacets(asked *asking, order string) error {
	for _, other := range []string{"step", "groupby", "cols", "page"} {
		if c.query.Has(other) {
			return &badQuery{other, "facets are the most frequent values of fields: " + other +
				" says nothing about them"}
		}
	}
	if order != "" || asked.csv {
		return &badQuery{"facets", "they are in the order of their weight, and in JSON alone"}
	}
	asked.query.Facets = &query.Facets{Fields: strings.Split(c.query.Get("facets"), ","), Limit: asked.page.size}
	return nil
}

func (c *call) groupedBy() []string {
	if !c.query.Has("groupby") {
		return nil
	}
	return strings.Split(c.query.Get("groupby"), ",")
}

var aggregate = regexp.MustCompile(`^(?:(sum|avg|min|max)|p([0-9]{1,2}(?:\.[0-9]{1,3})?))\(([a-z0-9_]+)\)$`)

// parseAggregates reads cols=sum(field),p99(field).
func (c *call) parseAggregates() (aggregates []query.Aggregate, columns []string, err error) {
	for column := range strings.SplitSeq(c.query.Get("cols"), ",") {
		if column == "" {
			continue
		}
		parts := aggregate.FindStringSubmatch(column)
		if parts == nil {
			return nil, nil, &badQuery{"cols", fmt.Sprintf("%q: write sum(field), avg, min, max, or p99(field)",
				column)}
		}
		one := query.Aggregate{Function: parts[1], Field: parts[3]}
		if parts[2] != "" {
			percent, err := strconv.ParseFloat(parts[2], 64)
			if err != nil {
				return nil, nil, &badQuery{"cols", err.Error()}
			}
			one.Function, one.Phi = "quantile", percent/100
		}
		aggregates, columns = append(aggregates, one), append(columns, column)
	}
	return aggregates, columns, nil
}

// groupsCounted is up to how many groups a page tells how many there are. Beyond that, it knows that there are more.
const groupsCounted = 1000

// parseGroups reads groupby=field,field with cols, and orderby=-count.
func (c *call) parseGroups(asked *asking, offset int, order string) (err error) {
	groups := &query.Groups{By: c.groupedBy(), Offset: offset,
		Limit: min(query.MaxRows, max(asked.page.size+1, groupsCounted-offset))}
	if groups.Aggregates, asked.columns, err = c.parseAggregates(); err != nil {
		return err
	}
	asked.query.Groups = groups
	field, descending := strings.CutPrefix(order, "-")
	if field == "" {
		return nil
	}
	groups.Ascending = !descending
	if field == "count" {
		return nil
	}
	if groups.OrderBy = slices.Index(asked.columns, field) + 1; groups.OrderBy == 0 {
		return &badQuery{"orderby", "groups are in the order of count, or of one of cols"}
	}
	return nil
}
