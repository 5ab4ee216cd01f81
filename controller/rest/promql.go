package rest

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
)

// This file has the HTTP API of Prometheus, as Grafana and Prometheus' own client use it. A query sees the series of
// the tenant that the request is in.

// sight is what the user may see of the series.
func (c *call) sight() series.Sight {
	open := c.measuredKinds()
	if len(open) == len(series.Kinds) {
		open = nil
	}
	return series.Sight{Tenant: ownTenant(c.tenant), Kinds: open}
}

// form is the query of a request, and the form in its body.
func (c *call) form() (url.Values, error) {
	if c.r.Method != http.MethodPost {
		return c.query, nil
	}
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, &badQuery{"body", "is no form: " + err.Error()}
	}
	for name, values := range c.query {
		form[name] = append(form[name], values...)
	}
	return form, nil
}

func queryPromQL(c *call) error {
	form, err := c.form()
	if err != nil {
		return err
	}
	at, err := promTime(form, "time", c.api.now())
	if err != nil {
		return err
	}
	return c.askPromQL(form, series.Query{Start: at, Stop: at})
}

func queryRange(c *call) error {
	form, err := c.form()
	if err != nil {
		return err
	}
	var query series.Query
	if query.Start, err = promTime(form, "start", time.Time{}); err != nil {
		return err
	}
	if query.Stop, err = promTime(form, "end", time.Time{}); err != nil {
		return err
	}
	if query.Step, err = promDuration(form, "step", 0); err != nil {
		return err
	}
	if query.Step < time.Millisecond {
		return &badQuery{"step", "give a time of at least 1 ms"}
	}
	return c.askPromQL(form, query)
}

func (c *call) askPromQL(form url.Values, query series.Query) (err error) {
	if query.Text, query.Sight = form.Get("query"), c.sight(); query.Text == "" {
		return &badQuery{"query", "give a query in PromQL"}
	}
	if query.Timeout, err = promDuration(form, "timeout", 0); err != nil {
		return err
	}
	found, err := c.api.metrics.Query(c.r.Context(), query)
	return c.replyPromQL(found, err)
}

func promqlLabels(c *call) error {
	selection, err := c.selection()
	if err != nil {
		return err
	}
	found, err := c.api.metrics.LabelNames(c.r.Context(), selection)
	return c.replyPromQL(found, err)
}

func promqlLabelValues(c *call) error {
	selection, err := c.selection()
	if err != nil {
		return err
	}
	found, err := c.api.metrics.LabelValues(c.r.Context(), c.path[6], selection)
	return c.replyPromQL(found, err)
}

func promqlSeries(c *call) error {
	selection, err := c.selection()
	if err != nil {
		return err
	}
	found, err := c.api.metrics.Series(c.r.Context(), selection)
	return c.replyPromQL(found, err)
}

func promqlMetadata(c *call) error {
	found, err := c.api.metrics.Metadata(c.query.Get("metric"))
	return c.replyPromQL(found, err)
}

// promqlBuild says whose PromQL this is. Grafana asks for it to know what it can query.
func promqlBuild(c *call) error {
	data, err := json.Marshal(map[string]string{"version": c.api.metrics.Language(),
		"revision": "weir " + c.api.cluster.version, "branch": "", "buildUser": "", "buildDate": "",
		"goVersion": runtime.Version()})
	return c.replyPromQL(series.Found{Data: data}, err)
}

func promqlExemplars(*call) error {
	return &series.Refusal{Parameter: "query_exemplars", Problem: "Weir keeps no exemplars: switch them off in the " +
		"data source. Requests themselves are in /api/analytics/logs"}
}

// selectedBefore is how far back a selection goes that names no start.
const selectedBefore = 12 * time.Hour

func (c *call) selection() (selection series.Selection, err error) {
	form, err := c.form()
	if err != nil {
		return selection, err
	}
	now := c.api.now()
	selection = series.Selection{Matches: form["match[]"], Sight: c.sight()}
	if selection.Start, err = promTime(form, "start", now.Add(-selectedBefore)); err != nil {
		return selection, err
	}
	if selection.Stop, err = promTime(form, "end", now); err != nil {
		return selection, err
	}
	if limit := form.Get("limit"); limit != "" && limit != "0" {
		selection.Limit, err = whole(limit, "limit", 0)
	}
	return selection, err
}

func (c *call) replyPromQL(found series.Found, err error) error {
	if err != nil {
		return err
	}
	answer, err := json.Marshal(struct {
		Status   string          `json:"status"`
		Data     json.RawMessage `json:"data"`
		Warnings []string        `json:"warnings,omitempty"`
	}{"success", found.Data, found.Warnings})
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "no-store")
	c.send(http.StatusOK, answer)
	return nil
}

// promFailure is the body of an answer with an error, as Prometheus' clients read it.
func promFailure(status int, text string) schema.Object {
	kind := "internal"
	switch status {
	case http.StatusBadRequest, http.StatusNotFound:
		kind = "bad_data"
	case http.StatusUnprocessableEntity:
		kind = "execution"
	case http.StatusServiceUnavailable:
		kind = "unavailable"
	}
	return schema.Object{"status": "error", "errorType": kind, "error": text}
}

// promTime reads seconds since 1970, or a time of RFC 3339. The zero time stands for none: the parameter is needed.
func promTime(form url.Values, name string, otherwise time.Time) (time.Time, error) {
	text := form.Get(name)
	if text == "" && !otherwise.IsZero() {
		return otherwise, nil
	}
	const furthest = 1 << 40 // s; beyond, a time in ms does not fit
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(seconds) < furthest {
		whole, part := math.Modf(seconds)
		return time.Unix(int64(whole), int64(math.Round(part*1000))*int64(time.Millisecond)).UTC(), nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	return time.Time{}, &badQuery{name, fmt.Sprintf("%q is no time: give seconds since 1970, or 2026-11-22T04:00:00Z",
		text)}
}

// promDuration reads seconds, or a duration such as 5m.
func promDuration(form url.Values, name string, otherwise time.Duration) (time.Duration, error) {
	text := form.Get(name)
	if text == "" {
		return otherwise, nil
	}
	const longest = 100 * 365 * 24 * 3600 // s
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(seconds) < longest {
		return time.Duration(seconds * float64(time.Second)), nil
	}
	if days, is := strings.CutSuffix(text, "d"); is {
		if count, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(count) * 24 * time.Hour, nil
		}
	}
	if duration, err := time.ParseDuration(text); err == nil {
		return duration, nil
	}
	return 0, &badQuery{name, fmt.Sprintf("%q is no duration: give seconds, or 5m", text)}
}
