package rest

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/schema"
)

// feeds are what a leader would tell. Each feed has its events at once, and then waits.
type feeds struct {
	mu     sync.Mutex
	wanted []LiveTopics
	closed int
	event  string        // JSON of each event
	events int           // of each feed; 0: one
	more   chan struct{} // lets feeds have another event; nil: they have no other
}

type feed struct {
	*feeds
	told int
}

func (f *feeds) open(wanted LiveTopics) Feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = append(f.wanted, wanted)
	return &feed{feeds: f}
}

func (f *feed) Next(ctx context.Context) (name, id string, data []byte, err error) {
	if f.told < max(1, f.events) {
		f.told++
		return "snapshot", fmt.Sprint(f.told), []byte("{" + f.event + "}"), nil
	}
	select {
	case <-ctx.Done():
		return "", "", nil, ctx.Err()
	case <-f.more:
		f.told++
		return "snapshot", fmt.Sprint(f.told), []byte("{" + f.event + "}"), nil
	}
}

func (f *feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
}

// reading is a stream that a client reads.
type reading struct {
	*testing.T
	status int
	header http.Header
	lines  chan string // closed at the end of the stream
	close  func()
}

// stream opens a stream as the user of a client.
func (s *serving) stream(c *client, query string, header http.Header) *reading {
	s.t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2: header.Get("X-Test-HTTP") == "2"}
	ctx, cancel := context.WithCancel(s.t.Context())
	request, err := http.NewRequestWithContext(ctx, "GET", "https://"+s.address+"/api/weir/live"+query, nil)
	s.must(err)
	for name, values := range c.header {
		request.Header[name] = values
	}
	for name, values := range header {
		request.Header[name] = values
	}
	for _, cookie := range c.cookies {
		request.AddCookie(cookie)
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	s.must(err)
	r := &reading{T: s.t.(*testing.T), status: answer.StatusCode, header: answer.Header, lines: make(chan string, 100)}
	r.close = func() { cancel(); answer.Body.Close(); transport.CloseIdleConnections() }
	s.t.Cleanup(r.close)
	if want := header.Get("X-Test-HTTP"); want != "" && fmt.Sprint(answer.ProtoMajor) != want {
		s.t.Errorf("it is HTTP/%d", answer.ProtoMajor)
	}
	go func() {
		defer close(r.lines)
		lines := bufio.NewScanner(answer.Body)
		for lines.Buffer(nil, 4<<20); lines.Scan(); {
			r.lines <- lines.Text()
		}
	}()
	return r
}

// wants reads lines of the stream.
func (r *reading) wants(want ...string) {
	r.Helper()
	for _, want := range want {
		select {
		case line, open := <-r.lines:
			if !open || line != want {
				r.Fatalf("got %q (open: %v), want %q", line, open, want)
			}
		case <-time.After(patience):
			r.Fatalf("no line within %v, want %q", patience, want)
		}
	}
}

// ends wants the stream to end with this reason.
func (r *reading) ends(reason string) {
	r.Helper()
	var last string
	for {
		select {
		case line, open := <-r.lines:
			if open {
				last += line + "\n"
				continue
			}
			if !strings.Contains(last, "event: end\n") || !strings.Contains(last, reason) {
				r.Errorf("ended with %q, want %q", last, reason)
			}
			return
		case <-time.After(patience):
			r.Fatalf("did not end within %v; got %q", patience, last)
		}
	}
}

func TestStreamTellsEventsAsTheyCome(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		h := newHouse(t)
		h.feeds.events, h.feeds.event = 2, `"at_ms":1`
		s, c := h.serve(), h.login()
		vs := c.virtualService("web", c.pool("web")["uuid"])
		r := s.stream(c, fmt.Sprintf("?topics=overview,engines,vs:%s", vs["uuid"]),
			http.Header{"Last-Event-Id": {"17"}, "X-Test-Http": {version}})
		if kind := r.header.Get("Content-Type"); r.status != http.StatusOK || kind != "text/event-stream" {
			t.Fatalf("got %d, %s", r.status, kind)
		}
		r.wants("event: snapshot", "id: 1", `data: {"at_ms":1}`, "", "event: snapshot", "id: 2",
			`data: {"at_ms":1}`, "")
		want := LiveTopics{Tenant: "admin", Overview: true, Engines: true, EngineLoads: true,
			VirtualServices: []string{vs["uuid"].(string)}, AfterMs: 17}
		if got := fmt.Sprint(h.feeds.wanted[0]); got != fmt.Sprint(want) {
			t.Errorf("asked for %s", got)
		}
		r.close()
		h.eventually("the feed is closed", func() bool {
			h.feeds.mu.Lock()
			defer h.feeds.mu.Unlock()
			return h.feeds.closed == 1
		})
	}
}

func (h *house) eventually(what string, holds func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func TestStreamRefusesTopicsThatItDoesNotHave(t *testing.T) {
	c := newHouse(t).login()
	for topics, problem := range map[string]string{
		"": "give 1 to 200 of overview", "clouds": `"clouds" is no topic`, "vs:": `"vs:" is no topic`,
		strings.Repeat("engines,vs:x,", 1) + manyTopics(201): "give 1 to 200 of overview",
	} {
		c.refused(http.StatusBadRequest, problem, "GET", "/api/weir/live?topics="+topics, nil)
	}
	c.refused(http.StatusNotFound, "VirtualService object not found!", "GET", "/api/weir/live?topics=vs:unknown", nil)
	c.header.Set("Last-Event-ID", "x")
	c.refused(http.StatusBadRequest, `"x" is the id of no event`, "GET", "/api/weir/live?topics=engines", nil)
}

func manyTopics(count int) string {
	var topics []string
	for i := range count {
		topics = append(topics, fmt.Sprintf("vs:%d", i))
	}
	return strings.Join(topics, ",")
}

func TestTenantStreamsItsOwnVirtualServices(t *testing.T) {
	h := newHouse(t)
	s, admin := h.serve(), h.login()
	vs := admin.virtualService("web", admin.pool("web")["uuid"])
	tenant := admin.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "blue"})
	admin.want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": "eve", "password": "eve's password",
		"access": []any{schema.Object{"tenant_ref": tenant["url"]}}})
	eve := h.loginAs("eve", "eve's password")
	eve.refused(http.StatusForbidden, "no access to tenant admin", "GET", "/api/weir/live?topics=overview", nil)
	eve.header.Del("X-Avi-Tenant")
	eve.refused(http.StatusForbidden, "no access to tenant admin", "GET", "/api/weir/live?topics=overview&tenant=admin",
		nil)
	s.stream(eve, "?topics=overview&tenant=blue", nil).wants("event: snapshot")
	eve.header.Set("X-Avi-Tenant", "blue")
	eve.refused(http.StatusNotFound, "VirtualService object not found!", "GET",
		fmt.Sprintf("/api/weir/live?topics=vs:%s", vs["uuid"]), nil)
	r := s.stream(eve, "?topics=overview", nil)
	r.wants("event: snapshot")
	for _, wanted := range h.feeds.wanted {
		if wanted.Tenant != tenant["uuid"] {
			t.Errorf("eve watches tenant %q", wanted.Tenant)
		}
	}
	admin.want(http.StatusOK, "PATCH", "/api/user/"+h.uuidOf("user", "eve"),
		schema.Object{"replace": schema.Object{"access": []any{}}})
	r.ends("no access to tenant blue")
	admin.header.Set("X-Avi-Tenant", "*")
	s.stream(admin, "?topics=overview", nil).wants("event: snapshot")
	if got := h.feeds.wanted[2].Tenant; got != "" {
		t.Errorf("all tenants are %q", got)
	}
}

func (h *house) uuidOf(kind, name string) string {
	h.t.Helper()
	for _, record := range h.store.View().List(kind) {
		if record.Name == name {
			return record.UUID
		}
	}
	h.t.Fatalf("there is no %s %s", kind, name)
	return ""
}

func TestStreamEndsWithItsLogin(t *testing.T) {
	for name, end := range map[string]func(h *house, c *client){
		"logout": func(_ *house, c *client) { c.want(http.StatusOK, "POST", "/logout", nil) },
		"expiry": func(h *house, _ *client) { h.clock.advance(admit.IdleTimeout + time.Minute) },
		"no user": func(h *house, _ *client) {
			h.login().want(http.StatusNoContent, "DELETE", "/api/user/"+h.uuidOf("user", "eve"), nil)
		},
		"password": func(h *house, _ *client) {
			h.login().want(http.StatusOK, "PATCH", "/api/user/"+h.uuidOf("user", "eve"),
				schema.Object{"replace": schema.Object{"password": "another password"}})
		},
		"token": func(h *house, c *client) {
			tokens := c.want(http.StatusOK, "GET", "/api/user-token", nil)["results"].([]any)
			c.want(http.StatusNoContent, "DELETE", "/api/user-token/"+tokens[0].(schema.Object)["uuid"].(string), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			s := h.serve()
			h.login().want(http.StatusCreated, "POST", "/api/user", schema.Object{"name": "eve",
				"password": "eve's password", "is_superuser": true})
			c := h.loginAs("eve", "eve's password")
			if name == "token" {
				token := c.want(http.StatusOK, "POST", "/api/user-token", schema.Object{"hours": "2"})["token"]
				c = h.loginWith(schema.Object{"username": "eve", "token": token})
			}
			r := s.stream(c, "?topics=overview", nil)
			r.wants("event: snapshot", "id: 1", "data: {}", "")
			other := s.stream(h.login(), "?topics=overview", nil)
			end(h, c)
			began := time.Now()
			r.ends(`"status":4`)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("it ended after %v", took)
			}
			if name == "expiry" {
				return // of all
			}
			other.wants("event: snapshot", "id: 1", "data: {}", "")
			select {
			case line := <-other.lines:
				t.Errorf("the stream of another login got %q", line)
			case <-time.After(50 * time.Millisecond):
			}
		})
	}
}

func TestStreamOfBasicAuthenticationEndsWhenThatIsSwitchedOff(t *testing.T) {
	h := newHouse(t)
	s, admin := h.serve(), h.login()
	allow := func(allowed bool) {
		admin.want(http.StatusOK, "PATCH", "/api/systemconfiguration", schema.Object{"add": schema.Object{
			"portal_configuration": schema.Object{"allow_basic_authentication": allowed}}})
	}
	allow(true)
	request, err := http.NewRequest("GET", "/", nil)
	h.must(err)
	request.SetBasicAuth("admin", testPassword)
	c := &client{h: h, header: http.Header{"Authorization": request.Header["Authorization"]}}
	r := s.stream(c, "?topics=overview", nil)
	r.wants("event: snapshot", "id: 1", "data: {}", "")
	allow(false)
	r.ends(`"status":401`)
}

func TestStreamOfABearerTokenEndsWhenThatIsRevoked(t *testing.T) {
	h := newHouse(t)
	s, admin := h.serve(), h.login()
	token := admin.want(http.StatusOK, "POST", "/api/user-token", schema.Object{"hours": "2"})
	c := &client{h: h, header: http.Header{"Authorization": {"Bearer " + token["token"].(string)}}}
	r := s.stream(c, "?topics=overview", nil)
	r.wants("event: snapshot", "id: 1", "data: {}", "")
	tokens := admin.want(http.StatusOK, "GET", "/api/user-token", nil)["results"].([]any)
	admin.want(http.StatusNoContent, "DELETE", "/api/user-token/"+tokens[0].(schema.Object)["uuid"].(string), nil)
	r.ends(`"status":401`)
}

func TestStreamIsNoUseOfItsSession(t *testing.T) {
	h := newHouse(t)
	s, c := h.serve(), h.login()
	r := s.stream(c, "?topics=overview", nil)
	for _, name := range r.header.Values("Set-Cookie") {
		t.Errorf("it sets %s", name)
	}
	for range 3 {
		h.clock.advance(admit.IdleTimeout / 4)
		s.stream(c, "?topics=overview", nil)
	}
	h.clock.advance(admit.IdleTimeout/4 + time.Minute)
	r.ends("log in again")
	c.refused(statusSessionExpired, "log in again", "GET", "/api/pool", nil)
}

func TestStreamsAreLimited(t *testing.T) {
	h := newHouse(t)
	s, c := h.serve(), h.login()
	var open []*reading
	for range streamsOfSession {
		open = append(open, s.stream(c, "?topics=overview", nil))
	}
	c.refused(http.StatusTooManyRequests, "4 streams of this login are open", "GET",
		"/api/weir/live?topics=overview", nil)
	open[0].close()
	h.eventually("the place of a closed stream is free", func() bool {
		r := s.stream(c, "?topics=overview", nil)
		defer r.close()
		return r.status == http.StatusOK
	})
	h.eventually("the others are closed", func() bool { return h.streamsOpen() == streamsOfSession-1 })
	var leaves []func()
	for i := range streamsMost {
		leave, err := h.api.streams.enter(fmt.Sprint(i), fmt.Sprint("user ", i/streamsOfUser))
		if err == nil {
			leaves = append(leaves, leave)
		}
	}
	other := h.login()
	other.refused(http.StatusTooManyRequests, "200 streams are open", "GET", "/api/weir/live?topics=overview", nil)
	for _, leave := range leaves {
		leave()
	}
	s.stream(other, "?topics=overview", nil).wants("event: snapshot")
}

func TestSlowReaderIsCutOffAndOthersReadOn(t *testing.T) {
	h := newHouse(t)
	h.api.timeouts.event = time.Second
	h.feeds.events, h.feeds.event = 1<<30, `"x":"`+strings.Repeat("x", 1<<20)+`"`
	s, c := h.serve(), h.login()
	connection := s.secure("127.0.0.1")
	var cookies []string
	for _, cookie := range c.cookies {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	_, err := fmt.Fprintf(connection,
		"GET /api/weir/live?topics=overview HTTP/1.1\r\nHost: weir\r\nX-Avi-Tenant: admin\r\n"+
			"Cookie: %s\r\n\r\n", strings.Join(cookies, "; "))
	s.must(err)
	began := time.Now()
	h.eventually("the stream has begun", func() bool { return h.streamsOpen() == 1 })
	other := s.stream(c, "?topics=overview", nil)
	for range 40 {
		select {
		case <-other.lines:
		case <-time.After(patience):
			t.Fatal("a slow reader keeps another one waiting")
		}
	}
	other.close()
	h.eventually("the slow reader is cut off", func() bool { return h.streamsOpen() == 0 })
	if took := time.Since(began); took < h.api.timeouts.event {
		t.Errorf("it was cut off after %v", took)
	}
	s.must(connection.SetDeadline(time.Now().Add(patience)))
	_, err = io.Copy(io.Discard, connection)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Error("its connection is still open")
	}
}

func (h *house) streamsOpen() int {
	h.api.streams.mu.Lock()
	defer h.api.streams.mu.Unlock()
	return h.api.streams.all
}

func TestStreamsEndWhenTheControllerStops(t *testing.T) {
	h := newHouse(t)
	s := h.serve()
	r := s.stream(h.login(), "?topics=overview", nil)
	r.wants("event: snapshot", "id: 1", "data: {}", "")
	began := time.Now()
	s.stop()
	r.ends(`"status":503`)
	s.must(<-s.ended)
	if took := time.Since(began); took > goodbyeTimeout/2 {
		t.Errorf("it stopped after %v", took)
	}
	s.ended <- nil
}

func TestStreamOutlastsTheTimeoutsOfRequests(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		h := newHouse(t)
		h.api.timeouts = timeouts{request: 300 * time.Millisecond, answer: 300 * time.Millisecond, event: patience,
			ping: 400 * time.Millisecond}
		h.feeds.more = make(chan struct{})
		s := h.serve()
		r := s.stream(h.login(), "?topics=overview", http.Header{"X-Test-Http": {version}})
		r.wants("event: snapshot", "id: 1", "data: {}", "")
		for range 3 {
			r.wants(": nothing new", "")
		}
		close(h.feeds.more)
		r.wants("event: snapshot", "id: 2")
	}
}
