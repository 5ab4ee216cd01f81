package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const (
	testHost     = "avi-controller"
	testPassword = "a good password"
)

// house is a whole API over a real store, without a listener.
type house struct {
	t       testing.TB
	api     *API
	store   *store.Store
	gate    *admit.Gate
	runtime *reports
	feeds   *feeds
	clock   *clock
	vips    int // number of VIPs made so far
}

// clock stands still until a test moves it.
type clock struct {
	mutex sync.Mutex
	at    time.Time
}

func (c *clock) now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.at = c.at.Add(d)
}

// reports is what a fleet would report.
type reports struct{ servers []schema.Object }

func (r *reports) pages() Reports {
	servers := func(string) any { return r.servers }
	return Reports{
		"virtualservice": {"runtime": r.virtualService, "runtime/detail": r.virtualService},
		"pool":           {"runtime": r.pool, "runtime/server": servers, "runtime/server/detail": servers},
		"serviceengine": {"runtime": func(uuid string) any { return schema.Object{"uuid": uuid} },
			"bgp":                   func(string) any { return schema.Object{"peers": peers} },
			"bgp/peer_status":       func(string) any { return peers },
			"bgp/advertised_routes": func(string) any { return routes },
			"bfd/session_status":    func(string) any { return []schema.Object{} },
		},
	}
}

var (
	peers  = []schema.Object{{"peer_ip": "10.0.0.1"}}
	routes = []schema.Object{{"prefix": "3.3.3.3/32", "virtualservice_refs": []any{"/api/virtualservice/vs-1"}}}
)

func (*reports) virtualService(uuid string) any {
	return schema.Object{"uuid": uuid, "oper_status": schema.Object{"state": "OPER_UP"}, "num_se_requested": int64(1),
		"vip_summary": []schema.Object{{"service_engine": []schema.Object{{"ref": "x",
			"se_ref": "/api/serviceengine/se-1"}}}}}
}

func (*reports) pool(uuid string) any {
	return schema.Object{"uuid": uuid, "num_servers_up": 1, "oper_status": schema.Object{"state": "OPER_UP"}}
}

type joinTokens struct{}

func (joinTokens) Issue(context.Context) (string, error) { return "weir1.fingerprint.secret", nil }

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, clock: &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, runtime: &reports{},
		feeds: &feeds{}}
	dir := t.TempDir()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	var err error
	h.store, err = store.Open(t.Context(), store.Config{Dir: dir + "/objects", Sealer: sealerIn(dir), Logger: quiet,
		Now: h.clock.now, Index: admit.IndexKeys})
	h.must(err)
	t.Cleanup(h.store.Close)
	h.furnish()
	h.gate, err = admit.Open(t.Context(), h.store, h.clock.now, quiet)
	h.must(err)
	h.api, err = Open(t.Context(), Config{Store: h.store, Gate: h.gate, Reports: h.runtime.pages(),
		Tokens:  joinTokens{},
		Live:    h.feeds.open,
		Version: "test", Logger: quiet, Now: h.clock.now})
	h.must(err)
	return h
}

func sealerIn(dir string) func() (store.Sealer, error) {
	return func() (store.Sealer, error) { return pki.OpenSealer(dir + "/secrets.key") }
}

// furnished are the built-in objects. They are made once, because it takes long to make the keys of their certificates.
var furnished = sync.OnceValues(func() ([]*store.Record, error) {
	dir, err := os.MkdirTemp("", "weir-rest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	first, err := store.Open(context.Background(), store.Config{Dir: dir + "/objects", Sealer: sealerIn(dir),
		Index: admit.IndexKeys})
	if err != nil {
		return nil, err
	}
	defer first.Close()
	gate, err := admit.Open(context.Background(), first, time.Now, slog.New(slog.DiscardHandler))
	if err == nil {
		err = gate.Bootstrap(context.Background(), testPassword)
	}
	if err != nil {
		return nil, err
	}
	var all []*store.Record
	for _, kind := range first.View().Kinds() {
		all = append(all, first.View().List(kind)...)
	}
	return all, nil
})

func (h *house) furnish() {
	h.t.Helper()
	records, err := furnished()
	h.must(err)
	h.must(h.store.Update(h.t.Context(), func(tx *store.Tx) error {
		for _, record := range records {
			copied := *record
			copied.Object = schema.Clone(record.Object)
			tx.Put(&copied)
		}
		return nil
	}))
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// client is a client with one login, as an SDK has it.
type client struct {
	h       *house
	cookies []*http.Cookie
	csrf    string
	header  http.Header
}

func (h *house) login() *client { return h.loginAs("admin", testPassword) }

func (h *house) loginAs(username, password string) *client {
	h.t.Helper()
	return h.loginWith(schema.Object{"username": username, "password": password})
}

func (h *house) loginWith(credentials schema.Object) *client {
	h.t.Helper()
	anonymous := &client{h: h, header: http.Header{"Content-Type": {"application/json"}}}
	answer := anonymous.do("POST", "/login", credentials)
	if answer.Code != http.StatusOK {
		h.t.Fatalf("login: %d %s", answer.Code, answer.Body)
	}
	c := &client{h: h, header: http.Header{"X-Avi-Version": {"30.2.1"}, "X-Avi-Tenant": {"admin"},
		"Referer": {"https://" + testHost}}}
	for _, cookie := range answer.Result().Cookies() {
		c.cookies = append(c.cookies, cookie)
		if cookie.Name == csrfCookie {
			c.csrf = cookie.Value
		}
	}
	return c
}

// do sends a request. body may be nil, text, or any value that JSON can represent.
func (c *client) do(method, target string, body any) *httptest.ResponseRecorder {
	c.h.t.Helper()
	var sent []byte
	switch b := body.(type) {
	case nil:
	case string:
		sent = []byte(b)
	default:
		var err error
		sent, err = json.Marshal(b)
		c.h.must(err)
	}
	r := httptest.NewRequest(method, "https://"+testHost+"/", bytes.NewReader(sent))
	path, query, _ := strings.Cut(target, "?")
	r.URL.Path, r.URL.RawQuery = path, query
	for name, values := range c.header {
		r.Header[name] = values
	}
	if c.csrf != "" {
		r.Header.Set("X-CSRFToken", c.csrf)
	}
	for _, cookie := range c.cookies {
		r.AddCookie(cookie)
	}
	answer := httptest.NewRecorder()
	c.h.api.ServeHTTP(answer, r)
	return answer
}

// want sends a request, requires a status, and returns the object in the answer.
func (c *client) want(status int, method, target string, body any) schema.Object {
	c.h.t.Helper()
	answer := c.do(method, target, body)
	if answer.Code != status {
		c.h.t.Fatalf("%s %s: %d %s; want %d", method, target, answer.Code, answer.Body, status)
	}
	if answer.Body.Len() == 0 {
		return nil
	}
	var object schema.Object
	c.h.must(json.Unmarshal(answer.Body.Bytes(), &object))
	return object
}

// refused sends a request that must fail with a status and a text in its error.
func (c *client) refused(status int, text, method, target string, body any) {
	c.h.t.Helper()
	answer := c.want(status, method, target, body)
	if said, _ := answer["error"].(string); !strings.Contains(said, text) {
		c.h.t.Errorf("%s %s says %q; want %q in it", method, target, said, text)
	}
}

func (c *client) pool(name string) schema.Object {
	c.h.t.Helper()
	return c.want(http.StatusCreated, "POST", "/api/pool", schema.Object{"name": name,
		"servers": []any{schema.Object{"ip": schema.Object{"addr": "10.0.0.1", "type": "V4"}}}})
}

// virtualService creates a virtual service with its own address.
func (c *client) virtualService(name string, pool any) schema.Object {
	c.h.t.Helper()
	return c.want(http.StatusCreated, "POST", "/api/virtualservice", onVip(c.vip(name), name, pool))
}

func (c *client) vip(name string) any {
	c.h.t.Helper()
	c.h.vips++
	return c.want(http.StatusCreated, "POST", "/api/vsvip", schema.Object{"name": "vip of " + name,
		"vip": []any{schema.Object{"ip_address": schema.Object{"addr": fmt.Sprintf("10.1.0.%d", c.h.vips),
			"type": "V4"}}}})["uuid"]
}

func onVip(vip any, name string, pool any) schema.Object {
	return schema.Object{"name": name, "pool_ref": pool, "vsvip_ref": vip, "services": []any{schema.Object{"port": 80}}}
}

func path(object schema.Object) string {
	kind, _, _ := strings.Cut(object["uuid"].(string), "-")
	return "/api/" + kind + "/" + object["uuid"].(string)
}
