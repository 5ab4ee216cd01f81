package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// The example of docs/datascript.md, as it stands there.
func TestScriptsSteerAsTheirPageSays(t *testing.T) {
	s := policyStage(t, client.Object{})
	scripts := blocks(t, "datascript.md", "lua")
	set, err := json.Marshal(object{
		"pool_refs":         list{client.Ref("pool", "api")},
		"string_group_refs": list{client.Ref("stringgroup", "outside")},
		"datascript": list{
			object{"evt": "VS_DATASCRIPT_EVT_HTTP_REQ", "script": scripts[0]},
			object{"evt": "VS_DATASCRIPT_EVT_HTTP_RESP", "script": scripts[1]},
		}})
	s.must(err)
	s.must(os.WriteFile(filepath.Join(s.dir, "steer.json"), set, 0o600))
	run := s.commands()
	for line := range strings.Lines(blocks(t, "datascript.md", "")[0]) {
		if strings.Contains(line, "pool create api") {
			continue // the stage has it, with a server that is there
		}
		words := strings.Fields(strings.ReplaceAll(line, "vs set shop", "vs set web"))
		for i, word := range words {
			if word == "steer.json" {
				words[i] = filepath.Join(s.dir, word)
			}
		}
		if out := run(words[1:]...); strings.Contains(strings.ToLower(out), "warning") {
			t.Errorf("%s says %s", line, out)
		}
	}
	s.eventually("the scripts are in force", func() error {
		if answer := s.ask(false, "shop.test", "/api/x"); !strings.HasPrefix(answer, "api: ") {
			return fmt.Errorf("got %q", answer)
		}
		return nil
	})
	for path, server := range map[string]string{"/api/x": "api: ", "/x": "web: "} {
		s.everyWay(path, []string{"-i"}, func(way, answer string) {
			if low := strings.ToLower(answer); !strings.Contains(answer, server) ||
				!strings.Contains(low, "x-asked: "+path) {
				t.Errorf("%s %s: got %q", way, path, answer)
			}
		})
	}
	s.everyWay("/x", []string{"-A", "BadBot/1"}, func(way, answer string) {
		if answer != "<h1>no</h1> 403" {
			t.Errorf("%s: got %q", way, answer)
		}
	})
	if told := s.explained(client.Object{"url": plainURL("/api/x")}); told["datascript_log"] != "api" {
		t.Errorf("the explanation is %v", told)
	}
	s.eventually("what scripts log is recorded", func() error {
		page, err := s.records("type=1&filter=co(datascript_log,BadBot)")
		if err == nil && page.Count == 0 {
			err = fmt.Errorf("the records are %v", page)
		}
		return err
	})
	s.change("vsdatascriptset", "steer", func(o client.Object) {
		o["datascript"].(list)[0].(object)["script"] = "if avi.http.get_path() == '/x' then\n  avi.vs.nothing()\nend"
	})
	s.eventually("a fault is a 500, and its record says where it is", func() error {
		if answer := s.ask(false, "shop.test", "/x"); !strings.HasSuffix(answer, " 500") {
			return fmt.Errorf("got %q", answer)
		}
		page, err := s.records("type=1&filter=eq(request_state,script_failed)")
		if err != nil || page.Count == 0 {
			return fmt.Errorf("the records are %v, %v", page, err)
		}
		text := fmt.Sprint(page.Results[0])
		if !strings.Contains(text, "steer HTTP_REQ:2: avi.vs.nothing does not exist") ||
			!strings.Contains(text, "ADF_DATASCRIPT_EXECUTION_FAILED") {
			return fmt.Errorf("the record is %s", text)
		}
		return nil
	})
}

// The limit of docs/datascript.md, as it stands there.
func TestScriptsLimitAsTheirPageSays(t *testing.T) {
	s := policyStage(t, client.Object{})
	scripts := blocks(t, "datascript.md", "lua")
	at := slices.IndexFunc(scripts, func(script string) bool { return strings.Contains(script, "ratelimit.exceed") })
	if at < 0 {
		t.Fatal("the page has no script with a limit")
	}
	s.create("vsdatascriptset", client.Object{"name": "limits",
		"rate_limiters": list{object{"name": "logins", "count": 2, "period": 1000}},
		"datascript":    list{object{"evt": "VS_DATASCRIPT_EVT_HTTP_REQ", "script": scripts[at]}},
	})
	s.change("virtualservice", "web", func(o client.Object) {
		o["vs_datascripts"] = list{object{"index": 1, "vs_datascript_set_ref": client.Ref("vsdatascriptset", "limits")}}
	})
	s.eventually("logins are limited", func() error {
		if answer := s.ask(false, "shop.test", "/login"); answer != "slow down 429" {
			return fmt.Errorf("got %q", answer)
		}
		return nil
	})
	if answer := s.ask(false, "shop.test", "/x"); !strings.HasPrefix(answer, "web: ") {
		t.Errorf("another path: got %q", answer)
	}
}

// The scripts for bodies and for the choice of a server in docs/datascript.md, as they stand there.
func TestScriptsSeeBodiesAsPageSays(t *testing.T) {
	s := policyStage(t, client.Object{})
	scripts := blocks(t, "datascript.md", "lua")
	with := func(event, text string) object {
		at := slices.IndexFunc(scripts, func(script string) bool { return strings.Contains(script, text) })
		if at < 0 {
			t.Fatalf("the page has no script with %q", text)
		}
		script := strings.ReplaceAll(scripts[at], `select("large")`, `select("api")`)
		return object{"evt": "VS_DATASCRIPT_EVT_" + event, "script": script}
	}
	s.create("vsdatascriptset", client.Object{"name": "bodies",
		"pool_refs":     list{client.Ref("pool", "api")},
		"rate_limiters": list{object{"name": "tokens", "count": 100, "period": 1000}},
		"datascript": list{
			with("HTTP_REQ", "set_request_body_buffer_size"), with("HTTP_REQ_DATA", "get_req_body"),
			with("HTTP_LB_DONE", "avi.pool.name"),
			object{"evt": "VS_DATASCRIPT_EVT_HTTP_RESP", "script": "avi.http.set_response_body_buffer_size(4)"},
			object{"evt": "VS_DATASCRIPT_EVT_HTTP_RESP_DATA", "script": `
				if string.contains(avi.http.get_response_body(), "/secret") then
				  avi.http.response(403, {}, "hidden")
				end`},
		}})
	s.change("virtualservice", "web", func(o client.Object) {
		o["vs_datascripts"] = list{object{"index": 1, "vs_datascript_set_ref": client.Ref("vsdatascriptset", "bodies")}}
	})
	large := []string{"--data", `{"model": "large-70b"}`}
	s.eventually("the scripts are in force", func() error {
		if answer := s.ask(false, "shop.test", "/x", large...); !strings.HasPrefix(answer, "api: ") {
			return fmt.Errorf("got %q", answer)
		}
		return nil
	})
	for _, c := range []struct{ path, body, begins, ends string }{
		{"/x", `{"model": "large-70b"}`, "api: ", " X-Pool=api 200"},
		{"/x", `{"model": "small"}`, "web: ", " X-Pool=web 200"},
		{"/x", "{}", `{"error": "no model"}`, " 400"},
		{"/secret", `{"model": "small"}`, "hidden", " 403"},
	} {
		s.everyWay(c.path, []string{"--data", c.body}, func(way, answer string) {
			if !strings.HasPrefix(answer, c.begins) || !strings.HasSuffix(answer, c.ends) {
				t.Errorf("%s %s: got %q", way, c.body, answer)
			}
		})
	}
}

// The script of docs/datascript.md that binds clients to servers, as it stands there.
func TestScriptsBindAsTheirPageSays(t *testing.T) {
	s := policyStage(t, client.Object{})
	scripts := blocks(t, "datascript.md", "lua")
	at := slices.IndexFunc(scripts, func(script string) bool { return strings.Contains(script, "avi.vs.persist") })
	if at < 0 {
		t.Fatal("the page has no script that binds")
	}
	s.create("pool", client.Object{"name": "both", "lb_algorithm": "LB_ALGORITHM_ROUND_ROBIN",
		"servers": serverList([]string{telling(t, "one"), telling(t, "two")})})
	s.create("vsdatascriptset", client.Object{"name": "bind",
		"datascript": list{object{"evt": "VS_DATASCRIPT_EVT_HTTP_REQ", "script": scripts[at]}}})
	s.change("virtualservice", "web", func(o client.Object) {
		o["pool_ref"] = client.Ref("pool", "both")
		o["vs_datascripts"] = list{object{"index": 1, "vs_datascript_set_ref": client.Ref("vsdatascriptset", "bind")}}
	})
	ask := func(token string) string {
		name, _, _ := strings.Cut(s.ask(false, "shop.test", "/x", "-H", "X-Token: "+token), ":")
		return name
	}
	s.eventually("a client stays at its server", func() error {
		first := ask("first")
		for range 12 {
			if name := ask("first"); name != first || name == "web" {
				return fmt.Errorf("got %s after %s", name, first)
			}
		}
		return nil
	})
	found := map[string]bool{}
	for i := range 12 {
		token := fmt.Sprint("token ", i)
		name := ask(token)
		found[name] = true
		if again := ask(token); again != name {
			t.Errorf("%s: got %s after %s", token, again, name)
		}
	}
	if !found["one"] || !found["two"] {
		t.Errorf("all clients are at %v", found)
	}
}

// The script of docs/datascript.md that chooses pools by labels, as it stands there.
func TestScriptsChooseByLabel(t *testing.T) {
	s := policyStage(t, client.Object{})
	scripts := blocks(t, "datascript.md", "lua")
	at := slices.IndexFunc(scripts, func(script string) bool { return strings.Contains(script, `select("paths"`) })
	if at < 0 {
		t.Fatal("the page has no script with a label")
	}
	s.create("poolgroup", client.Object{"name": "paths", "implicit_priority_labels": true, "members": list{
		object{"pool_ref": client.Ref("pool", "web")},
		object{"pool_ref": client.Ref("pool", "api"), "priority_label": "shop.test/api"}}})
	s.create("vsdatascriptset", client.Object{"name": "paths",
		"pool_group_refs": list{client.Ref("poolgroup", "paths")},
		"datascript":      list{object{"evt": "VS_DATASCRIPT_EVT_HTTP_REQ", "script": scripts[at]}}})
	s.change("virtualservice", "web", func(o client.Object) {
		o["vs_datascripts"] = list{object{"index": 1, "vs_datascript_set_ref": client.Ref("vsdatascriptset", "paths")}}
	})
	s.eventually("the label chooses", func() error {
		if answer := s.ask(false, "shop.test", "/api/x"); !strings.HasPrefix(answer, "api: ") {
			return fmt.Errorf("got %q", answer)
		}
		return nil
	})
	for range 3 {
		for path, server := range map[string]string{"/api": "api: ", "/x": "web: "} {
			s.everyWay(path, nil, func(way, answer string) {
				if !strings.HasPrefix(answer, server) {
					t.Errorf("%s %s: got %q", way, path, answer)
				}
			})
		}
	}
	if told := s.explained(client.Object{"url": plainURL("/api/x")}); !strings.Contains(fmt.Sprint(told), "paths") {
		t.Errorf("the explanation is %v", told)
	}
}
