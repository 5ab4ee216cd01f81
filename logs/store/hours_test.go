package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// facetRig has records of six hours, of two tenants.
func facetRig(t *testing.T) (*rig, []wire.Row) {
	r := newRig(t)
	r.now = r.now.Truncate(time.Hour).Add(40 * time.Minute).Local() // as the clock of the store tells it
	random := rand.New(rand.NewPCG(1, 2))
	var rows []wire.Row
	for n := range 600 {
		row := r.request(time.Duration(n)*36*time.Second, map[string]string{
			"virtualservice": "vs-" + strconv.Itoa(random.IntN(3)), "class": "all",
			"client_ip": "10.0.0." + strconv.Itoa(random.IntN(40)),
			"method":    []string{"GET", "POST", ""}[random.IntN(3)],
			"weight":    strconv.Itoa(1 + random.IntN(5)), "user_agent": fmt.Sprintf("agent \u202e %d", random.IntN(3)),
		})
		row.Scope = []string{"a", "b", wire.Everyone}[random.IntN(3)]
		rows = append(rows, row)
	}
	r.add(rows...)
	return r, rows
}

func valueOf(row wire.Row, field string) string {
	for _, f := range row.Fields {
		if f.Name == field {
			return f.Value
		}
	}
	return ""
}

// naiveFacet counts the values of a field with none of the code that is tested.
func naiveFacet(rows []wire.Row, field string, sees func(wire.Row) bool) map[string]query.Value {
	found := map[string]query.Value{}
	for _, row := range rows {
		if value := valueOf(row, field); sees(row) {
			weight, _ := strconv.ParseUint(valueOf(row, "weight"), 10, 64)
			before := found[value]
			found[value] = query.Value{Value: value, Rows: before.Rows + 1, Weight: before.Weight + weight}
		}
	}
	return found
}

// expect compares facets with a naive evaluation.
func (r *rig) expect(q query.Query, rows []wire.Row, sees func(wire.Row) bool) {
	r.Helper()
	answer := r.ask(q)
	for n, field := range q.Facets.Fields {
		want, got := naiveFacet(rows, field, sees), answer.Facets[n]
		if got.Field != field || got.TooMany || len(got.Values) != min(q.Facets.Limit, len(want)) {
			r.Errorf("%s: got %+v, want %d values", field, got, len(want))
		}
		for _, value := range got.Values {
			if want[value.Value] != value {
				r.Errorf("%s: got %+v, want %+v", field, value, want[value.Value])
			}
			delete(want, value.Value)
		}
		for _, left := range want {
			if last := got.Values[len(got.Values)-1]; left.Weight > last.Weight {
				r.Errorf("%s: %+v is missing, and %+v is there", field, left, last)
			}
		}
		if !slices.IsSortedFunc(got.Values, func(a, b query.Value) int { return int(b.Weight) - int(a.Weight) }) {
			r.Errorf("%s: not the most frequent first: %v", field, got.Values)
		}
	}
}

func (r *rig) facets(fields ...string) query.Query {
	q := r.askingRequests()
	q.Rows, q.Facets = nil, &query.Facets{Fields: fields, Limit: 5}
	return q
}

func everyRow(wire.Row) bool { return true }

// countAll counts ahead what there is to count.
func (r *rig) countAll() (hours int) {
	r.Helper()
	for {
		at, found := r.hours.next(r.now, 0)
		if !found {
			return r.hours.count()
		}
		if err := r.countHour(r.Context(), at); err != nil {
			r.Fatal(err)
		}
	}
}

func TestFacetsAreTheSameWhetherHoursAreCountedAheadOrNot(t *testing.T) {
	r, rows := facetRig(t)
	inSpan := func(q query.Query) func(wire.Row) bool {
		return func(row wire.Row) bool { return !row.Time.Before(q.From) && row.Time.Before(q.To) }
	}
	for _, counted := range []bool{false, true} {
		if counted && r.countAll() != hoursMost {
			t.Fatalf("%d hours are counted", r.hours.count())
		}
		r.expect(r.facets("client_ip", "method", "user_agent", "request_state"), rows, everyRow)
		r.expect(r.facets("client_ip", "virtualservice"), rows, everyRow) // one of them is not counted ahead
		short := r.facets("client_ip")
		short.From, short.To = r.now.Add(-5*time.Hour), r.now.Add(-90*time.Minute)
		r.expect(short, rows, inSpan(short))
		tenant := r.facets("client_ip", "method")
		tenant.Scope = query.Scope{Tenant: "a"}
		r.expect(tenant, rows, func(row wire.Row) bool { return row.Scope != "b" })
		one := r.facets("client_ip")
		one.Where = query.All(query.Compare("virtualservice", query.Eq, "vs-1"))
		r.expect(one, rows, func(row wire.Row) bool { return valueOf(row, "virtualservice") == "vs-1" })
	}
}

func TestHoursThatAreCountedAreNotRead(t *testing.T) {
	r, _ := facetRig(t)
	q := r.facets("client_ip")
	q.From, q.To = r.now.Add(-5*time.Hour), r.now
	whole := span{q.From, q.To}
	if toRead, known := newSearch(r.Store, q).divide(whole); len(known) > 0 || len(toRead) != 1 || toRead[0] != whole {
		t.Errorf("before anything is counted: reads %v, knows %d", toRead, len(known))
	}
	r.countAll()
	toRead, known := newSearch(r.Store, q).divide(whole)
	first, last := span{q.From, q.From.Truncate(time.Hour).Add(time.Hour)}, span{q.To.Truncate(time.Hour), q.To}
	if len(toRead) != 2 || toRead[0] != first || toRead[1] != last || len(known) == 0 {
		t.Errorf("reads %v, knows %d", toRead, len(known))
	}
}

func TestRowsThatComeLateAreInTheFacets(t *testing.T) {
	r, rows := facetRig(t)
	r.countAll()
	late := r.request(3*time.Hour, map[string]string{"client_ip": "10.0.0.1", "weight": "1000"})
	r.add(late)
	if _, found := r.hours.next(r.now, time.Second); found {
		t.Error("the hour is counted again at once, although more may come")
	}
	rows = append(rows, late)
	r.expect(r.facets("client_ip"), rows, everyRow)
	r.now = r.now.Add(time.Second)
	if at, found := r.hours.next(r.now, time.Second); !found || at != startOf(late.Time) {
		t.Errorf("hour %v is next, not that of %v", at.time(), late.Time)
	}
	r.countAll()
	r.expect(r.facets("client_ip"), rows, everyRow)
}

func TestHourOfWhichRowsComeWhileItIsCountedIsNotKept(t *testing.T) {
	h, at := newHours(), start(hourSeconds)
	since := h.version(at)
	h.changed([]start{at}, at.time())
	h.keep(at, &hour{}, since)
	if h.count() != 0 {
		t.Error("it is kept without these rows")
	}
	since = h.version(at)
	h.clear()
	if h.keep(at, &hour{}, since); h.count() != 0 {
		t.Error("it is kept with rows that were deleted")
	}
}

func TestDeletedRowsAreNotInTheFacets(t *testing.T) {
	r, rows := facetRig(t)
	r.countAll()
	gone := r.askingRequests()
	gone.Where = query.All(query.Compare("virtualservice", query.Eq, "vs-1"))
	if err := r.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	left := func(row wire.Row) bool { return valueOf(row, "virtualservice") != "vs-1" }
	r.expect(r.facets("client_ip", "method"), rows, left)
	r.countAll()
	r.expect(r.facets("client_ip", "method"), rows, left)
}

func TestHoursThatHaveNoRoomAreRead(t *testing.T) {
	h := newHours()
	now := time.Unix(0, 0).Add(1000 * time.Hour)
	for n := range 10 {
		h.keep(startOf(now)-start(n+1)*hourSeconds, &hour{scopes: map[string]map[string]column{},
			bytes: hoursBytesMax / 4}, version{})
	}
	if h.count() != 4 || h.bytes > hoursBytesMax {
		t.Errorf("%d hours of %d MiB", h.count(), h.bytes>>20)
	}
	if at, found := h.next(now, 0); found {
		t.Errorf("%v is counted again and again", at.time())
	}
	if _, all := h.of(startOf(now)-hourSeconds, query.Scope{All: true}, nil); !all {
		t.Error("the newest hour is gone")
	}
	if _, all := h.of(startOf(now)-9*hourSeconds, query.Scope{All: true}, nil); all {
		t.Error("an hour without room is counted")
	}
}

func TestFieldWithTooManyValuesIsGivenUpAndTheOthersAreNot(t *testing.T) {
	c := newCounting([]string{"a", "b"}, query.Requests)
	counter := c.take()
	var values []string
	for n := range facetBytesMax/countersAtOnce/bytesOfValue + 1 {
		values = append(values, strconv.Itoa(n))
	}
	counter.tallies[0].count(values, nil)
	counter.tallies[1].count([]string{"x", "y", "x"}, nil)
	c.check(counter)
	c.give(counter)
	facets := c.sums().facets(query.Facets{Fields: []string{"a", "b"}, Limit: 1})
	if !facets[0].TooMany || len(facets[0].Values) != 0 {
		t.Errorf("a has %d values", len(facets[0].Values))
	}
	if want := (query.Value{Value: "x", Rows: 2, Weight: 2}); len(facets[1].Values) != 1 ||
		facets[1].Values[0] != want {
		t.Errorf("got %+v", facets[1])
	}
}

func TestFieldWithTooManyValuesInAllHoursIsGivenUp(t *testing.T) {
	var hours [][]column
	for at := range 4 {
		var many []query.Value
		for n := range facetBytesMax / bytesOfValue / 3 {
			many = append(many, query.Value{Value: fmt.Sprint(at, " ", n), Rows: 1, Weight: 1})
		}
		hours = append(hours, []column{newColumn(many), newColumn([]query.Value{{Value: "x", Rows: 1, Weight: 7}})})
	}
	c := make(counts, 2)
	c.addHours(hours)
	if !c[0].tooMany || c[0].bytes > 0 {
		t.Errorf("%d values in %d MiB are counted", len(c[0].values), c[0].bytes>>20)
	}
	if want := (query.Value{Value: "x", Rows: 4, Weight: 28}); c[1].values[0] != want {
		t.Errorf("got %+v", c[1].values)
	}
}
