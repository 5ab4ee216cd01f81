package store

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/text"
	"github.com/weir-lb/weir/logs/wire"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := limitMemory(256 << 20); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// rig is an open store, and one source of batches.
type rig struct {
	*testing.T
	dir string
	now time.Time
	*Store
	sequence uint64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, dir: t.TempDir(), now: time.Now().UTC()}
	r.open()
	t.Cleanup(func() { r.close() })
	return r
}

func (r *rig) open() {
	r.Helper()
	opened, err := Open(Config{
		Dir: r.dir, Retention: 30 * 24 * time.Hour, Requests: Budget{Retention: 7 * 24 * time.Hour},
		Now: func() time.Time { return r.now },
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.Fatal(err)
	}
	r.Store = opened
}

func (r *rig) close() {
	r.Helper()
	if r.Store == nil {
		return
	}
	if err := r.Store.Close(); err != nil {
		r.Error(err)
	}
	r.Store = nil
}

// event is a row of an event, so long before now.
func (r *rig) event(before time.Duration, scope, id, description string) wire.Row {
	return wire.Row{Time: r.now.Add(-before), Type: query.Events, Scope: scope,
		Fields: []wire.Field{{Name: "event_id", Value: id}, {Name: "event_description", Value: description}}}
}

func (r *rig) add(rows ...wire.Row) logs.Ack {
	r.Helper()
	r.sequence++
	ack, err := r.Add(r.origin(), wire.Append(nil, rows))
	if err != nil {
		r.Fatal(err)
	}
	return ack
}

func (r *rig) origin() wire.Origin {
	return wire.Origin{Source: "test", Epoch: 1, Sequence: r.sequence}
}

// asking is a query for all events of all tenants.
func (r *rig) asking() query.Query {
	return query.Query{Type: query.Events, Scope: query.Scope{All: true}, From: r.now.Add(-29 * 24 * time.Hour),
		To: r.now.Add(time.Hour), Rows: &query.Rows{Limit: 100, Count: true}, Timeout: time.Minute}
}

func (r *rig) ask(q query.Query) query.Answer {
	r.Helper()
	answer, err := r.Ask(r.Context(), q)
	if err != nil {
		r.Fatal(err)
	}
	return answer
}

// ids are the events that a query finds, as text.
func (r *rig) ids(q query.Query) string {
	r.Helper()
	var ids []string
	for _, row := range r.ask(q).Rows {
		ids = append(ids, row.Fields["event_id"])
	}
	return strings.Join(ids, " ")
}

func TestListsRowsInTheOrderOfTime(t *testing.T) {
	r := newRig(t)
	r.add(r.event(0, "a", "NOW", ""), r.event(0, "a", "NOW_TOO", ""), r.event(50*time.Hour, "a", "DAYS", ""))
	r.add(r.event(90*time.Minute, "a", "HOUR", ""), r.event(20*24*time.Hour, "a", "WEEKS", ""))
	all := r.asking()
	if got, want := r.ids(all), "NOW_TOO NOW HOUR DAYS WEEKS"; got != want {
		t.Errorf("newest first: %s, want %s", got, want)
	}
	for offset, want := range []string{"NOW_TOO NOW", "NOW HOUR", "HOUR DAYS", "DAYS WEEKS", "WEEKS", ""} {
		page := r.asking()
		page.Rows = &query.Rows{Offset: offset, Limit: 2, Count: true}
		if got := r.ids(page); got != want {
			t.Errorf("from %d on: %s, want %s", offset, got, want)
		}
		if answer := r.ask(page); answer.Count != 5 || answer.PercentRemaining != 0 {
			t.Errorf("from %d on: %d rows, %v %% remain", offset, answer.Count, answer.PercentRemaining)
		}
	}
	oldest := r.asking()
	oldest.Rows = &query.Rows{Oldest: true, Limit: 3}
	if got, want := r.ids(oldest), "WEEKS DAYS HOUR"; got != want {
		t.Errorf("oldest first: %s, want %s", got, want)
	}
	sorted := r.asking()
	sorted.Rows = &query.Rows{OrderBy: "event_id", Oldest: true, Limit: 3, Offset: 1, Count: true}
	if got, want := r.ids(sorted), "HOUR NOW NOW_TOO"; got != want {
		t.Errorf("sorted by id: %s, want %s", got, want)
	}
	between := r.asking()
	between.From, between.To = r.now.Add(-90*time.Minute), r.now
	if got, want := r.ids(between), "HOUR"; got != want {
		t.Errorf("from the time of HOUR up to NOW: %s, want %s", got, want)
	}
}

func TestGivesBackAnyBytes(t *testing.T) {
	r := newRig(t)
	hostile := []string{"\xff\xfe\x00", "a\nb\r\tc", `"quoted" \ 'too'`, "\u202eevil", "\x1b[31mred\x1b[0m", " spaces ",
		"é\xe2\x80", strings.Repeat("x", wire.MaxValueBytes), "=cmd|' /C calc'!A0", "\U0010FEFF", "1.0", "007", "1e3",
		"2026-01-01T00:00:00Z", "10.0.0.1", "-0", "NaN"}
	for n, value := range hostile {
		r.add(r.event(time.Duration(n)*time.Second, "a", "E", value))
	}
	check := func(state string) {
		t.Helper()
		answer := r.ask(r.asking())
		if len(answer.Rows) != len(hostile) {
			t.Fatalf("%s: %d rows, want %d", state, len(answer.Rows), len(hostile))
		}
		for n, row := range answer.Rows {
			if got := text.Decode(row.Fields["event_description"]); got != hostile[n] {
				t.Errorf("%s: %.80q came back as %.80q", state, hostile[n], got)
			}
			if !row.Time.Equal(r.now.Add(-time.Duration(n) * time.Second)) {
				t.Errorf("%s: the time of row %d is %v", state, n, row.Time)
			}
		}
	}
	check("in memory")
	r.close()
	r.open()
	check("on disk")
}

func TestRefusesWhatCannotBeStoredAndSaysWhy(t *testing.T) {
	r := newRig(t)
	past, future := r.event(31*24*time.Hour, "a", "PAST", ""), r.event(-2*time.Hour, "a", "FUTURE", "")
	madeUp := r.event(0, "a", "MADE_UP", "")
	madeUp.Fields = append(madeUp.Fields, wire.Field{Name: "x", Value: "y"})
	other, nobodys := r.event(0, "a", "OTHER", ""), r.event(0, "", "NOBODYS", "")
	other.Type = "poems"
	ack := r.add(past, future, r.event(0, "a", "GOOD", ""), madeUp, other, nobodys)
	if ack.Stored != 1 || ack.Refusals != 5 || len(ack.Refused) != 5 {
		t.Errorf("got %+v", ack)
	}
	for n, want := range []string{"before what is kept", "ahead of", "no field", "no records of type", "no scope"} {
		if got := ack.Refused[n].Reason; !strings.Contains(got, want) {
			t.Errorf("refused for %q, want %q", got, want)
		}
	}
	if got := r.ids(r.asking()); got != "GOOD" {
		t.Errorf("stored are %s", got)
	}
}

func TestStoresNoBatchTwiceAlsoAfterARestart(t *testing.T) {
	r := newRig(t)
	r.add(r.event(0, "a", "ONE", ""))
	for range 2 {
		ack, err := r.Add(r.origin(), wire.Append(nil, []wire.Row{r.event(0, "a", "ONE", "")}))
		if err != nil || ack.Stored != 0 {
			t.Errorf("got %+v, %v", ack, err)
		}
		if got := r.ids(r.asking()); got != "ONE" {
			t.Errorf("stored are %s", got)
		}
		r.close()
		r.open()
	}
}

func TestTenantsSeeTheirOwnRowsAndThoseForEveryone(t *testing.T) {
	r := newRig(t)
	r.add(r.event(0, "a", "A", ""), r.event(1, "b", "B", ""), r.event(2, wire.Everyone, "ALL", ""))
	for tenant, want := range map[string]string{"a": "A ALL", "b": "B ALL", "c": "ALL", `a" or "b`: "ALL", `*`: "ALL"} {
		q := r.asking()
		q.Scope = query.Scope{Tenant: tenant}
		// A condition that always holds, next to the scope.
		q.Where = &query.Expr{Or: []query.Expr{query.Compare("event_id", query.Contains, ""),
			query.Compare("event_id", query.Ne, "x")}}
		if got := r.ids(q); got != want {
			t.Errorf("tenant %s sees %s, want %s", tenant, got, want)
		}
	}
	q := r.asking()
	q.Scope = query.Scope{}
	if _, err := r.Ask(t.Context(), q); err == nil {
		t.Error("a query without a tenant was answered")
	}
}

func TestGroupsCountsAndCompletes(t *testing.T) {
	r := newRig(t)
	start := r.now.Truncate(time.Hour).Add(-3 * time.Hour)
	for n := range 60 {
		row := r.event(0, "a", fmt.Sprintf("E%d", n%3), "d")
		row.Time = start.Add(time.Duration(n) * time.Minute)
		r.add(row)
	}
	r.add(r.event(26*time.Hour, "a", "E0", "d"), r.event(26*time.Hour, "a", "F", "d"))
	groups := r.asking()
	groups.Rows, groups.Groups = nil, &query.Groups{By: []string{"event_id", "event_description"}, Limit: 2}
	var got []string
	for _, group := range r.ask(groups).Groups {
		got = append(got, fmt.Sprint(group.Values, group.Rows))
	}
	if want := "[[E0 d] 21 [E1 d] 20]"; fmt.Sprint(got) != want {
		t.Errorf("groups are %v, want %s", got, want)
	}
	histogram := r.asking()
	histogram.Rows, histogram.Histogram = nil, &query.Histogram{Step: 30 * time.Minute}
	got = nil
	for _, bucket := range r.ask(histogram).Buckets {
		got = append(got, fmt.Sprint(bucket.Start.Sub(start), " ", bucket.Rows))
	}
	old := r.now.Add(-26 * time.Hour).Truncate(30 * time.Minute).Sub(start)
	if want := fmt.Sprintf("[%v 2 0s 30 30m0s 30]", old); fmt.Sprint(got) != want {
		t.Errorf("buckets are %v, want %s", got, want)
	}
	values := r.asking()
	values.Rows, values.Values = nil, &query.Values{Field: "event_id", Prefix: "E", Limit: 10}
	got = nil
	for _, group := range r.ask(values).Groups {
		got = append(got, fmt.Sprint(group.Values, group.Rows))
	}
	if want := "[[E0] 21 [E1] 20 [E2] 20]"; fmt.Sprint(got) != want {
		t.Errorf("values are %v, want %s", got, want)
	}
}

func TestDeletesWhatMatchesForGood(t *testing.T) {
	r := newRig(t)
	r.add(r.event(0, "a", "ONE", "person"), r.event(25*time.Hour, "a", "TWO", "person"), r.event(0, "a", "THREE", "x"))
	q := r.asking()
	q.Where = query.All(query.Compare("event_description", query.Eq, "person"))
	if err := r.Delete(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := r.ids(r.asking()); got != "THREE" {
			t.Errorf("left are %s", got)
		}
		r.close()
		r.open()
	}
	q.Where = nil
	if err := r.Delete(t.Context(), q); err == nil {
		t.Error("a deletion without a condition was done")
	}
}

func TestTakesNoRowsWhenSpaceIsShort(t *testing.T) {
	r := newRig(t)
	r.add(r.event(0, "a", "BEFORE", ""))
	r.ReserveBytes = 1 << 62
	r.sequence++
	_, err := r.Add(r.origin(), wire.Append(nil, []wire.Row{r.event(0, "a", "ONE", "")}))
	if full := (*DiskFull)(nil); !errors.As(err, &full) || !strings.Contains(err.Error(), "must stay free") {
		t.Errorf("got %v", err)
	}
	if got := r.ids(r.asking()); got != "BEFORE" {
		t.Errorf("a store that takes nothing lists %s", got)
	}
	r.ReserveBytes = 0
	if ack, err := r.Add(r.origin(), wire.Append(nil, []wire.Row{r.event(1, "a", "ONE", "")})); err != nil ||
		ack.Stored != 1 {
		t.Errorf("later: %+v, %v", ack, err)
	}
}

func TestSaysHowMuchOfTheTimeWasNotRead(t *testing.T) {
	r := newRig(t)
	r.add(r.event(0, "a", "ONE", ""))
	q := r.asking()
	q.Timeout = time.Nanosecond
	if answer := r.ask(q); answer.PercentRemaining != 100 || answer.Rows != nil {
		t.Errorf("got %+v", answer)
	}
}

// Rows of a hundred batches reach the storage from many at once, while the journal is settled again and again.
func TestSettlesWhileRowsCome(t *testing.T) {
	r := newRig(t)
	const sources, batches = 4, 25
	ended := make(chan error, sources)
	for source := range sources {
		go func() {
			for n := range uint64(batches) {
				origin := wire.Origin{Source: fmt.Sprint(source), Epoch: 1, Sequence: n + 1}
				row := r.event(time.Duration(n)*time.Second, "a", fmt.Sprint(source), fmt.Sprint(n))
				if _, err := r.Add(origin, wire.Append(nil, []wire.Row{row, row})); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	for range 2 {
		if err := r.settle(); err != nil {
			t.Error(err)
		}
	}
	for range sources {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	r.close()
	r.open()
	if got := r.ask(r.asking()).Count; got != 2*sources*batches {
		t.Errorf("%d rows are stored, want %d", got, 2*sources*batches)
	}
}

func TestQuotesEveryByte(t *testing.T) {
	for value, want := range map[string]string{"": `""`, "aZ9": `"aZ9"`, "a\"\\\n\xff": `"a\x22\x5c\x0a\xff"`} {
		if got := quote(value); got != want {
			t.Errorf("%q is written as %s, want %s", value, got, want)
		}
	}
	if every := quote(string(bytes.Repeat([]byte{'"', '\\', '`', '\''}, 9))); strings.Count(every, `"`) != 2 {
		t.Errorf("a quote got through: %s", every)
	}
}
