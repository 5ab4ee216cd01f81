package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/text"
	"github.com/weir-lb/weir/logs/wire"
)

// request is a row of a request, so long before now.
func (r *rig) request(before time.Duration, fields map[string]string) wire.Row {
	row := wire.Row{Time: r.now.Add(-before), Type: query.Requests, Scope: "a"}
	for name, value := range fields {
		if value != "" {
			row.Fields = append(row.Fields, wire.Field{Name: name, Value: value})
		}
	}
	return row
}

func (r *rig) askingRequests() query.Query {
	q := r.asking()
	q.Type, q.From = query.Requests, r.now.Add(-6*24*time.Hour)
	return q
}

// randomRequest has values in fields of all kinds: those of a stream, texts, numbers and booleans.
func randomRequest(random *rand.Rand, n int) map[string]string {
	return map[string]string{
		"request_id": strconv.Itoa(n), "virtualservice": randomValue(random), "class": randomValue(random),
		"user_agent": randomValue(random), "response_code": []string{"", "0", "200", "404", "502"}[random.IntN(5)],
		"total_time": strconv.Itoa(random.IntN(3000)), "udf": []string{"", "true"}[random.IntN(2)],
		"weight": strconv.Itoa(1 + random.IntN(100)), "significant_log": randomWords(random, " "),
		"http_request_policy_rule_name": randomWords(random, ", "),
	}
}

// words are such that some are parts of others, and that some mean something in a regular expression.
var words = []string{"RESET", "SERVER_RESET", "SERVER_RESET_LATE", "a.c", "abc", "(", "^x$", `\d`, "é"}

func randomWords(random *rand.Rand, between string) string {
	var some []string
	for range random.IntN(4) {
		some = append(some, words[random.IntN(len(words))])
	}
	return strings.Join(some, between)
}

// randomRequestExpr compares one field, which may be a number or a boolean.
func randomRequestExpr(random *rand.Rand, rows []map[string]string) query.Expr {
	row := rows[random.IntN(len(rows))]
	number := []query.Op{query.Eq, query.Ne, query.Lt, query.Le, query.Gt, query.Ge}[random.IntN(6)]
	texts := []query.Op{query.Eq, query.Ne, query.Contains, query.NotContains, query.StartsWith}[random.IntN(5)]
	switch random.IntN(8) {
	case 6, 7:
		field := []string{"significant_log", "http_request_policy_rule_name"}[random.IntN(2)]
		return query.Compare(field, texts, append(words, "", row[field])[random.IntN(len(words)+2)])
	case 0:
		return query.Compare("response_code", number, []string{"0", "200", "404.0", "502", "-1", "1e2"}[random.IntN(6)])
	case 1:
		return query.Compare("total_time", number, row["total_time"])
	case 2:
		return query.Compare("udf", []query.Op{query.Eq, query.Ne}[random.IntN(2)],
			[]string{"true", "false"}[random.IntN(2)])
	}
	field := []string{"virtualservice", "class", "user_agent"}[random.IntN(3)]
	return query.Compare(field, texts, row[field])
}

// naiveRequest evaluates a comparison with none of the code that is tested.
func naiveRequest(e query.Expr, row map[string]string) bool {
	switch e.Field {
	case "udf":
		return (row["udf"] == "true") == ((e.Value == "true") == (e.Op == query.Eq))
	case "significant_log", "http_request_policy_rule_name":
		between := map[string]string{"significant_log": " "}[e.Field]
		if between == "" {
			between = ", "
		}
		if all := strings.Split(row[e.Field], between); len(strings.Split(e.Value, between)) == 1 {
			switch found := slices.Contains(all, e.Value); e.Op {
			case query.Eq:
				return found
			case query.Ne:
				return !found
			}
		}
	case "response_code", "total_time":
		x, missing := strconv.ParseFloat(row[e.Field], 64)
		y, _ := strconv.ParseFloat(e.Value, 64)
		if missing != nil {
			return e.Op == query.Ne
		}
		return map[query.Op]bool{query.Eq: x == y, query.Ne: x != y, query.Lt: x < y, query.Le: x <= y, query.Gt: x > y,
			query.Ge: x >= y}[e.Op]
	}
	return naive(e, row)
}

func TestConditionsOnRequestsMatchLikeInANaiveEvaluation(t *testing.T) {
	const rows, conditions = 300, 300
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	r := newRig(t)
	var stored []map[string]string
	for n := range rows {
		stored = append(stored, randomRequest(random, n))
		r.add(r.request(time.Duration(n)*20*time.Minute, stored[n]))
	}
	for range conditions {
		a, b := randomRequestExpr(random, stored), randomRequestExpr(random, stored)
		q := r.askingRequests()
		q.Where, q.Rows = &query.Expr{And: []query.Expr{a, b}}, &query.Rows{Limit: rows, Count: true}
		either := random.IntN(2) == 0
		if either {
			q.Where = &query.Expr{Or: []query.Expr{a, b}}
		}
		answer := r.ask(q)
		var want, got []string
		weight := uint64(0)
		for _, row := range stored {
			x, y := naiveRequest(a, row), naiveRequest(b, row)
			if x && y || either && (x || y) {
				want = append(want, row["request_id"])
				one, _ := strconv.ParseUint(row["weight"], 10, 64)
				weight += one
			}
		}
		for _, row := range answer.Rows {
			got = append(got, row.Fields["request_id"])
			number, _ := strconv.Atoi(row.Fields["request_id"])
			for name, value := range stored[number] {
				if back := text.Decode(row.Fields[name]); back != value {
					t.Errorf("%s %q came back as %q", name, value, back)
				}
			}
		}
		if !slices.Equal(got, want) || answer.Count != uint64(len(want)) || answer.Weight != weight {
			t.Fatalf("seed %d, or %v: %s, %s\nfinds %v, %d of weight %d\n want %v, of weight %d",
				seed, either, spelt(a),
				spelt(b), got, answer.Count, answer.Weight, want, weight)
		}
	}
}

func TestHistogramsAddUpWeightsByValue(t *testing.T) {
	r := newRig(t)
	r.now = r.now.Truncate(time.Hour).Add(30 * time.Second)
	for n, class := range []string{"5xx", "2xx", "2xx", "5xx"} {
		for _, hours := range []time.Duration{0, 1, 5} { // parts of the search begin in between
			r.add(r.request(hours*time.Hour+time.Duration(n)*time.Second, map[string]string{"response_class": class,
				"weight": strconv.Itoa(1 + n), "total_time": strconv.Itoa(100 * n)}))
		}
	}
	q := r.askingRequests()
	q.Rows, q.Histogram = nil, &query.Histogram{Step: time.Hour, By: []string{"response_class"},
		Aggregates: []query.Aggregate{
			{Function: "sum", Field: "weight"}, {Function: "max", Field: "total_time"}}}
	said := func() (text string) {
		for _, b := range r.ask(q).Buckets {
			text += fmt.Sprintf("%v %s %d %v %v, ", r.now.Truncate(time.Hour).Sub(b.Start), b.Values[0],
				b.Rows, *b.Aggregates[0],
				*b.Aggregates[1])
		}
		return text
	}
	want := "5h0m0s 2xx 2 5 200, 5h0m0s 5xx 2 5 300, 1h0m0s 2xx 2 5 200, 1h0m0s 5xx 2 5 300, 0s 2xx 2 5 200, 0s 5xx 2 5 300, "
	if got := said(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	q.Histogram.Aggregates[1].Function = "avg" // does not add up from parts
	want = "5h0m0s 2xx 2 5 150, 5h0m0s 5xx 2 5 150, 1h0m0s 2xx 2 5 150, 1h0m0s 5xx 2 5 150, 0s 2xx 2 5 150, 0s 5xx 2 5 150, "
	if got := said(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	all := r.askingRequests()
	all.Rows, all.Groups = nil, &query.Groups{Limit: 1, Aggregates: []query.Aggregate{{Function: "sum",
		Field: "weight"}}}
	if groups := r.ask(all).Groups; len(groups) != 1 || groups[0].Rows != 12 || *groups[0].Aggregates[0] != 30 {
		t.Errorf("all in one group: %+v", groups)
	}
}

// Records of requests have a disk budget and a reserve of their own.
func TestRecordsOfRequestsGiveWayFirst(t *testing.T) {
	r := newRig(t)
	free, err := r.free()
	if err != nil {
		t.Fatal(err)
	}
	r.ReserveBytes = free / 2
	r.add(r.event(0, "a", "STILL", ""))
	r.sequence++
	full := (*DiskFull)(nil)
	if _, err := r.Add(r.origin(), wire.Append(nil, []wire.Row{r.request(0, nil)})); err == nil {
		t.Error("a request was taken")
	} else if full, _ = err.(*DiskFull); full == nil {
		t.Error(err)
	}
	r.ReserveBytes = 0
	r.add(r.request(8*24*time.Hour, nil)) // older than the 7 days that requests stay, younger than the 30 of events
	if count := r.ask(r.askingRequests()).Count; count != 0 || r.refused.Load() != 1 {
		t.Errorf("%d requests, %d refused", count, r.refused.Load())
	}
}
