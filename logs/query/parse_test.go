package query

import (
	"reflect"
	"strings"
	"testing"
)

func TestConditionsAreReadAsParametersOfAURLHaveThem(t *testing.T) {
	one := Compare("response_code", Ge, "500")
	for text, want := range map[string]Expr{
		"ge(response_code,500)":          one,
		" filter=ge(response_code,500) ": one,
		"ge(response_code,500)&sw(uri_path,/pay)": {And: []Expr{one,
			Compare("uri_path", StartsWith, "/pay")}},
		`filter=ge(response_code,500) & filter=co(uri_query,"a&b=\"c")`: {And: []Expr{one,
			Compare("uri_query", Contains, `a&b="c`)}},
		"eq(host,a,b)": Compare("host", Eq, "a,b"),
		`any(ge(response_code,500), all(eq(host,"a,(b"),eq(method,"\")")))&sw(uri_path,/pay)`: {And: []Expr{
			{Or: []Expr{one, {And: []Expr{Compare("host", Eq, "a,(b"), Compare("method", Eq, `")`)}}}},
			Compare("uri_path", StartsWith, "/pay")}},
	} {
		got, err := ParseAll(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, problem := range map[string]string{
		"": "no condition", "response_code=500": "write it as", "eq(host)": "no comma", `eq(host,"a)`: "no",
		"eq(a,b)&": "write it", "any()": "write it", "any(eq(a,b),)": "write it", "any(eq(a))": "no comma",
		strings.Repeat("all(", 40) + "eq(a,b)" + strings.Repeat(")", 40): "levels",
	} {
		if got, err := ParseAll(text); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestQuotesOpenOnlyAtTheBeginningOfAValue(t *testing.T) {
	agent, busy := Compare("user_agent", Contains, `a"b`), Compare("response_code", Eq, "503")
	for text, want := range map[string]Expr{
		`any(co(user_agent,a"b),eq(response_code,503))`: {Or: []Expr{agent, busy}},
		`co(user_agent,a"b)&eq(response_code,503)`:      {And: []Expr{agent, busy}},
		`eq(uri_query,"f(x)&g(y)")`:                     Compare("uri_query", Eq, "f(x)&g(y)"),
		`eq(response_code,503)&any(eq(uri_query,"f(x)&g(y)"),eq(a," ,)"))`: {And: []Expr{busy,
			{Or: []Expr{Compare("uri_query", Eq, "f(x)&g(y)"), Compare("a", Eq, " ,)")}}}},
		`co(user_agent,X11 (Linux))&eq(response_code,503)`: {And: []Expr{
			Compare("user_agent", Contains, "X11 (Linux)"), busy}},
	} {
		if got, err := ParseAll(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for text, problem := range map[string]string{
		`any(eq(host,b)))`: "follows", `any(eq(host,b)`: "not closed",
		`any(eq(host,a(b),eq(method,c)))`: "needs quotes",
		`any(eq(host,"b),eq(method,c))`:   "quote", `eq(host,"a"b")`: "quote", `eq(host,"a\")`: "quote",
		`any(eq(host,b)eq(host,c))`: "follows", `eq(host,b`: "not closed", `any(eq(host),eq(a,b))`: "no comma",
	} {
		for name, parse := range map[string]func(string) (Expr, error){"one": Parse, "all": ParseAll} {
			if got, err := parse(text); err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s, %s: %+v, %v", text, name, got, err)
			}
		}
	}
}

func TestClientsHaveNoOperatorForWords(t *testing.T) {
	for _, parse := range []func(string) (Expr, error){Parse, ParseAll} {
		got, err := parse("has(significant_log,RESET)")
		if err == nil || !strings.Contains(err.Error(), "no operator") {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for _, value := range []string{"", "a b"} {
		if e, err := Compare("significant_log", Has, value).Checked(Requests); err == nil {
			t.Errorf("a list has the word %q: %+v", value, e)
		}
	}
}

func TestEqualToNamesIsEqualToOneOfThem(t *testing.T) {
	const field = "http_request_policy_rule_name"
	for value, want := range map[string]bool{"Rule": false, "Rule 1": true, "b": true, "Rule 1, b": true, "": false} {
		for op, want := range map[Op]bool{Eq: want, Ne: !want} {
			e, err := Compare(field, op, value).Checked(Requests)
			if err != nil || e.Match(func(string) string { return "Rule 1, b" }) != want {
				t.Errorf("%s %s: not %v, %v", op, value, want, err)
			}
			if again, err := e.Checked(Requests); err != nil || !reflect.DeepEqual(again, e) {
				t.Errorf("a checked condition becomes %+v, %v", again, err)
			}
		}
	}
	for field, value := range map[string]string{"host": "x", field: "a, b"} {
		if _, err := Compare(field, Among, value).Checked(Requests); err == nil {
			t.Errorf("%s has the name %q", field, value)
		}
	}
	if _, err := Parse("among(" + field + ",b)"); err == nil {
		t.Error("clients have an operator for names")
	}
}

func TestARecordCountsAtLeastAsOne(t *testing.T) {
	for weight, want := range map[string]uint64{"": 1, "0": 1, "1": 1, "7": 7, "x": 1} {
		if got := WeightOf(weight); got != want {
			t.Errorf("weight %q counts as %d", weight, got)
		}
	}
}

func TestEqualToAListIsEqualToOneOfItsWords(t *testing.T) {
	for value, want := range map[string]bool{"RESET": false, "SERVER_RESET": true, "RETRIED": true,
		"SERVER_RESET RETRIED": true, "": false} {
		for op, want := range map[Op]bool{Eq: want, Ne: !want} {
			e, err := Compare("significant_log", op, value).Checked(Requests)
			if err != nil || e.Match(func(string) string { return "SERVER_RESET RETRIED" }) != want {
				t.Errorf("%s %s: not %v, %v", op, value, want, err)
			}
			if again, err := e.Checked(Requests); err != nil || !reflect.DeepEqual(again, e) {
				t.Errorf("a checked condition becomes %+v, %v", again, err)
			}
		}
	}
	if _, err := Compare("host", Has, "x").Checked(Requests); err == nil {
		t.Error("a host has words")
	}
}

func TestSignificantInsideOfAnAlternativeIsThatOfRecords(t *testing.T) {
	e, err := Parse(`any(eq(adf,true),eq(host,"a"))`)
	if err != nil {
		t.Fatal(err)
	}
	want := Expr{Or: []Expr{Compare("class", Eq, Significant), Compare("host", Eq, "a")}}
	if got := OfRequests(e); !reflect.DeepEqual(got, want) {
		t.Errorf("it is %+v", got)
	}
}

func TestAPoolIsFoundByItsNameAndByItsUUID(t *testing.T) {
	carts := map[string]string{"pool": "pool-7", "pool_name": "carts"}
	for condition, holds := range map[string][2]bool{ // of carts, and of a record without a pool
		"eq(pool,carts)":                 {true, false},
		"eq(pool,pool-7)":                {true, false},
		"eq(pool,pool-8)":                {false, false},
		"ne(pool,carts)":                 {false, true},
		"ne(pool,pool-7)":                {false, true},
		"co(pool,art)":                   {true, false},
		"nc(pool,art)":                   {false, true},
		"sw(pool,pool-)":                 {true, false},
		"eq(pool,)":                      {false, true},
		"ne(pool,)":                      {true, false},
		"any(eq(pool,carts),eq(host,a))": {true, false},
		"all(ne(pool,carts),ne(host,a))": {false, true},
	} {
		e, err := Parse(condition)
		if err != nil {
			t.Fatal(err)
		}
		checked, err := OfRequests(e).Checked(Requests)
		if err != nil {
			t.Fatal(err)
		}
		none := map[string]string{}
		for i, record := range []map[string]string{carts, none} {
			if got := checked.Match(func(field string) string { return record[field] }); got != holds[i] {
				t.Errorf("%s of %v: %v", condition, record, got)
			}
		}
	}
}

func TestFilterTakesWhatAnAnswerShowsOfAByte(t *testing.T) {
	for _, given := range []string{"eq(user_agent,a\xff)", "eq(user_agent,\"a\U0010feff\")",
		"any(eq(user_agent,a\U0010feff))"} {
		parsed, err := Parse(given)
		if parsed.Or != nil {
			parsed = parsed.Or[0]
		}
		if err != nil || parsed.Value != "a\U0010feff" {
			t.Errorf("%q is %q, %v", given, parsed.Value, err)
		}
	}
}
