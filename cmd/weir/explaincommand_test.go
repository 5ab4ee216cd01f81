package main

import (
	"bytes"
	"strings"
	"testing"
)

func answered(engine map[string]any) map[string]any {
	return map[string]any{"method": "GET", "host": "shop.test", "target": "/cart", "tls": true,
		"client": "192.0.2.1:50000", "address": "10.0.0.1", "port": 443.0,
		"virtualservice": map[string]any{"name": "front"}, "engines": []any{engine}}
}

func printed(t *testing.T, engine map[string]any) string {
	t.Helper()
	var out bytes.Buffer
	if err := printExplanation(&out, answered(engine)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestExplanationHasALineForEachStage(t *testing.T) {
	got := printed(t, map[string]any{
		"name": "engine-1", "stages": []any{
			map[string]any{"name": "client", "text": "192.0.2.1:50000 would connect to 10.0.0.1:443."},
			map[string]any{"name": "pool", "text": "The pool is carts: least connections."},
		},
		"servers": []any{
			map[string]any{"id": "10.1.0.1:80", "state": "down", "connections": 0.0, "ratio": 1.0,
				"reason": "HTTP 500"},
			map[string]any{"id": "10.1.0.2:80", "state": "eligible", "connections": 3.0,
				"max_connections": 9.0, "ratio": 2.0},
		}, "servers_total": 1500.0,
	})
	const want = "" +
		"GET https://shop.test/cart\n" +
		"from 192.0.2.1:50000 to 10.0.0.1:443, virtual service front\n" +
		"\n" +
		"ENGINE engine-1\n" +
		"client      192.0.2.1:50000 would connect to 10.0.0.1:443.\n" +
		"pool        The pool is carts: least connections.\n" +
		"\n" +
		"SERVER          STATE      REQUESTS   RATIO   WHY\n" +
		"10.1.0.1:80     down       0          1       HTTP 500\n" +
		"10.1.0.2:80     eligible   3 of 9     2\n" +
		"and 1498 more\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRulesWithoutEffectComeLast(t *testing.T) {
	answer := answered(map[string]any{"name": "engine-1"})
	answer["rules_without_effect"] = []any{map[string]any{"kind": "httppolicyset",
		"name": "house\x1b[2J", "rule": "blue",
		"field": "http_request_policy.rules[1]", "why": `rule "blue" never matches: match.path is empty`}}
	var out bytes.Buffer
	if err := printExplanation(&out, answer); err != nil {
		t.Fatal(err)
	}
	const want = "\n\nRULES WITHOUT EFFECT\n" +
		"httppolicyset house\\u{1b}[2J, http_request_policy.rules[1]: rule \"blue\" never matches: match.path is empty\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %q", out.String())
	}
}

func TestHostileTextsAreHarmlessInATerminal(t *testing.T) {
	hostile := "\x1b]0;owned\a\x1b[2J\u202e\r\nSERVER fake"
	got := printed(t, map[string]any{
		"name": hostile, "stages": []any{map[string]any{"name": hostile, "text": hostile}},
		"servers": []any{map[string]any{"id": hostile, "reason": hostile, "state": hostile}}})
	if strings.ContainsAny(got, "\x1b\a\r\u202e") || strings.Contains(got, "\nSERVER fake") {
		t.Errorf("%q", got)
	}
}

func TestWhatIsNoURLIsNotAsked(t *testing.T) {
	command := explainCommand()
	command.SetArgs([]string{"\x1b[31mabc"})
	command.SilenceUsage, command.SilenceErrors = true, true
	if err := command.Execute(); err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%v", err)
	}
}

func TestANameWithoutARecordMayBeAHost(t *testing.T) {
	for id, want := range map[string]string{
		"app-test-shop":              "for a host, give a URL, such as https://app-test-shop/",
		"se-7aaf03e8-1-hoj4bdy62i.5": "no record has the request_id se-7aaf03e8-1-hoj4bdy62i.5",
	} {
		if err := noRecord(id); !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestADraftIsReadInItsOrder(t *testing.T) {
	for text, want := range map[string]string{
		`{"pool": {"name": "api"}, "httppolicyset": {"name": "house"}, "pool": {"name": "b"}}`: "pool api, " +
			"httppolicyset house, pool b",
		`{"http_request_policy": {"rules": []}}`: "http_request_policy is no kind of object",
		`{"pool": null}`:                         "pool is not a JSON object",
		`{"pool": {"name": "a"}`:                 "is not a JSON object",
		`{"pool": {}} {"pool": {}}`:              "has more behind its JSON object",
		`[]`:                                     "is not a JSON object",
		`{}`:                                     "has no object",
	} {
		objects, err := objectsIn([]byte(text))
		var got []string
		for _, object := range objects {
			got = append(got, object.kind.Name+" "+object.fields["name"].(string))
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if said := strings.Join(got, ", "); !strings.HasPrefix(said, want) {
			t.Errorf("%s: %s", text, said)
		}
	}
}

func TestADraftIsSaidFirst(t *testing.T) {
	answer := answered(map[string]any{"name": "engine-1"})
	answer["draft"] = []any{map[string]any{"kind": "httppolicyset", "name": "house\x1b[2J",
		"weir_warnings": []any{map[string]any{"field": "x", "message": "is unknown: dropped"}}}}
	answer["findings"] = []any{map[string]any{"kind": "virtualservice", "name": "front", "field": "services",
		"why": "has no port"}}
	var out bytes.Buffer
	if err := printExplanation(&out, answer); err != nil {
		t.Fatal(err)
	}
	const want = "virtual service front\n" +
		"As if this were stored: httppolicyset house\\u{1b}[2J. Nothing is written.\n" +
		"Warning: httppolicyset house\\u{1b}[2J: x: is unknown: dropped.\n" +
		"virtualservice front: services: has no port.\n\nENGINE"
	if !strings.Contains(out.String(), want) {
		t.Errorf("got %q", out.String())
	}
}
