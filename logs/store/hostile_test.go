package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/text"
	"github.com/weir-lb/weir/logs/wire"
)

// pieces are what hostile values are made of.
var pieces = []string{
	`"`, `'`, "`", `\`, `\"`, `\x41`, "\x00", "\n", "\r", "\t", "\x1b[31m", "\x7f", "\xff", "\xe2\x80", "\xed\xa0\x80",
	"\u202e", "\u200b", "\ufeff", "\U0010FEFF", "\U0010FE80", "é", "É", "ß", "İ", "世界", "*", "|", " | delete ", " or ",
	" and ", "not ", "!", ":", "=", "(", ")", "{", "}", "[", "]", ",", ";", "$", "^", ".", ".*", "_time:5m", "scope:*",
	"in(*)", "stats count()", "#", "//", "--", "%", "%s", "<", ">", "a", "b", "A", "aa", "1", "10", "-1", "0x10", "1e3",
	" ", "  ", "10.0.0.1", "2026-01-01T00:00:00Z", "1KB", "5m", "<script>", "null", "true", "",
}

func randomValue(random *rand.Rand) string {
	var value strings.Builder
	for range random.IntN(4) {
		value.WriteString(pieces[random.IntN(len(pieces))])
	}
	if random.IntN(4) == 0 {
		value.WriteByte(byte(random.IntN(256)))
	}
	return value.String()
}

// symbols are the characters of a value. A byte that belongs to none is a symbol of its own, and so is each byte of a
// character that stands for such a byte (package text).
func symbols(value string) []rune {
	var all []rune
	for i, char := range value {
		switch {
		case char == utf8.RuneError && !strings.HasPrefix(value[i:], string(utf8.RuneError)):
			all = append(all, -rune(value[i]))
		case char >= 0x10FE80 && char <= 0x10FEFF:
			for _, b := range []byte(string(char)) {
				all = append(all, -rune(b))
			}
		default:
			all = append(all, char)
		}
	}
	return all
}

// naive evaluates a condition over raw values, with none of the code that is tested.
func naive(e query.Expr, row map[string]string) bool {
	switch {
	case e.Not != nil:
		return !naive(*e.Not, row)
	case e.And != nil:
		for _, one := range e.And {
			if !naive(one, row) {
				return false
			}
		}
		return true
	case e.Or != nil:
		for _, one := range e.Or {
			if naive(one, row) {
				return true
			}
		}
		return false
	case e.Field == query.AnyField && (e.Op == query.Ne || e.Op == query.NotContains):
		positive := map[query.Op]query.Op{query.Ne: query.Eq, query.NotContains: query.Contains}[e.Op]
		return !naive(query.Expr{Field: e.Field, Op: positive, Value: e.Value}, row)
	case e.Field == query.AnyField:
		for name := range query.Types[query.Events] {
			if naive(query.Expr{Field: name, Op: e.Op, Value: e.Value}, row) {
				return true
			}
		}
		return false
	}
	found, wanted := symbols(row[e.Field]), symbols(text.Decode(e.Value))
	within := false
	for from := 0; from+len(wanted) <= len(found); from++ {
		within = within || slices.Equal(found[from:from+len(wanted)], wanted)
	}
	starts := len(found) >= len(wanted) && slices.Equal(found[:len(wanted)], wanted)
	return map[query.Op]bool{query.Eq: slices.Equal(found, wanted), query.Ne: !slices.Equal(found, wanted),
		query.Contains: within, query.NotContains: !within, query.StartsWith: starts}[e.Op]
}

func randomExpr(random *rand.Rand, values []string, depth int) query.Expr {
	switch choice := random.IntN(10); {
	case choice == 0 && depth > 0:
		inner := randomExpr(random, values, depth-1)
		return query.Expr{Not: &inner}
	case choice <= 2 && depth > 0:
		return query.Expr{And: []query.Expr{randomExpr(random, values, depth-1), randomExpr(random, values, depth-1)}}
	case choice <= 4 && depth > 0:
		return query.Expr{Or: []query.Expr{randomExpr(random, values, depth-1), randomExpr(random, values, depth-1)}}
	}
	fields := []string{"event_id", "event_description", "obj_name", query.AnyField}
	ops := []query.Op{query.Eq, query.Ne, query.Contains, query.NotContains, query.StartsWith}
	value := values[random.IntN(len(values))]
	// a part of a stored value
	if whole := []rune(value); random.IntN(2) == 0 && len(whole) > 1 && utf8.ValidString(value) {
		from := random.IntN(len(whole))
		value = string(whole[from : from+random.IntN(len(whole)-from)+1])
	} else if random.IntN(4) == 0 {
		value = randomValue(random)
	}
	return query.Compare(fields[random.IntN(len(fields))], ops[random.IntN(len(ops))], value)
}

// alike are columns that the storage keeps in forms of its own: numbers, great ones, those below zero, of both signs
// and with fractions, addresses, and times.
var alike = [][]string{
	{"0", "9", "10", "101", "201", "1000", "1002", "9007", "40404", "65535", "70007", "100100"},
	{"7", "18446744073709551615", "9007199254740993", "10000000000000000001", "900", "12", "13", "14", "15"},
	{"-5", "-10", "-12", "-101", "-99", "-1000", "-9007", "-65535", "-70007", "-100100"},
	{"-5", "-10", "0", "101", "-99", "1000", "-9007", "3", "70007", "-100100"},
	{"1.5", "0.25", "10.001", "-3.75", "99.9", "0.9876543210987654", "7", "1001.0625", "-0.5", "12.1"},
	{"9.9.9.9", "95.10.0.1", "10.0.0.1", "10.0.10.1", "192.168.0.1", "255.255.255.255", "0.0.0.0", "99.99.99.99",
		"100.64.0.1", "1.1.1.1"},
	{"2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.001Z", "2026-11-27T09:09:09.900Z", "1999-12-31T23:59:59.999Z",
		"2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z", "2026-01-04T00:00:00.000Z",
		"2026-01-05T00:00:00.000Z", "2026-01-06T00:00:00.000Z"},
}

func TestPartsOfNumbersAndAddressesAreFoundLikeThoseOfTexts(t *testing.T) {
	const most = 4 // bytes of a part that does not go on to the end of its value
	parts := map[string]bool{}
	for _, other := range []string{"00", "-0", "7.0", "0.250", "-5.0", "1_0", "010.0.0.1", "+5"} {
		parts[other] = true
	}
	r := newRig(t)
	var all []string // the newest first
	for day, values := range alike {
		var rows []wire.Row
		for n, value := range values {
			// Rows of different days are in different columns.
			age := time.Duration(day)*24*time.Hour + time.Duration(n)*time.Millisecond
			rows = append(rows, r.event(age, "a", value, ""))
			for from := range value {
				for to := from + 1; to <= min(from+most, len(value)); to++ {
					parts[value[from:to]] = true
				}
				parts[value[from:]] = true
			}
		}
		r.add(rows...)
		all = append(all, values...)
	}
	r.close() // so that all is in the storage's files
	r.open()
	for part := range parts {
		for _, op := range []query.Op{query.Eq, query.Contains, query.StartsWith} {
			condition := query.Compare("event_id", op, part)
			q := r.asking()
			q.Where = &condition
			var want []string
			for _, value := range all {
				if naive(condition, map[string]string{"event_id": value}) {
					want = append(want, value)
				}
			}
			if got := r.ids(q); got != strings.Join(want, " ") {
				t.Errorf("%s finds %s, want %v", spelt(condition), got, want)
			}
		}
	}
}

// Random values and conditions must match exactly the rows that a naive evaluation says, from the storage's memory,
// from its files, and from the memory of a controller.
func TestHostileValuesMatchLikeInANaiveEvaluation(t *testing.T) {
	const rows, conditions = 300, 400
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	r := newRig(t)
	var values []string
	var stored []map[string]string
	for n := range rows {
		row := map[string]string{"obj_uuid": strconv.Itoa(n)}
		for _, name := range []string{"event_id", "event_description", "obj_name"} {
			row[name] = randomValue(random)
			values = append(values, row[name])
		}
		added := wire.Row{Time: r.now.Add(-time.Duration(n) * time.Hour), Type: query.Events, Scope: "a"}
		for name, value := range row {
			added.Fields = append(added.Fields, wire.Field{Name: name, Value: value})
		}
		stored = append(stored, row)
		r.add(added)
	}
	for n := range conditions {
		if n == conditions/2 {
			r.close()
			r.open()
		}
		condition := randomExpr(random, values, 3)
		q := r.asking()
		q.Where, q.Rows = &condition, &query.Rows{Limit: rows, Count: true}
		answer := r.ask(q)
		checked, err := q.Check()
		if err != nil {
			t.Fatal(err)
		}
		var want, matched []string
		for _, row := range stored {
			if naive(condition, row) {
				want = append(want, row["obj_uuid"])
			}
			if checked.Where.Match(func(field string) string { return text.Encode(row[field]) }) {
				matched = append(matched, row["obj_uuid"])
			}
		}
		var got []string
		for _, row := range answer.Rows {
			got = append(got, row.Fields["obj_uuid"])
			number, _ := strconv.Atoi(row.Fields["obj_uuid"])
			for name, value := range stored[number] {
				if back := text.Decode(row.Fields[name]); back != value {
					t.Errorf("%s %q came back as %q", name, value, back)
				}
			}
		}
		if !slices.Equal(got, want) || answer.Count != uint64(len(want)) {
			t.Fatalf("seed %d: %s\nfinds %v, %d\n want %v", seed, spelt(condition), got, answer.Count, want)
		}
		if !slices.Equal(matched, want) {
			t.Fatalf("seed %d: %s\nmatches %v in memory\nwant %v", seed, spelt(condition), matched, want)
		}
	}
}

func spelt(e query.Expr) string {
	switch {
	case e.Not != nil:
		return "not " + spelt(*e.Not)
	case e.And != nil:
		return "(" + spelt(e.And[0]) + " and " + spelt(e.And[1]) + ")"
	case e.Or != nil:
		return "(" + spelt(e.Or[0]) + " or " + spelt(e.Or[1]) + ")"
	}
	return fmt.Sprintf("%s %s %q", e.Field, e.Op, text.Decode(e.Value))
}
