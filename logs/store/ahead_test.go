package store

import (
	"bytes"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/VictoriaMetrics/VictoriaLogs/lib/logstorage"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

func TestCountingAheadRestsHalfOfTheTime(t *testing.T) {
	for _, c := range []struct {
		counted    bool
		took, rest time.Duration
	}{{true, 3 * time.Second, 3 * time.Second}, {true, time.Millisecond, time.Millisecond},
		{false, time.Microsecond, aheadEvery}, {false, 3 * time.Second, 3 * time.Second}} {
		if rest := restAfter(c.counted, c.took); rest != c.rest {
			t.Errorf("%+v: it rests %v", c, rest)
		}
	}
}

func TestHourOfManyTenantsIsNotCountedAheadAndToldOnce(t *testing.T) {
	r := newRig(t)
	var rows []wire.Row
	for n := range scopesMost + 1 {
		row := r.request(time.Hour, map[string]string{"client_ip": "10.0.0.1"})
		row.Scope = strconv.Itoa(n)
		rows = append(rows, row)
	}
	r.add(rows...)
	at := startOf(rows[0].Time)
	counted, err := r.countHour(t.Context(), at)
	if counted || !errors.Is(err, errScopes) || r.hours.count() != 1 {
		t.Errorf("counted: %v, %v", counted, err)
	}
	var log bytes.Buffer
	r.Store.Log = slog.New(slog.NewTextHandler(&log, nil))
	var told sync.Once
	r.tell(at, err, &told)
	r.tell(at+hourSeconds, err, &told)
	if strings.Count(log.String(), "level=INFO") != 1 || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("it is told as\n%s", log.String())
	}
	if r.tell(at, errors.New("broken"), &told); !strings.Contains(log.String(), "level=ERROR") {
		t.Error("another error is not told")
	}
}

func TestHourTakesNoMoreThanItsRoom(t *testing.T) {
	found := make(counts, len(hourFields))
	value := strings.Repeat("x", columnBytesMax-1<<10)
	for n := range found {
		found[n].values = []query.Value{{Value: value, Rows: 1, Weight: 1}}
	}
	counted := &hour{scopes: map[string]map[string]column{}}
	counted.add("a", found)
	counted.add("b", found)
	if fits := hourBytesMax / columnBytesMax; counted.bytes > hourBytesMax || len(counted.scopes["a"]) != fits ||
		len(counted.scopes["b"]) != 0 {
		t.Errorf("%d and %d fields, of %d MiB", len(counted.scopes["a"]), len(counted.scopes["b"]), counted.bytes>>20)
	}
	h, now := newHours(), time.Unix(0, 0).Add(1000*time.Hour)
	counted.bytes = hourBytesMax
	h.keep(startOf(now)-2*hourSeconds, counted, version{})
	h.keep(startOf(now)-hourSeconds, &hour{scopes: counted.scopes, bytes: hoursBytesMax + 1}, version{})
	if _, all := h.of(startOf(now)-2*hourSeconds, query.Scope{Tenant: "a"}, nil); !all {
		t.Error("an hour that is too large has pushed out another")
	}
	if at, _ := h.next(now, 0); at != startOf(now)-3*hourSeconds {
		t.Errorf("%v is counted again", at.time())
	}
	if _, all := h.of(startOf(now)-hourSeconds, query.Scope{Tenant: "a"}, nil); all {
		t.Error("an hour that is too large is kept")
	}
}

func TestFacetsAreReadByFewWorkers(t *testing.T) {
	for _, options := range []string{quickly, slowly} {
		parsed, err := logstorage.ParseQuery(options + compileFilter(query.Query{Scope: query.Scope{All: true}}))
		if err != nil || parsed.GetConcurrency() > countersAtOnce ||
			!strings.Contains(parsed.String(), "concurrency=") {
			t.Errorf("%s: %d workers, %v", options, parsed.GetConcurrency(), err)
		}
	}
}

func TestRecordWithoutAWeightCountsAsOneEverywhere(t *testing.T) {
	r := newRig(t)
	var rows []wire.Row
	for n, weight := range []string{"", "0", "5", ""} {
		fields := map[string]string{"method": "GET", "weight": weight}
		rows = append(rows, r.request(time.Duration(n)*time.Second, fields))
	}
	r.add(rows...)
	for _, some := range [][]wire.Row{rows, {rows[0]}} { // with and without a column of weights
		q, want := r.askingRequests(), uint64(0)
		for _, row := range some {
			want += query.WeightOf(valueOf(row, "weight"))
		}
		if len(some) == 1 {
			q.From = some[0].Time
		}
		q.Rows.Count = true
		if answer := r.ask(q); answer.Weight != want || answer.Count != uint64(len(some)) {
			t.Errorf("%d rows weigh %d, and not %d", answer.Count, answer.Weight, want)
		}
		q.Rows, q.Facets = nil, &query.Facets{Fields: []string{"method"}, Limit: 5}
		if got := r.ask(q).Facets[0].Values; len(got) != 1 || got[0].Weight != want {
			t.Errorf("facets are %+v, of weight %d", got, want)
		}
	}
}
