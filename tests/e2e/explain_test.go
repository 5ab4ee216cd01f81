package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// explained is what the only engine says about a request.
func (s *stage) explained(fields client.Object) client.Object {
	s.Helper()
	var answer client.Object
	s.must(s.controller.Session.Post(s.ctx, "weir/explain", fields, &answer))
	engines, _ := answer["engines"].([]any)
	if len(engines) != 1 {
		s.Fatalf("%v", answer)
	}
	engine, _ := engines[0].(map[string]any)
	return engine
}

func TestExplanationAgreesWithWhatHappens(t *testing.T) {
	servers := []string{named(t, "one", false), named(t, "two", false), named(t, "three", false)}
	s := setUp(t, servers...)
	s.changeApplied("web", "pool", "web", func(o client.Object) {
		o["lb_algorithm"], o["lb_algorithm_hash"] = "LB_ALGORITHM_CONSISTENT_HASH", "LB_ALGORITHM_CONSISTENT_HASH_URI"
	})
	names := map[string]string{servers[0]: "one", servers[1]: "two", servers[2]: "three"}
	before := s.requests("web")
	if engine := s.explained(client.Object{"url": plainURL("/")}); engine["hash_input"] != "uri" {
		t.Fatalf("%v", engine)
	}
	for n := range 30 {
		path := fmt.Sprintf("/page-%d?n=%d", n, n*n)
		engine := s.explained(client.Object{"url": plainURL(path)})
		if engine["newest"] != true || engine["picked_by"] != "algorithm" {
			t.Fatalf("%v", engine)
		}
		if got := s.curl(plainURL(path)); !strings.HasPrefix(got, names[fmt.Sprint(engine["server"])]+": ") {
			t.Errorf("%s goes to %q, and not to %v", path, got, engine["server"])
		}
	}
	s.eventually("the requests are counted, and questions are none", func() error {
		if counted := s.requests("web") - before; counted != 30 {
			return fmt.Errorf("%v requests", counted)
		}
		return nil
	})

	s.change("pool", "web", func(o client.Object) {
		list, _ := o["servers"].([]any)
		list[0].(map[string]any)["enabled"] = false
	})
	s.eventually("a disabled server takes no request", func() error {
		engine := s.explained(client.Object{"url": plainURL("/"), "header": []any{"X-Any: thing"},
			"client": "10.9.8.7"})
		states := fmt.Sprint(engine["servers"])
		if strings.Count(states, "state:eligible") != 2 || strings.Count(states, "state:disabled") != 1 {
			return fmt.Errorf("%s", states)
		}
		return nil
	})
	run := s.commands()
	contains(t, run("explain", plainURL("/a"), "-X", "POST", "-H", "Cookie: a=b"), "POST http://"+plainAddress+"/a",
		"virtual service web", "ENGINE engine-1", "the newest", "consistent hash of the uri", "2 of 3 take requests",
		"The server would be ", "disabled", "eligible")
}

func TestExplanationTellsRulesInOrder(t *testing.T) {
	s := policyStage(t, client.Object{"http_request_policy": requestRules(
		object{"name": "mark", "hdr_action": list{header("HTTP_ADD_HDR", "X-Mark", "1")}},
		object{"name": "move", "match": onPath("BEGINS_WITH", "/api"), "rewrite_url_action": object{
			"path": object{"type": "URI_PARAM_TYPE_TOKENIZED", "tokens": list{
				object{"type": "URI_TOKEN_TYPE_STRING", "str_value": "v2"}}}}},
		object{"name": "choose", "match": onPath("BEGINS_WITH", "/api"), "switching_action": toPool("api")})})
	contains(t, s.commands()("explain", plainURL("/api/x")), "The request rule mark of rules adds the header X-Mark. ",
		"The request rule move of rules rewrites the URL to /v2. ",
		"The request rule choose of rules chooses the pool. ", "The server is asked for /v2.", "The pool is api: ")
	if engine := s.explained(client.Object{"url": plainURL("/")}); engine["request_rule"] != nil ||
		!strings.Contains(fmt.Sprint(engine["request_rules"]), "name:mark") {
		t.Errorf("the answer is %v", engine)
	}
}

func TestDraftOfANewServiceIsAnswered(t *testing.T) {
	server := echo(t)
	s := setUp(t, server)
	const port = 8123
	with := []any{
		object{"vsvip": object{"name": "fresh", "vip": list{object{"vip_id": "1",
			"ip_address": object{"addr": loopback(9), "type": "V4"}}}}},
		object{"virtualservice": object{"name": "fresh", "vsvip_ref": client.Ref("vsvip", "fresh"),
			"pool_ref": client.Ref("pool", "web"), "services": list{object{"port": port}}}},
	}
	url := fmt.Sprintf("http://shop.test:%d/", port)
	s.eventually("the engine has its newest configuration, and answers", func() error {
		engine := s.explained(client.Object{"url": url, "with": with})
		if engine["error"] != nil || engine["server"] != server || engine["listens"] != true ||
			!strings.Contains(fmt.Sprint(engine["virtualservice"]), "fresh") {
			return fmt.Errorf("%v", engine)
		}
		return nil
	})
	if _, err := s.controller.Session.ByName(s.ctx, "virtualservice", "fresh"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("the draft is stored: %v", err)
	}
	if _, err := getOnce(fmt.Sprintf("http://%s:%d/", loopback(9), port)); err == nil {
		t.Error("the draft is served")
	}
	if got := s.curl(plainURL("/")); !strings.HasPrefix(got, "GET /\n") {
		t.Errorf("the virtual service that is there answers %q", got)
	}
}

func TestQuestionsThatLeadNowhereSayWhy(t *testing.T) {
	s := setUp(t, echo(t))
	refused := func(fields client.Object, want string) {
		t.Helper()
		err := s.controller.Session.Post(s.ctx, "weir/explain", fields, new(client.Object))
		var problem *client.Problem
		if !errors.As(err, &problem) || problem.Status != http.StatusBadRequest ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", fields, err, want)
		}
	}
	refused(client.Object{"url": "https://127.9.9.9/"}, "no virtual service that you may read listens at 127.9.9.9:443")
	refused(client.Object{"url": "https://shop.test:7/"}, "no virtual service that you may read listens on port 7")
	refused(client.Object{"url": "gopher://a/"}, "http:// or https://")
	refused(client.Object{"url": "http://a/\x1b[31m"}, "control characters")
	refused(client.Object{"url": plainURL("/"), "header": []any{"X: a\r\nY: b"}}, "is no header")
	refused(client.Object{"url": plainURL("/"), "method": "GET /x HTTP/1.1\r\n"}, "is no method")
	refused(client.Object{"url": plainURL("/"), "client": "nobody"}, "is no IP address")
	refused(client.Object{"url": plainURL("/"), "colour": "red"}, "is unknown")

	if engine := s.explained(client.Object{"url": "http://" + tlsAddress + "/"}); !strings.Contains(
		fmt.Sprint(engine["response"]), "tls_expected") {
		t.Errorf("%v", engine)
	}
	engine := s.explained(client.Object{"url": plainURL("/"),
		"header": []any{"Content-Length: 1", "Content-Length: 2"}})
	if !strings.Contains(fmt.Sprint(engine["response"]), "client_bad_request") {
		t.Errorf("%v", engine)
	}
	s.must(s.engine.Stop())
	s.eventually("an engine that is away is named", func() error {
		if engine := s.explained(client.Object{"url": plainURL("/")}); engine["error"] != "it is not connected" {
			return fmt.Errorf("%v", engine)
		}
		return nil
	})
}
