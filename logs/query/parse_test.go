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
