// Package pages opens the web UI of a real controller in a real browser: Debian's chromium, driven by the files of
// web/tests. It needs what `make build` makes, chromium and Node; where one is missing, the tests are skipped.
package pages

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/tests/built"
)

const (
	eventTimeout = 2 * time.Minute
	tlsPort      = 8443
)

// hostileName is text that would do harm if a page took it for anything but text.
const hostileName = `<img src=x onerror="document.title='owned'"> ` + "\u202edesrever\u200b" +
	`"'><script>alert(1)</script>`

func TestPagesInABrowser(t *testing.T) {
	browser(t).run(setUp(t), "flow.mjs")
}

// stage is a controller and an engine that serve a service under load, and others that need somebody.
type stage struct {
	*testing.T
	lab        *lab.Lab
	controller *lab.Controller
	vip        string
}

func setUp(t *testing.T) *stage {
	t.Helper()
	s := empty(t)
	s.engine("engine-1")
	fast, slow := s.server(2*time.Millisecond), s.server(40*time.Millisecond)
	s.service("shop", "Sells shoes", 8080, fast, slow, "127.0.0.1:1")
	s.service("blog", "", 8081, fast)
	s.service("vault", "Speaks TLS", tlsPort, fast)
	s.service("broken", "Its servers are away", 8082, "127.0.0.1:1")
	s.service("hostile "+hostileName, hostileName, 8083, fast)
	s.failLogin(hostileName + "\u0007")
	s.waitUp("shop")
	s.waitUp("hostile " + hostileName)
	s.alertOfSlow()
	s.malformed(s.vip + ":8080")
	s.request("http://"+s.vip+":8083", "/<script>alert(1)</script>", "=cmd|' /C calc'!A0 "+hostileName)
	load, err := s.lab.BeginLoad(t.Context(), "--url", fmt.Sprintf("http://%s:8080/", s.vip), "--connections", "8",
		"--duration", "60m", "--timeout", "120s")
	s.must(err)
	t.Cleanup(func() { _, _ = load.End() })
	return s
}

// empty is a controller without engines and services.
func empty(t *testing.T) *stage {
	t.Helper()
	l, err := lab.New(t.TempDir(), built.Programs(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, lab: l, vip: fmt.Sprintf("127.%d.%d.9", 1+os.Getpid()>>8%250, os.Getpid()%256)}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	s.controller, err = l.Controller(t.Context())
	s.must(err)
	return s
}

func (s *stage) engine(name string) {
	s.Helper()
	_, err := s.lab.Engine(s.Context(), s.controller, name, "--workers", "2")
	s.must(err)
}

// failLogin leaves a name in the audit trail that no object could have.
func (s *stage) failLogin(username string) {
	s.Helper()
	form := url.Values{"username": {username}, "password": {"x"}}
	answer, err := s.insecure().PostForm(s.controller.URL+"/login", form)
	s.must(err)
	s.must(answer.Body.Close())
	if answer.StatusCode != http.StatusUnauthorized {
		s.Fatalf("login of nobody: %s", answer.Status)
	}
}

// alertOfSlow makes a rule that fits every virtual service under load.
func (s *stage) alertOfSlow() {
	s.Helper()
	s.create("actiongroupconfig", client.Object{"name": "night", "level": "ALERT_HIGH"})
	s.create("alertconfig", client.Object{"name": "slow", "source": "METRICS", "category": "WATERMARK",
		"object_type": "VIRTUALSERVICE", "action_group_ref": client.Ref("actiongroupconfig", "night"),
		"alert_rule": map[string]any{"metrics_rule": []any{map[string]any{"metric_id": "weir.p99_total_time",
			"metric_threshold": map[string]any{"comparator": "ALERT_OP_GT", "threshold": 1}, "duration": 5}}}})
}

// request sends one request, whose path is not escaped. The log of requests has it.
func (s *stage) request(server, path, agent string) {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, server, nil)
	s.must(err)
	request.URL.Opaque = path
	request.Header.Set("User-Agent", agent)
	answer, err := http.DefaultClient.Do(request)
	s.must(err)
	s.must(answer.Body.Close())
}

// malformed sends what engines refuse, a few times.
func (s *stage) malformed(address string) {
	s.Helper()
	for range 5 {
		connection, err := net.Dial("tcp", address)
		s.must(err)
		_, err = fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost shop\r\n\r\n")
		s.must(err)
		answer, err := io.ReadAll(connection)
		s.must(err)
		if !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") {
			s.Fatalf("a malformed request is answered with %q", answer)
		}
		s.must(connection.Close())
	}
}

// server answers after a time.
func (s *stage) server(after time.Duration) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(after)
		fmt.Fprintln(w, strings.Repeat("shoes ", 200))
	}))
	s.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func (s *stage) service(name, description string, port int, servers ...string) {
	s.Helper()
	var list []any
	for _, server := range servers {
		host, port, err := net.SplitHostPort(server)
		s.must(err)
		list = append(list, map[string]any{"ip": map[string]any{"addr": host, "type": "V4"}, "port": port})
	}
	s.create("pool", client.Object{"name": name, "description": description, "servers": list,
		"health_monitor_refs": []any{client.Ref("healthmonitor", "System-TCP")}})
	if port == 8080 {
		s.create("vsvip", client.Object{"name": "vip", "vip": []any{
			map[string]any{"vip_id": "1", "ip_address": map[string]any{"addr": s.vip, "type": "V4"}}}})
	}
	pool, err := s.controller.Session.ByName(s.Context(), "pool", name)
	s.must(err)
	object := client.Object{"name": name, "description": description, "vsvip_ref": client.Ref("vsvip", "vip"),
		"analytics_policy": map[string]any{"full_client_logs": map[string]any{"enabled": true, "duration": 0}},
		"pool_ref":         pool["url"], "services": []any{map[string]any{"port": port, "enable_ssl": port == tlsPort}}}
	if port == tlsPort {
		object["ssl_key_and_certificate_refs"] = []any{client.Ref("sslkeyandcertificate", "System-Default-Cert")}
	}
	s.create("virtualservice", object)
}

func (s *stage) create(kind string, object client.Object) {
	s.Helper()
	_, err := s.controller.Session.Create(s.Context(), kind, object)
	s.must(err)
}

func (s *stage) waitUp(name string) {
	s.Helper()
	deadline, poll := time.After(eventTimeout), time.NewTicker(50*time.Millisecond)
	defer poll.Stop()
	for {
		object, err := s.controller.Session.ByName(s.Context(), "virtualservice", name)
		s.must(err)
		var runtime struct {
			Status struct {
				State string `json:"state"`
			} `json:"oper_status"`
		}
		path := fmt.Sprintf("virtualservice/%v/runtime", object["uuid"])
		s.must(s.controller.Session.Get(s.Context(), path, &runtime))
		if runtime.Status.State == "OPER_UP" {
			return
		}
		select {
		case <-deadline:
			s.Fatalf("%s is %s after %v", name, runtime.Status.State, eventTimeout)
		case <-poll.C:
		}
	}
}

// insecure trusts any certificate: the controller is this test's own.
func (s *stage) insecure() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}
