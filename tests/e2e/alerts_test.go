package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/alert/notify"
	"github.com/weir-lb/weir/tests/accept"
)

const hookToken = "a token of the test"

// notice is what a webhook got.
type notice struct {
	notify.Notice
	came time.Time
}

// hook is a receiver of alerts.
type hook struct {
	*testing.T
	url string

	mu  sync.Mutex
	all []notice
}

// newHook checks the signature of what comes.
func newHook(t *testing.T) *hook {
	h := &hook{T: t}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		one := notice{came: time.Now()}
		signed := notify.Signature(hookToken, r.Header.Get("X-Weir-Timestamp"), body)
		if err != nil || r.Header.Get("X-Weir-Signature") != signed || json.Unmarshal(body, &one.Notice) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.all = append(h.all, one)
		fmt.Fprint(w, "noted")
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// told are the notices about a rule and condition.
func (h *hook) told(rule, condition string) (found []notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.all {
		if one.Rule.Name == rule && one.Condition == condition {
			found = append(found, one)
		}
	}
	return found
}

func (s *stage) hears(h *hook, rule, condition string, times int) (last notice) {
	s.Helper()
	s.eventually(fmt.Sprintf("the webhook hears that %s is %s, %d times", rule, condition, times), func() error {
		found := h.told(rule, condition)
		if len(found) != times {
			return fmt.Errorf("it heard %v", found)
		}
		last = found[len(found)-1]
		return nil
	})
	return last
}

// breakable is a server that can go away and come back at its address.
type breakable struct {
	*testing.T
	address string
	server  *httptest.Server
}

func newBreakable(t *testing.T) *breakable {
	b := &breakable{T: t}
	b.start(accept.FreeAddress(t))
	t.Cleanup(func() { b.server.Close() })
	return b
}

func (b *breakable) start(address string) {
	b.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.address = listener.Addr().String()
	b.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/bad") {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	b.server.Listener.Close()
	b.server.Listener = listener
	b.server.Start()
}

// alertStage has two servers, and rules that send to a webhook, and to one that accepts connections and never answers.
func alertStage(t *testing.T) (s *stage, h *hook, one, two *breakable) {
	s = bareStage(t)
	var err error
	s.controller, err = s.lab.Controller(s.ctx, "--allow-local-receivers")
	s.must(err)
	s.must(s.startEngine())
	one, two = newBreakable(t), newBreakable(t)
	s.create("healthmonitor", client.Object{"name": "fast", "type": "HEALTH_MONITOR_TCP",
		"tcp_monitor":   map[string]any{},
		"send_interval": 1, "receive_timeout": 1, "failed_checks": 1, "successful_checks": 1})
	s.create("pool", client.Object{"name": "web", "servers": serverList([]string{one.address, two.address}),
		"health_monitor_refs": []any{client.Ref("healthmonitor", "fast")}})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	stuck, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	t.Cleanup(func() { stuck.Close() })
	h = newHook(t)
	for name, url := range map[string]string{"stuck": "http://" + stuck.Addr().String(), "hook": h.url + "/weir"} {
		s.create("webhook", client.Object{"name": name, "callback_url": url, "verification_token": hookToken})
	}
	s.create("actiongroupconfig", client.Object{"name": "night", "level": "ALERT_HIGH",
		"weir_webhook_refs": []any{client.Ref("webhook", "stuck"), client.Ref("webhook", "hook")}})
	group := client.Ref("actiongroupconfig", "night")
	s.create("alertconfig", client.Object{"name": "errors", "source": "METRICS", "category": "WATERMARK",
		"object_type": "VIRTUALSERVICE", "throttle": 0, "action_group_ref": group,
		"alert_rule": map[string]any{"metrics_rule": []any{map[string]any{"metric_id": "l7_client.avg_resp_5xx",
			"metric_threshold": map[string]any{"threshold": 0}}}}})
	s.create("alertconfig", client.Object{"name": "servers", "source": "EVENT_LOGS", "object_type": "POOL",
		"action_group_ref": group,
		"alert_rule":       map[string]any{"sys_event_rule": []any{map[string]any{"event_id": "SERVER_DOWN"}}}})
	return s, h, one, two
}

func TestAlertsReachAWebhookSoonAndOnlyOnce(t *testing.T) {
	s, h, one, two := alertStage(t)
	s.testsReceivers()

	began := time.Now()
	answer, err := http.Get(plainURL("/bad"))
	s.must(err)
	answer.Body.Close()
	fired := s.hears(h, "errors", "FIRING", 1)
	t.Logf("from the error to the webhook: %v", fired.came.Sub(began)) // weir bench telemetry has the bar
	if fired.Object.Name != "web" || fired.Level != "ALERT_HIGH" || fired.Metric == nil ||
		!strings.HasPrefix(fired.Path, "/services/") {
		t.Errorf("got %+v", fired.Notice)
	}
	s.hears(h, "errors", "RESOLVED", 1)

	one.server.Close()
	s.hears(h, "servers", "FIRING", 1)
	s.eventually("the delivery is noted", func() error { return s.delivered("servers", "hook") })
	s.must(s.controller.Kill())
	s.must(s.controller.Restart(s.ctx))
	s.eventually("the controller hears again of the servers", func() error {
		if up := s.runtime("pool", "web")["num_servers_up"]; up != 1.0 {
			return fmt.Errorf("%v are up", up)
		}
		return nil
	})
	one.start(one.address)
	s.hears(h, "servers", "RESOLVED", 1) // by then, the restarted controller has had time to repeat the alert
	two.server.Close()
	s.hears(h, "servers", "FIRING", 2)
	two.start(two.address)
	s.hears(h, "servers", "RESOLVED", 2)
	if fired := h.told("servers", "FIRING"); len(fired) != 2 {
		t.Errorf("after a restart it heard %v", fired)
	}
	run := s.commands()
	contains(t, run("alert", "list"), "HIGH", "RESOLVED", "web", "servers-")
}

func TestRecordsReachAWebhookSoonAsOneAlert(t *testing.T) {
	s, h, _, _ := alertStage(t)
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["analytics_policy"] = client.Object{"significant_log_throttle": 0}
	})
	for name, rule := range map[string]client.Object{
		"bad":   {"category": "ROLLINGWINDOW", "threshold": 15, "rolling_window": 30},
		"never": {},
	} {
		filter := map[string]string{"bad": "filter=eq(response_code,500)&filter=sw(uri_path,/bad)",
			"never": "eq(response_code,418)"}[name]
		rule["name"], rule["source"], rule["throttle"] = name, "APP_LOGS", 600
		rule["action_group_ref"] = client.Ref("actiongroupconfig", "night")
		rule["alert_rule"] = map[string]any{"conn_app_log_rule": map[string]any{"filter_string": filter}}
		s.create("alertconfig", rule)
	}
	bad := func(times int) {
		for range times {
			answer, err := http.Get(plainURL("/bad"))
			s.must(err)
			answer.Body.Close()
		}
	}
	bad(14)
	s.eventually("the records are stored", func() error {
		if page, err := s.records("type=1&filter=eq(response_code,500)&page_size=1"); err != nil || page.Weight != 14 {
			return fmt.Errorf("they stand for %d, %v", page.Weight, err)
		}
		return nil
	})
	if told := h.told("bad", "FIRING"); len(told) > 0 {
		t.Errorf("14 are enough: %+v", told)
	}
	began := time.Now()
	bad(15) // enough also if the first are too long ago
	fired := s.hears(h, "bad", "FIRING", 1)
	t.Logf("from the request to the webhook: %v", fired.came.Sub(began)) // weir bench telemetry has the bar
	if fired.Object.Name != "web" || !strings.Contains(fired.Reason, "at least 15 within 30s") {
		t.Errorf("got %+v", fired.Notice)
	}
	s.hears(h, "bad", "RESOLVED", 1)
	if told := h.told("never", "FIRING"); len(told) > 0 {
		t.Errorf("418 was never answered: %+v", told)
	}
}

// delivered tells whether an alert of a rule is stored as delivered to a receiver.
func (s *stage) delivered(rule, to string) error {
	alerts, err := s.controller.Session.List(s.ctx, "alert", nil)
	if err != nil {
		return err
	}
	for _, alert := range alerts {
		deliveries, _ := alert["weir_deliveries"].([]any)
		for _, item := range deliveries {
			delivery := item.(map[string]any)
			if alert["weir_alert_config_name"] == rule && delivery["name"] == to && delivery["state"] == "DELIVERED" {
				return nil
			}
		}
	}
	return fmt.Errorf("the alerts are %v", alerts)
}

// testsReceivers presses the test button of a webhook that works.
func (s *stage) testsReceivers() {
	s.Helper()
	hook, err := s.controller.Session.ByName(s.ctx, "webhook", "hook")
	s.must(err)
	var answer struct {
		OK      bool
		Results []struct {
			Name, Answer string
			OK           bool
		}
	}
	s.must(s.controller.Session.Post(s.ctx, fmt.Sprintf("webhook/%v/test", hook["uuid"]), client.Object{}, &answer))
	if !answer.OK || len(answer.Results) != 1 || answer.Results[0].Answer != "200 OK: noted" {
		s.Errorf("the test answers %+v", answer)
	}
}
