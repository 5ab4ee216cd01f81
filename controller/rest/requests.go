package rest

import (
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/logs/query"
)

// Requests is what engines have told of requests and connections beside their records.
type Requests interface {
	// Unrecorded is how many no record stands for yet, of some virtual services.
	Unrecorded(visible func(service string) bool) uint64
}

// unrecorded is how many requests and connections no record stands for yet, of a virtual service, or of all that the
// tenant has.
func (c *call) unrecorded(service string) uint64 {
	if c.api.requests == nil {
		return 0
	}
	return c.api.requests.Unrecorded(func(uuid string) bool {
		found, exists := c.view.Get("virtualservice", uuid)
		return (service == "" || service == uuid) && (c.tenant.All || exists && found.Tenant == c.tenant.UUID)
	})
}

// showRequests lists records of requests or connections: of one virtual service, or of all that the tenant has.
func (c *call) showRequests(kind string) error {
	if c.api.logs == nil {
		return &badQuery{"type", "this controller keeps no records of requests: it runs with --logs memory"}
	}
	service, err := c.loggedObject()
	if err != nil {
		return err
	}
	var where []query.Expr
	if service != "" {
		where = append(where, query.Compare("virtualservice", query.Eq, service))
	}
	classes, err := c.classes()
	if err != nil {
		return err
	}
	if classes != nil {
		where = append(where, *classes)
	}
	return c.showRecords(records{
		kind: kind, time: "report_timestamp", pageSize: defaultPageSize,
		also:  []string{"type", "virtualservice", "adf", "udf", "nf", "js_compat"},
		scope: query.Scope{All: c.tenant.All, Tenant: c.tenant.UUID},
		where: where, layout: requestTime, shaped: c.shapeRequest, translate: query.OfRequests,
		unrecorded: func() uint64 { return c.unrecorded(service) },
	})
}

// requestTime is how Avi writes times of logs.
const requestTime = "2006-01-02T15:04:05.000000-07:00"

// classes is the condition for the classes that a client wants: adf are significant records, udf those that a filter of
// the virtual service wants, nf all others. Without any of these parameters it wants all. If one is given, the others
// have Avi's defaults: adf is true, udf and nf are false.
func (c *call) classes() (*query.Expr, error) {
	wanted, given := map[string]bool{"adf": true}, false
	for _, name := range []string{"adf", "udf", "nf"} {
		text := c.query.Get(name)
		if text == "" {
			continue
		}
		is, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return nil, &badQuery{name, "give true or false"}
		}
		wanted[name], given = is, true
	}
	if !given || wanted["adf"] && wanted["udf"] && wanted["nf"] {
		return nil, nil
	}
	var any []query.Expr
	if wanted["adf"] {
		any = append(any, query.Compare("class", query.Eq, query.Significant))
	}
	if wanted["udf"] {
		any = append(any, query.Compare("class", query.Eq, query.Filtered), query.Compare("udf", query.Eq, query.True))
	}
	if wanted["nf"] {
		any = append(any, query.Compare("class", query.Eq, query.Every))
	}
	if any == nil {
		return nil, &badQuery{"adf", "without adf, udf and nf no record is left"}
	}
	return &query.Expr{Or: any}, nil
}

// shapeRequest is a record as clients read it: numbers as numbers, and no field without a value.
func (c *call) shapeRequest(of records, row query.Row) schema.Object {
	fields := query.Types[of.kind]
	object := schema.Object{of.time: of.stamp(row.Time), "adf": row.Fields["class"] == query.Significant}
	for name, value := range row.Fields {
		switch {
		case fields[name] == query.Boolean:
			object[name] = value == query.True
		case fields[name] == query.Number:
			object[name] = c.number(name, value)
		case fields[name] == query.Words:
			object[name] = strings.Fields(value)
		default:
			object[name] = value
		}
	}
	return object
}

// number is a number as a client reads it. Languages that only have floats read large ones as text, if they say so, and
// so log_id, as the numbers of records can be large.
func (c *call) number(name, text string) any {
	const exact = 1 << 53
	whole, err := strconv.ParseInt(text, 10, 64)
	switch {
	case name == "log_id" && strings.EqualFold(c.query.Get("js_compat"), "true"):
		return text
	case err != nil:
		float, _ := strconv.ParseFloat(text, 64) // the store holds plain numbers only
		return float
	case whole > exact && strings.EqualFold(c.query.Get("js_compat"), "true"):
		return text
	}
	return whole
}

// stamp writes the time of a row.
func (of records) stamp(at time.Time) string {
	if of.layout == "" {
		return at.UTC().Format(time.RFC3339Nano)
	}
	return at.UTC().Format(of.layout)
}
