package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// blocks are the contents of the fenced blocks of a page of docs with this language.
func blocks(t *testing.T, page, language string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "```") {
		if inside, isOf := strings.CutPrefix(part, language+"\n"); i%2 == 1 && isOf {
			found = append(found, inside)
		}
	}
	return found
}

// The example of docs/limits.md, as it stands there.
func TestEachAPIKeyHasItsOwnRate(t *testing.T) {
	s := policyStage(t, client.Object{})
	var objects map[string]json.RawMessage
	s.must(json.Unmarshal([]byte(blocks(t, "limits.md", "json")[0]), &objects))
	for kind, name := range map[string]string{"applicationprofile": "api.json", "httppolicyset": "keys.json"} {
		s.must(os.WriteFile(filepath.Join(s.dir, name), objects[kind], 0o600))
	}
	run := s.commands()
	commands := blocks(t, "limits.md", "")
	at := slices.IndexFunc(commands, func(block string) bool { return strings.Contains(block, "--file keys.json") })
	for line := range strings.Lines(commands[at]) {
		words := strings.Fields(strings.ReplaceAll(line, "vs set shop", "vs set web"))
		for i, word := range words {
			if strings.HasSuffix(word, ".json") {
				words[i] = filepath.Join(s.dir, word)
			}
		}
		if out := run(words[1:]...); strings.Contains(strings.ToLower(out), "warning") {
			t.Errorf("%s says %s", line, out)
		}
	}
	s.eventually("who has no key gets nothing", func() error {
		if answer := s.ask(false, "shop.test", "/"); !strings.HasSuffix(answer, " 403") {
			return fmt.Errorf("got %q", answer)
		}
		return nil
	})
	const most, refusal = 5, `{"error": "too many requests"} 429`
	for _, key := range []string{"one", "two"} {
		// Over HTTP/1.1 and HTTP/2, with TLS and without: it is one rate.
		passed, refused := 0, 0
		for range most {
			s.everyWay("/", []string{"-H", "X-Api-Key: " + key}, func(way, answer string) {
				switch {
				case strings.HasPrefix(answer, "web: ") && strings.HasSuffix(answer, " 200"):
					passed++
				case answer == refusal:
					refused++
				default:
					t.Errorf("%s: got %q", way, answer)
				}
			})
		}
		// On a slow machine another one may pass each twelve seconds.
		if passed < most || passed > most+2 || passed+refused != 4*most {
			t.Errorf("%d pass and %d are refused of the key %s", passed, refused, key)
		}
	}
	answer := strings.ToLower(s.ask(false, "shop.test", "/", "-i", "-H", "X-Api-Key: two"))
	contains(t, answer, "retry-after: ", "content-type: application/json", " 429")

	explained := s.explained(client.Object{"url": plainURL("/"), "header": list{"X-Api-Key: two"}})
	if limit := fmt.Sprint(explained["limit"]); !strings.Contains(limit, "http_header_rate_limits[0]") {
		t.Errorf("the explanation is %v", explained)
	}
	fresh := s.explained(client.Object{"url": plainURL("/"), "header": list{"X-Api-Key: three"}})
	if fresh["limit"] != nil || fresh["server"] == nil {
		t.Errorf("the explanation is %v", fresh)
	}
	s.eventually("refusals are counted and recorded", func() error {
		if total, _ := s.counters("web")["errors_client_request_rate"].(float64); total < 2*(4*most-most-2) {
			return fmt.Errorf("%v are counted", total)
		}
		page, err := s.records("type=1&filter=eq(request_state,client_request_rate)")
		if err == nil && (page.Count == 0 || !strings.Contains(fmt.Sprint(page.Results[0]), "RATE_LIMITED")) {
			err = fmt.Errorf("the records are %v", page)
		}
		return err
	})
}

func TestRuleLimitsEachClientAndPath(t *testing.T) {
	var login object
	if err := json.Unmarshal([]byte(blocks(t, "limits.md", "json")[1]), &login); err != nil {
		t.Fatal(err)
	}
	s := policyStage(t, client.Object{"http_security_policy": object{"rules": list{login}}})
	statuses := func(from int, path string, count int) string {
		var got []string
		for range count {
			answer := s.ask(false, "shop.test", path, "--interface", loopback(from))
			got = append(got, answer[strings.LastIndex(answer, " ")+1:])
		}
		return strings.Join(got, " ")
	}
	const passing = "200 200 200 200 200"
	for _, from := range []int{21, 22} {
		if got := statuses(from, "/login", 6); got != passing+" 429" {
			t.Errorf("client %d gets %s", from, got)
		}
	}
	if got := statuses(21, "/", 5); got != passing {
		t.Errorf("elsewhere it gets %s", got)
	}
	s.change("httppolicyset", "rules", func(o client.Object) {
		rules := o["http_security_policy"].(object)["rules"].(list)
		rules[0].(object)["action"].(object)["rate_profile"].(object)["action"] = object{"type": "RL_ACTION_NONE"}
	})
	s.eventually("a limit that only reports is in force", func() error {
		if got := statuses(21, "/login", 1); got != fmt.Sprint(http.StatusOK) {
			return fmt.Errorf("got %s", got)
		}
		return nil
	})
	if got := statuses(21, "/login", 5); got != passing {
		t.Errorf("a limit that only reports gives %s", got)
	}
}

func TestClientThatFailsTooOftenIsRefusedWithAllItAsks(t *testing.T) {
	var profile client.Object
	if err := json.Unmarshal([]byte(blocks(t, "limits.md", "json")[2]), &profile); err != nil {
		t.Fatal(err)
	}
	const guessing, other, most = 71, 72, 10
	s := policyStage(t, client.Object{"http_security_policy": object{"rules": numbered([]object{{
		"match": onPath("BEGINS_WITH", "/secret"), "action": object{"action": "HTTP_SECURITY_ACTION_SEND_RESPONSE",
			"status_code": "HTTP_LOCAL_RESPONSE_STATUS_CODE_403"}}})}})
	s.create("applicationprofile", profile)
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["application_profile_ref"] = client.Ref("applicationprofile", "guard")
	})
	status := func(from int, path string) string {
		answer := s.ask(false, "shop.test", path, "--interface", loopback(from))
		return answer[strings.LastIndex(answer, " ")+1:]
	}
	for i := range most {
		if got := status(guessing, fmt.Sprint("/secret/", i)); got != "403" {
			t.Errorf("guess %d gets %s", i+1, got)
		}
	}
	for _, path := range []string{"/secret/x", "/"} {
		// On a slow machine it may fail once more each six seconds.
		if got := status(guessing, path); got != "429" && path == "/" {
			t.Errorf("afterwards, %s gets %s", path, got)
		}
	}
	if got := status(other, "/"); got != "200" {
		t.Errorf("another client gets %s", got)
	}
}

func TestConnectionsBeyondLimitsAreRefused(t *testing.T) {
	s := policyStage(t, client.Object{})
	run := s.commands()
	// As in docs/limits.md, with other numbers.
	command := strings.TrimSpace(blocks(t, "limits.md", "")[0])
	set := strings.NewReplacer(" shop ", " web ", "=50 ", "=10 ", "=20000", "=4").Replace(command)
	run(strings.Fields(set)[1:]...)
	dial := func(from int) net.Conn {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(loopback(from))}}
		conn, err := dialer.DialContext(s.ctx, "tcp", fmt.Sprintf("%s:%d", vip, plainPort))
		s.must(err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	// answers tells whether the engine answers on a connection.
	answers := func(conn net.Conn) bool {
		if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"); err != nil {
			return false
		}
		_, err := conn.Read(make([]byte, 1))
		return err == nil
	}
	s.eventually("a fifth connection at once is refused", func() error {
		var open []net.Conn
		defer func() {
			for _, conn := range open {
				_ = conn.Close()
			}
		}()
		for i := range 5 {
			conn := dial(30 + i)
			open = append(open, conn)
			if got := answers(conn); got != (i < 4) {
				return fmt.Errorf("connection %d answers: %v", i+1, got)
			}
		}
		return nil
	})
	s.eventually("many connections of one client within a second are refused", func() error {
		refused := 0
		for range 40 {
			conn := dial(40)
			if !answers(conn) {
				refused++
			}
			_ = conn.Close()
		}
		if counted, _ := s.counters("web")["errors_client_connection_rate"].(float64); counted == 0 || refused == 0 {
			return fmt.Errorf("%d were refused, %v are counted", refused, counted)
		}
		return nil
	})
	if counted, _ := s.counters("web")["errors_client_connections"].(float64); counted == 0 {
		t.Error("connections beyond max_concurrent_connections are not counted")
	}
}

// The profile is the one that docs/limits.md shows.
func TestAttackBeginsAndEndsWithEvents(t *testing.T) {
	examples := blocks(t, "limits.md", "json")
	at := slices.IndexFunc(examples, func(block string) bool { return strings.Contains(block, "thresh_info") })
	var profile client.Object
	if err := json.Unmarshal([]byte(examples[at]), &profile); err != nil {
		t.Fatal(err)
	}
	limiter := profile["dos_rl_profile"].(map[string]any)["rl_profile"].(map[string]any)
	limiter["client_ip_requests_rate_limit"].(map[string]any)["rate_limiter"] = object{"count": 1, "period": 3600}
	thresholds := profile["dos_rl_profile"].(map[string]any)["dos_profile"].(map[string]any)["thresh_info"].([]any)
	thresholds[0].(map[string]any)["min_value"] = 10
	s := policyStage(t, client.Object{})
	s.create("applicationprofile", profile)
	s.create("alertconfig", client.Object{"name": "attacked", "source": "EVENT_LOGS", "object_type": "VIRTUALSERVICE",
		"action_group_ref": client.Ref("actiongroupconfig", "System-Alert-Level-High"),
		"alert_rule":       object{"sys_event_rule": list{object{"event_id": "DOS_ATTACK"}}}})
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["application_profile_ref"] = client.Ref("applicationprofile", "watched")
	})
	s.eventually("the controller has heard of the first request", func() error {
		s.ask(false, "shop.test", "/")
		if total, _ := s.counters("web")["limited_client_requests"].(float64); total == 0 {
			return fmt.Errorf("the counters are %v", s.counters("web"))
		}
		return nil
	})
	for range 60 {
		s.ask(false, "shop.test", "/")
	}
	s.untilLogged(eventsPath+"&event_id=DOS_ATTACK", "DOS_REQ_IP_RL_DROP",
		"beyond the limits of their clients in 5s, of 10")
	s.eventually("there is an alert", func() error {
		alerts, err := s.controller.Session.List(s.ctx, "alert", nil)
		if err != nil {
			return err
		}
		if text := fmt.Sprint(alerts); !strings.Contains(text, "DOS_REQ_IP_RL_DROP") {
			return fmt.Errorf("the alerts are %s", text)
		}
		return nil
	})
	s.untilLogged(eventsPath+"&event_id=DOS_ATTACK_ENDED", "DOS_REQ_IP_RL_DROP: the attack is over")
}

// The profile is the one that docs/limits.md shows.
func TestScannerIsLimitedAndAKnownClientIsNot(t *testing.T) {
	examples := blocks(t, "limits.md", "json")
	at := slices.IndexFunc(examples, func(block string) bool { return strings.Contains(block, "scanners") })
	var profile client.Object
	if err := json.Unmarshal([]byte(examples[at]), &profile); err != nil {
		t.Fatal(err)
	}
	s := policyStage(t, client.Object{"http_security_policy": object{"rules": numbered([]object{{"name": "missing",
		"match": object{"path": object{"match_criteria": "BEGINS_WITH", "match_str": list{"/missing"}}},
		"action": object{"action": "HTTP_SECURITY_ACTION_SEND_RESPONSE",
			"status_code": "HTTP_LOCAL_RESPONSE_STATUS_CODE_404"}}})}})
	s.create("applicationprofile", profile)
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["application_profile_ref"] = client.Ref("applicationprofile", "scanned")
	})
	refused := func(from int, path string, times int) (count int) {
		for range times {
			answer := s.ask(false, "shop.test", path, "--interface", loopback(from))
			if strings.HasSuffix(answer, " 429") {
				count++
			}
		}
		return count
	}
	if got := refused(31, "/", 130); got > 0 {
		t.Errorf("a client whose requests are good is refused %d times", got)
	}
	if got := refused(32, "/missing", 40); got < 15 {
		t.Errorf("a scanner is refused %d times of 40", got)
	}
	s.eventually("refusals are counted by what is known of the client", func() error {
		if total, _ := s.counters("web")["limited_bad_clients"].(float64); total < 15 {
			return fmt.Errorf("the counters are %v", s.counters("web"))
		}
		return nil
	})
}
