package monitor

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/tests/accept"
)

func targetAt(address net.Addr, monitor *plan.Monitor) Target {
	at := netip.MustParseAddrPort(address.String())
	if monitor.Timeout == 0 {
		monitor.Timeout = time.Minute
	}
	return Target{Address: at.Addr(), Port: at.Port(), Monitor: monitor}
}

func httpMonitor(check plan.HTTPCheck) *plan.Monitor {
	if check.Request == "" {
		check.Request = "GET /health HTTP/1.0"
	}
	check.Searched = cmp.Or(check.Searched, answerBytesMax)
	return &plan.Monitor{Type: plan.HTTP, HTTP: check}
}

// says answers a request head with this text.
func says(text string) func(*net.TCPConn) {
	return func(connection *net.TCPConn) {
		for lines := bufio.NewScanner(connection); lines.Scan() && lines.Text() != ""; {
		}
		io.WriteString(connection, text)
	}
}

func TestHTTPMonitorJudgesStatusAndContent(t *testing.T) {
	ok := "HTTP/1.1 200 OK\r\n\r\nall is well"
	long := "HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", answerBytesMax) + "late"
	for name, c := range map[string]struct {
		check  plan.HTTPCheck
		answer string
		reason string // empty: up
	}{
		"200 is 2xx":         {plan.HTTPCheck{Classes: []uint32{2}}, ok, ""},
		"any status will do": {plan.HTTPCheck{}, "HTTP/1.0 500 No\r\n\r\n", ""},
		"500 is not 2xx": {plan.HTTPCheck{Classes: []uint32{2}}, "HTTP/1.1 500 No\r\n\r\n",
			"HTTP 500 from GET /health, want 2xx"},
		"301 is one of several": {plan.HTTPCheck{Classes: []uint32{2, 3}}, "HTTP/1.1 301 Moved\r\n\r\n", ""},
		"404 is none of several": {plan.HTTPCheck{Classes: []uint32{2, 3}}, "HTTP/1.1 404 No\r\n\r\n",
			"HTTP 404 from GET /health, want 2xx or 3xx"},
		"the text is there": {plan.HTTPCheck{Contains: "well"}, ok, ""},
		"the text is not there": {plan.HTTPCheck{Contains: "bad"}, ok,
			`HTTP 200 from GET /health, without "bad" in its first 2048 bytes`},
		"the text comes too late": {plan.HTTPCheck{Contains: "late"}, long,
			`HTTP 200 from GET /health, without "late" in its first 2048 bytes`},
		"the code says maintenance": {plan.HTTPCheck{MaintenanceCodes: []uint32{503}}, "HTTP/1.1 503 Soon\r\n\r\n",
			"HTTP 503 from GET /health, it is in maintenance"},
		"the content says maintenance": {plan.HTTPCheck{MaintenanceContains: "all is"}, ok,
			"HTTP 200 from GET /health, it is in maintenance"},
		"it is not HTTP": {plan.HTTPCheck{}, "SSH-2.0-OpenSSH\r\n", "its answer is not HTTP"},
		"it is HTTP/2": {plan.HTTPCheck{},
			"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64\x00\x00\x08\x07\x00\x00\x00\x00\x00",
			"its answer is HTTP/2, and HTTP monitors speak HTTP/1.1: set enable_http2 of its pool, " +
				"or use HEALTH_MONITOR_TCP or HEALTH_MONITOR_WEIR_GRPC"},
		"the text comes late, and more is searched": {plan.HTTPCheck{Contains: "late", Searched: 4096}, long, ""},
		"a status that is no number": {plan.HTTPCheck{}, "HTTP/1.1 abc\r\n\r\n",
			"its answer is not HTTP"},
		"nothing at all": {plan.HTTPCheck{}, "",
			"it closed the connection without an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			outcome := Probe(t.Context(), targetAt(accept.Each(t, says(c.answer)), httpMonitor(c.check)))
			if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
				t.Errorf("got %+v, want %q", outcome, c.reason)
			}
			if outcome.Maintenance != strings.HasPrefix(name, "the co") {
				t.Errorf("maintenance %v", outcome.Maintenance)
			}
		})
	}
}

func TestHTTPMonitorAddsTheHeadersThatAreMissing(t *testing.T) {
	for name, c := range map[string]struct {
		check plan.HTTPCheck
		want  string
	}{
		"none are there": {
			plan.HTTPCheck{Request: "GET / HTTP/1.0"},
			"GET / HTTP/1.0\r\nHost: web:8080\r\nUser-Agent: weir-monitor/1\r\nAccept: */*\r\nConnection: close\r\n\r\n",
		},
		"some are there, and a body": {
			plan.HTTPCheck{Request: "POST /x HTTP/1.1\r\nhost: shop\nAccept: text/html\r\n\r\n", Body: "ping"},
			"POST /x HTTP/1.1\r\nhost: shop\r\nAccept: text/html\r\nUser-Agent: weir-monitor/1\r\nConnection: close\r\n" +
				"Content-Length: 4\r\n\r\nping",
		},
		"an exact request is left alone": {
			plan.HTTPCheck{Request: "GET / HTTP/1.0\r\n\r\n", Exact: true},
			"GET / HTTP/1.0\r\n\r\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := request(Target{Hostname: "web", Address: netip.MustParseAddr("192.0.2.1"), Port: 8080,
				Monitor: httpMonitor(c.check)}, "close", "")
			if string(got) != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestHostOfACheckHasThePortAsItsPoolSays(t *testing.T) {
	for _, c := range []struct {
		port   uint16
		append plan.AppendPort
		name   string
		want   string
	}{
		{80, plan.AppendUnusual, "web", "web"},
		{443, plan.AppendUnusual, "web", "web"},
		{8080, plan.AppendUnusual, "web", "web:8080"},
		{8080, 9, "web", "web:8080"},
		{8080, plan.AppendNever, "web", "web"},
		{443, plan.AppendAlways, "web", "web:443"},
		{8080, plan.AppendNever, "", "[2001:db8::1]"},
		{80, plan.AppendAlways, "", "[2001:db8::1]:80"},
	} {
		target := Target{Hostname: c.name, Address: netip.MustParseAddr("2001:db8::1"), Port: c.port,
			AppendPort: c.append}
		if got := host(target); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

func TestHTTPMonitorTakesARealServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" || r.Method != http.MethodHead {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer server.Close()
	check := plan.HTTPCheck{Request: "HEAD /health HTTP/1.1", Classes: []uint32{2}}
	if outcome := Probe(t.Context(), targetAt(server.Listener.Addr(), httpMonitor(check))); !outcome.Up ||
		outcome.Took <= 0 {
		t.Errorf("got %+v", outcome)
	}
}

func TestHTTPSMonitorSendsTheServerNameAndVerifiesNothing(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		asked <- hello.ServerName
		return nil, nil
	}}
	server.StartTLS()
	defer server.Close()
	for _, c := range []struct{ monitors, pools, hostname, want string }{
		{"shop.example", "pool.example", "host.example", "shop.example"},
		{"", "pool.example", "host.example", "pool.example"},
		{"", "", "host.example", "host.example"},
		{"", "", "192.0.2.1", ""},
	} {
		monitor := httpMonitor(plan.HTTPCheck{Classes: []uint32{2}})
		monitor.Type, monitor.TLS.ServerName = plan.HTTPS, c.monitors
		target := targetAt(server.Listener.Addr(), monitor)
		target.ServerName, target.Hostname = c.pools, c.hostname
		if outcome := Probe(t.Context(), target); !outcome.Up {
			t.Errorf("got %+v", outcome)
		}
		if name := <-asked; name != c.want {
			t.Errorf("%+v: asked for %q", c, name)
		}
	}
}

func TestHTTPSMonitorSaysWhenTheServerSpeaksNoTLS(t *testing.T) {
	monitor := httpMonitor(plan.HTTPCheck{})
	monitor.Type = plan.HTTPS
	plain := accept.Each(t, func(connection *net.TCPConn) {
		io.WriteString(connection, "HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	if outcome := Probe(t.Context(), targetAt(plain, monitor)); outcome.Up ||
		outcome.Reason != "its answer is not TLS" {
		t.Errorf("got %+v", outcome)
	}
}

func TestMonitorsSayWhyAServerCannotBeReached(t *testing.T) {
	closed := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(accept.FreeAddress(t)))
	if outcome := Probe(t.Context(), targetAt(closed, httpMonitor(
		plan.HTTPCheck{}))); outcome.Reason != "connection refused" {
		t.Errorf("got %+v", outcome)
	}
	silent := httpMonitor(plan.HTTPCheck{})
	silent.Timeout = 30 * time.Millisecond
	forever := accept.Each(t, func(connection *net.TCPConn) { io.Copy(io.Discard, connection) })
	if outcome := Probe(t.Context(), targetAt(forever, silent)); outcome.Reason != "no answer within 30 ms" {
		t.Errorf("got %+v", outcome)
	}
}

func TestTCPMonitorTalksAsItIsTold(t *testing.T) {
	echo := func(connection *net.TCPConn) {
		line, _ := bufio.NewReader(connection).ReadString('\n')
		io.WriteString(connection, "you said "+line)
	}
	for name, c := range map[string]struct {
		check  plan.TCPCheck
		answer func(*net.TCPConn)
		reason string
	}{
		"a connection is enough":    {plan.TCPCheck{}, func(*net.TCPConn) {}, ""},
		"the answer holds the text": {plan.TCPCheck{Request: "hi\n", Contains: "said hi"}, echo, ""},
		"the answer lacks the text": {plan.TCPCheck{Request: "hi\n", Contains: "ho"}, echo,
			`no "ho" in the first 2048 bytes of its answer`},
		"the answer says maintenance": {plan.TCPCheck{Request: "hi\n", Contains: "said", MaintenanceContains: "hi"},
			echo, `it answers "hi", it is in maintenance`},
		"the answer says no maintenance": {plan.TCPCheck{Request: "hi\n", Contains: "said",
			MaintenanceContains: "away"}, echo, ""},
		"there is no answer": {plan.TCPCheck{Contains: "x"}, func(*net.TCPConn) {},
			"it closed the connection without an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			monitor := &plan.Monitor{Type: plan.TCP, TCP: c.check}
			outcome := Probe(t.Context(), targetAt(accept.Each(t, c.answer), monitor))
			if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
				t.Errorf("got %+v, want %q", outcome, c.reason)
			}
		})
	}
}

func TestHalfOpenMonitorIsUnknownToTheServersProgram(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	monitor := &plan.Monitor{Type: plan.TCP, TCP: plan.TCPCheck{HalfOpen: true}}
	for range 5 {
		if outcome := Probe(t.Context(), targetAt(listener.Addr(), monitor)); !outcome.Up {
			t.Errorf("got %+v", outcome)
		}
	}
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	first, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if first.RemoteAddr().String() != client.LocalAddr().String() {
		t.Error("the server's program sees the connection of a check")
	}
	closed := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(accept.FreeAddress(t)))
	if outcome := Probe(t.Context(), targetAt(closed, monitor)); outcome.Reason != "connection refused" {
		t.Errorf("got %+v", outcome)
	}
}

func TestPingReachesThisHostOrSaysWhatItMayNot(t *testing.T) {
	monitor := &plan.Monitor{Type: plan.Ping, Timeout: time.Minute}
	outcome := Probe(t.Context(), Target{Address: netip.MustParseAddr("127.0.0.1"), Monitor: monitor})
	if !outcome.Up && outcome.Reason != errPingPermission.Error() {
		t.Errorf("got %+v", outcome)
	}
}

func TestUnknownMonitorIsSaidToBe(t *testing.T) {
	if outcome := Probe(t.Context(), Target{Monitor: new(plan.Monitor)}); outcome.Up || outcome.Reason == "" {
		t.Errorf("got %+v", outcome)
	}
}
