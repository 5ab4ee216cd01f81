package query

import "time"

// Answer is what a query found.
type Answer struct {
	Rows    []Row    `json:"rows,omitempty"`
	Groups  []Group  `json:"groups,omitempty"`  // of Groups and Values
	Buckets []Bucket `json:"buckets,omitempty"` // of Histogram: those with rows, the earliest first
	Facets  []Facet  `json:"facets,omitempty"`  // in the order of Facets.Fields

	// Count is the number of rows that match, if Rows.Count asked for it, or else the number of results.
	Count uint64 `json:"count"`
	// Weight is what the weights of the rows in Count add up to, if they have weights.
	Weight uint64 `json:"weight,omitempty"`
	// PercentRemaining is the part of the range of time that was not read, because the time was up. Everything in the
	// answer is of the part that was read, which is the newest.
	PercentRemaining float64 `json:"percent_remaining"`
}

// Row is one row, with values as text.Encode writes them.
type Row struct {
	Time   time.Time         `json:"time"`
	Fields map[string]string `json:"fields"`
}

// Group is one combination of values, and what its rows add up to.
type Group struct {
	Values     []string   `json:"values"` // in the order of Groups.By
	Rows       uint64     `json:"rows"`
	Aggregates []*float64 `json:"aggregates,omitempty"` // nil: no row has a number there
}

// Bucket is one step of time, and one combination of values in it.
type Bucket struct {
	Start      time.Time  `json:"start"`
	Values     []string   `json:"values,omitempty"` // in the order of Histogram.By
	Rows       uint64     `json:"rows"`
	Aggregates []*float64 `json:"aggregates,omitempty"` // nil: no row has a number there
}
