package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

const (
	recordsMost = 10_000_000 // what the bars are for
	recordsSpan = 24 * time.Hour
	// waitingMost keeps the queue of the record store from overflowing: what finds no room there is lost.
	waitingMost = 10_000
	// each question is asked so often, and the median counts.
	askTimes = 3
)

// recordTimes is how the record store does with many records. Times in ms.
type recordTimes struct {
	perSecond, list, id, service, facets, first, residentMiB float64
	records                                                  int
	note                                                     string
}

func recordRow(of func(recordTimes) float64) func(context.Context, *run) (findings.Finding, error) {
	return func(ctx context.Context, r *run) (findings.Finding, error) {
		times, err := r.records.get(func() (recordTimes, error) { return r.store(ctx) })
		if err != nil {
			return findings.Finding{}, err
		}
		found := findings.Finding{Value: of(times), Note: times.note}
		if times.records < recordsMost {
			found.Fault = fmt.Sprintf("%d records, and the bar is for %d", times.records, recordsMost)
		}
		return found, nil
	}
}

// store fills a record store with records of a day, and asks it.
func (r *run) store(ctx context.Context) (times recordTimes, err error) {
	times.records = r.Records
	if times.records == 0 {
		times.records = r.Short(100_000, recordsMost)
	}
	a, err := r.openArchive(ctx, times.records)
	if err != nil {
		return times, err
	}
	defer func() { err = errors.Join(err, a.end()) }()
	used := a.filled.Used
	times.perSecond = float64(times.records) / used.Seconds()
	if err := a.untilCounted(ctx); err != nil {
		return times, err
	}
	if err := a.askAll(ctx, &times); err != nil {
		return times, err
	}
	usage, err := a.usage()
	times.residentMiB = float64(usage.RSSBytes) / (1 << 20)
	times.note = fmt.Sprintf(
		"%d records of 24 hours, of 50 services, a third significant; %.1f µs of a processor each, with "+
			"journal and merges; the median of %d times, each wall/CPU: %s", times.records,
		1e6*used.Seconds()/float64(times.records), askTimes, times.note)
	return times, err
}

// question is about all records, with an answer that is still to be said.
func (a *archive) question(answer func(*query.Query)) query.Query {
	q := query.Query{Type: query.Requests, Scope: query.Scope{All: true},
		From: a.filled.Now.Add(-recordsSpan - time.Minute),
		To:   a.filled.Now.Add(time.Hour), Timeout: query.MaxTimeout}
	answer(&q)
	return q
}

func list(q *query.Query)      { q.Rows = &query.Rows{Limit: 100, Count: true} }
func histogram(q *query.Query) { q.Histogram = &query.Histogram{Step: 15 * time.Minute} }
func top(field string) func(*query.Query) {
	return func(q *query.Query) { q.Values = &query.Values{Field: field, Limit: 10} }
}
func facets(q *query.Query) { q.Facets = &query.Facets{Fields: facetFields, Limit: 10} }
func percentiles(q *query.Query) {
	q.Groups = &query.Groups{By: []string{"response_code"}, Limit: 20,
		Aggregates: []query.Aggregate{{Function: "quantile", Field: "total_time_us", Phi: 0.99}}}
}

// facetFields are those whose top values stand beside a list of records.
var facetFields = []string{"response_code", "server_name", "uri_path", "client_ip", "method", "vs_name",
	"service_engine", "ssl_version", "request_state"}

func (a *archive) askAll(ctx context.Context, times *recordTimes) error {
	of := func(where *query.Expr, answer func(*query.Query)) query.Query {
		return a.question(func(q *query.Query) { q.Where = where; answer(q) })
	}
	oneID := query.All(query.Compare("request_id", query.Eq, requestID(times.records/2)))
	oneService := query.All(query.Compare("virtualservice", query.Eq, "virtualservice-7"))
	lastHour := func(answer func(*query.Query)) query.Query {
		return a.question(func(q *query.Query) { q.From = a.filled.Now.Add(-time.Hour); answer(q) })
	}
	for _, ask := range []struct {
		name    string
		into    *float64
		asked   []query.Query
		atOnce  int
		slowest bool // the slowest question alone counts; otherwise, all of them together
	}{
		{"list", &times.list, []query.Query{of(nil, list), of(nil, histogram)}, 2, false},
		{"id", &times.id, []query.Query{of(oneID, list)}, 1, false},
		{"service", &times.service, []query.Query{of(oneService, list), of(oneService, histogram),
			of(oneService, top("uri_path")),
			of(oneService, percentiles)}, 1, true},
		{"facets", &times.facets, []query.Query{of(nil, facets)}, 1, false},
		{"first", &times.first, []query.Query{lastHour(list), lastHour(histogram)}, 2, false},
	} {
		var all []float64
		times.note += ask.name
		for range askTimes {
			before, err := a.usage()
			if err != nil {
				return err
			}
			took, err := a.time(ctx, ask.asked, ask.atOnce, ask.slowest)
			if err != nil {
				return err
			}
			after, err := a.usage()
			if err != nil {
				return err
			}
			all = append(all, milliseconds(took))
			times.note += fmt.Sprintf(" %.0f/%.0f", milliseconds(took), milliseconds(after.Since(before).Run))
		}
		times.note += " ms; "
		slices.Sort(all)
		*ask.into = all[len(all)/2]
	}
	return nil
}

// time asks questions, as many at once as a page does.
func (a *archive) time(ctx context.Context, asked []query.Query, atOnce int, slowest bool) (time.Duration, error) {
	var asking errgroup.Group
	asking.SetLimit(atOnce)
	took := make([]time.Duration, len(asked))
	began := time.Now()
	for i, question := range asked {
		asking.Go(func() error {
			began := time.Now()
			answer, err := a.Ask(ctx, question)
			took[i] = time.Since(began)
			if err == nil && answer.PercentRemaining > 0 {
				err = fmt.Errorf("a question was answered in part: %v %% are left", answer.PercentRemaining)
			}
			return err
		})
	}
	err := asking.Wait()
	if slowest {
		return slices.Max(took), err
	}
	return time.Since(began), err
}

func requestID(n int) string { return fmt.Sprintf("%016x", n) }

// requestRecord is the record of one request, of a mix with many failures.
func requestRecord(random *rand.Rand, n int, at time.Time) wire.Row {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	number := func(from, to int) string { return fmt.Sprint(from + random.IntN(to-from)) }
	micros := func(mean float64) string { return fmt.Sprint(int(mean * random.ExpFloat64())) }
	service := random.IntN(50)
	status, state, class, reasons := "200", "", query.Every, ""
	switch chance := random.IntN(100); {
	case chance < 6:
		status, state = pick("500", "502", "503", "504"), pick("server_refused", "server_response_timeout", "no_server")
		class, reasons = query.Significant, "ADF_RESPONSE_CODE_5XX"
	case chance < 20:
		status, class, reasons = pick("400", "401", "403", "404", "429"), query.Significant, "ADF_RESPONSE_CODE_4XX"
	case chance < 36:
		class, reasons = query.Significant, "ADF_SERVER_HIGH_RESPONSE_TIME"
	}
	row := wire.Row{Time: at, Type: query.Requests, Scope: "admin"}
	add := func(pairs ...string) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i+1] != "" {
				row.Fields = append(row.Fields, wire.Field{Name: pairs[i], Value: pairs[i+1]})
			}
		}
	}
	engine := random.IntN(12)
	add("request_id", requestID(n), "virtualservice", fmt.Sprintf("virtualservice-%d", service),
		"vs_name", fmt.Sprintf("web-%d", service), "service_engine", fmt.Sprintf("engine-%d", engine),
		"service_engine_uuid", fmt.Sprintf("se-%d", engine), "vcpu_id", number(0, 4), "class", class, "weight", "1",
		"significant_log", reasons, "client_ip", fmt.Sprintf("10.%s.%s.%s", number(0, 2),
			number(0, 200), number(0, 250)),
		"client_src_port", number(1024, 61024), "vs_ip", fmt.Sprintf("10.1.0.%d", service), "client_dest_port", "443",
		"ssl_version", pick("TLS1.2", "TLS1.3", "TLS1.3"), "ssl_cipher", pick("TLS_AES_128_GCM_SHA256",
			"ECDHE-ECDSA-AES128-GCM-SHA256"), "ssl_group", pick("X25519", "X25519", "P-256"),
		"sni_hostname", "shop.example.com", "method", pick("GET", "GET", "GET", "POST", "HEAD"),
		"http_version", pick("1.1", "2"), "host", "shop.example.com",
		"uri_path", "/"+pick("api", "shop", "static")+"/"+number(0, 2000), "uri_query", "id="+number(0, 1_000_000),
		"user_agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/"+number(100, 140)+".0 Safari/537.36",
		"referer", "https://shop.example.com/"+number(0, 500), "pool", fmt.Sprintf("pool-%d", service),
		"server_name", fmt.Sprintf("10.2.%d.%s:8080", service, number(0, 20)), "response_code", status,
		"server_response_code", status, "request_state", state, "request_length", number(300, 1200),
		"response_length", number(200, 40_200), "wait_us", micros(100), "client_rtt_us", micros(10_000),
		"server_rtt_us", micros(125), "app_response_time_us", micros(7500), "data_transfer_time_us", micros(2000),
		"total_time_us", micros(20_000))
	return row
}
