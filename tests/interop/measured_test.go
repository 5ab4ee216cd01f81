package interop

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
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
	measuredRequests = 2000
	measuredPort     = 8080
	missingPages     = 5 // that are asked for, and answered with 404
	measuredPatience = 2 * time.Minute
)

// measured is a controller and an engine that has served requests for the virtual service "web" of tenant admin, and
// for "shop" of tenant blue.
type measured struct {
	*testing.T
	controller *lab.Controller
	lab        *lab.Lab
	token      string // of the administrator
	password   string
	web, shop  string // uuids
}

func measure(t *testing.T) *measured {
	t.Helper()
	l, err := lab.New(t.TempDir(), built.Programs(t))
	must(t, err)
	t.Cleanup(func() { must(t, l.Stop()) })
	m := &measured{T: t, lab: l}
	m.controller, err = l.Controller(t.Context())
	must(t, err)
	_, err = l.Engine(t.Context(), m.controller, "engine-1", "--workers", "2")
	must(t, err)
	nginx, err := l.Nginx(t.Context(), "nginx", 0, map[string]string{"index.html": "a page\n"})
	must(t, err)
	m.password, err = m.controller.Password()
	must(t, err)
	_, err = m.controller.Session.Create(t.Context(), "tenant", client.Object{"name": "blue"})
	must(t, err)
	m.web = m.serve(m.controller.Session, "web", nginx.ID(), 3)
	m.shop = m.serve(m.controller.Session.InTenant("blue"), "shop", nginx.ID(), 4)
	var answer struct{ Token string }
	must(t, m.controller.Session.Post(t.Context(), "user-token", client.Object{"hours": 1}, &answer))
	m.token = answer.Token
	m.untilCounted("web", "shop")
	m.untilTold("controller", "avi_controller_stats_avg_cpu_usage")
	m.untilTold("serviceengine", "avi_se_stats_avg_cpu_usage")
	return m
}

func ownLoopback(host int) string {
	return fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()>>8%250, os.Getpid()%256, host)
}

// serve makes a virtual service, and sends requests to it. It returns its uuid.
func (m *measured) serve(as *client.Session, name, server string, host int) (uuid string) {
	m.Helper()
	ip, port, err := net.SplitHostPort(server)
	must(m.T, err)
	create := func(kind string, object client.Object) client.Object {
		m.Helper()
		object["name"] = name
		made, err := as.Create(m.Context(), kind, object)
		must(m.T, err)
		return made
	}
	create("pool", client.Object{"servers": []any{
		client.Object{"ip": client.Object{"addr": ip, "type": "V4"}, "port": port}}})
	create("vsvip", client.Object{"vip": []any{client.Object{"vip_id": "1",
		"ip_address": client.Object{"addr": ownLoopback(host), "type": "V4"}}}})
	made := create("virtualservice", client.Object{"vsvip_ref": client.Ref("vsvip", name),
		"pool_ref": client.Ref("pool", name), "services": []any{client.Object{"port": measuredPort}}})
	url := fmt.Sprintf("http://%s:%d/index.html", ownLoopback(host), measuredPort)
	m.eventually(name+" answers", func() error {
		answer, err := http.Get(url)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s", answer.Status)
		}
		return nil
	})
	_, err = m.lab.Load(m.Context(), "--url", url, "--connections", "4", "--count", fmt.Sprint(measuredRequests))
	must(m.T, err)
	for i := range missingPages {
		answer, err := http.Get(strings.Replace(url, "index.html", fmt.Sprintf("missing-%d", i), 1))
		must(m.T, err)
		must(m.T, answer.Body.Close())
	}
	return fmt.Sprint(made["uuid"])
}

// untilCounted waits until the history has all requests.
func (m *measured) untilCounted(names ...string) {
	m.Helper()
	for _, name := range names {
		m.eventually("the history has the requests of "+name, func() error {
			query := fmt.Sprintf(`increase(weir_service_requests_total{service=%q}[5m] anchored) > %d`, name,
				measuredRequests-1)
			found, _, err := m.prometheus("*").Query(m.Context(), query, time.Now())
			if err != nil || found.String() == "" {
				return fmt.Errorf("%v, %v", found, err)
			}
			return nil
		})
	}
}

// untilTold waits for a metric that is a rate: it needs two samples.
func (m *measured) untilTold(kind, metric string) {
	m.Helper()
	m.eventually("there is "+metric, func() error {
		_, text := m.page("admin", "/api/analytics/prometheus-metrics/"+kind, "")
		if !strings.Contains(string(text), metric+"{") {
			return fmt.Errorf("the page says %s", text)
		}
		return nil
	})
}

// eventually waits until check succeeds.
func (m *measured) eventually(what string, check func() error) {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Context(), measuredPatience)
	defer cancel()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			m.Fatalf("not within %v: %s: %v", measuredPatience, what, err)
		case <-poll.C:
		}
	}
}

// asking is a transport that sends a user token, and the tenant that is asked for.
type asking struct{ token, tenant string }

var untrusting = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}

func (a asking) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("X-Avi-Tenant", a.tenant)
	return untrusting.RoundTrip(r)
}

// page reads a text of the API, as a client that accepts a form.
func (m *measured) page(tenant, path, accepts string) (content string, text []byte) {
	m.Helper()
	request, err := http.NewRequestWithContext(m.Context(), http.MethodGet, m.controller.URL+path, nil)
	must(m.T, err)
	request.Header.Set("Accept", accepts)
	answer, err := asking{m.token, tenant}.RoundTrip(request)
	must(m.T, err)
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	must(m.T, err)
	if answer.StatusCode != http.StatusOK {
		m.Fatalf("%s: %s: %s", path, answer.Status, text)
	}
	return answer.Header.Get("Content-Type"), text
}

func (m *measured) runPython(python, script string) {
	m.Helper()
	address, err := url.Parse(m.controller.URL)
	must(m.T, err)
	runPython(m.T, python, script, address, m.password)
}
