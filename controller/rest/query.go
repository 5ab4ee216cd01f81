package rest

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
)

const (
	defaultPageSize = 25
	maxPageSize     = 1000
)

// badQuery says which parameter is invalid, and why.
type badQuery struct{ parameter, problem string }

func (e *badQuery) Error() string {
	return fmt.Sprintf("query parameter %s: %s", e.parameter, e.problem)
}

// parseQuery accepts common mistakes of clients: empty pairs, a stray '?', names that are not escaped.
func parseQuery(raw string) (url.Values, error) {
	values := url.Values{}
	for pair := range strings.SplitSeq(strings.Trim(raw, "?&"), "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name == "" {
			continue
		}
		values.Add(unescape(name), unescape(value))
	}
	const maxParameters = 100
	if len(values) > maxParameters {
		return nil, &badQuery{"count", fmt.Sprintf("there are %d parameters; give at most %d",
			len(values), maxParameters)}
	}
	return values, nil
}

func unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// flag tells whether a parameter is on: present, and not "false" or "0".
func flag(query url.Values, name string) bool {
	if !query.Has(name) {
		return false
	}
	switch strings.ToLower(query.Get(name)) {
	case "false", "0", "no":
		return false
	}
	return true
}

// page is the wanted part of a list. Pages count from 1.
type page struct{ number, size int }

func parsePage(query url.Values) (page, error) {
	return pageWithin(query, defaultPageSize, maxPageSize)
}

func pageWithin(query url.Values, size, most int) (page, error) {
	number, err := positive(query, "page", 1, math.MaxInt32)
	if err != nil {
		return page{}, err
	}
	size, err = positive(query, "page_size", size, most)
	return page{number, size}, err
}

func positive(query url.Values, name string, otherwise, most int) (int, error) {
	text := query.Get(name)
	if text == "" {
		return otherwise, nil
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 {
		return 0, &badQuery{name, fmt.Sprintf("%q is not a whole number above 0", text)}
	}
	return min(value, most), nil
}

func (p page) hasNext(total int) bool { return p.number*p.size < total }

func (p page) next(query url.Values) url.Values {
	query.Set("page", strconv.Itoa(p.number+1))
	return query
}

func (p page) bounds(total int) (from, to int) {
	from = min((p.number-1)*p.size, total)
	return from, min(from+p.size, total)
}
