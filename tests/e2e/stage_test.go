// Package e2e runs whole Weirs as real processes, with real clients and servers, and breaks them. Nothing here sleeps:
// a test waits for the event it is about. Needs the programs in bin/ (`make build`), nginx, curl and openssl.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/tests/built"
)

// Addresses are this run's own: another one on the same machine has others.
var (
	vip          = loopback(3)
	tlsAddress   = net.JoinHostPort(vip, strconv.Itoa(tlsPort))
	plainAddress = net.JoinHostPort(vip, strconv.Itoa(plainPort))
)

func loopback(host int) string {
	return fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()>>8%250, os.Getpid()%256, host)
}

const (
	tlsPort   = 8443
	plainPort = 8080
	page      = "<head>\ntest\n</head>\n"

	// eventTimeout is how long an event may take, on a machine that is slow and busy with something else.
	eventTimeout = 2 * time.Minute
)

// patient makes a load wait longer for responses; untilTold also makes it run until it is stopped.
var (
	patient   = []string{"--timeout", fmt.Sprintf("%.0fs", eventTimeout.Seconds())}
	untilTold = append([]string{"--duration", "60m"}, patient...)
)

// stage is one controller and one engine that serve the virtual service "web" over TLS and plain HTTP.
type stage struct {
	*testing.T
	ctx        context.Context
	lab        *lab.Lab
	dir        string
	controller *lab.Controller
	engine     *lab.Engine
}

// setUp builds a stage whose pool holds these servers. The virtual service does not redirect plain requests.
func setUp(t *testing.T, servers ...string) *stage {
	t.Helper()
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "web", "servers": serverList(servers),
		"health_monitor_refs": []any{client.Ref("healthmonitor", "System-TCP")}})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	return s
}

// weir is the program.
func weir(t *testing.T) string {
	t.Helper()
	return filepath.Join(built.Programs(t), "weir")
}

// bareStage has nothing running yet.
func bareStage(t *testing.T) *stage {
	t.Helper()
	dir := t.TempDir()
	l, err := lab.New(dir, built.Programs(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, ctx: t.Context(), lab: l, dir: dir}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *stage) startController(flags ...string) (err error) {
	s.controller, err = s.lab.Controller(s.ctx, flags...)
	return err
}

func (s *stage) startEngine() (err error) {
	s.engine, err = s.lab.Engine(s.ctx, s.controller, "engine-1", "--workers", "2")
	return err
}

// nginx starts real servers that hold the page.
func nginx(t *testing.T, l *lab.Lab, count int) []string {
	t.Helper()
	var ids []string
	for i := range count {
		server, err := l.Nginx(t.Context(), fmt.Sprintf("nginx-%d", i+1), 0, map[string]string{"index.html": page})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, server.ID())
	}
	return ids
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) create(kind string, object client.Object) client.Object {
	s.Helper()
	created, err := s.controller.Session.Create(s.ctx, kind, object)
	s.must(err)
	return created
}

func (s *stage) createVirtualService(name, pool, address string, tlsPort, plainPort int) {
	s.Helper()
	s.create("vsvip", client.Object{"name": name, "vip": []any{
		map[string]any{"vip_id": "1", "ip_address": map[string]any{"addr": address, "type": "V4"}}}})
	s.create("virtualservice", client.Object{
		"name": name, "vsvip_ref": client.Ref("vsvip", name), "pool_ref": client.Ref("pool", pool),
		"services": []any{map[string]any{"port": tlsPort, "enable_ssl": true},
			map[string]any{"port": plainPort}},
		"ssl_key_and_certificate_refs": []any{client.Ref("sslkeyandcertificate", "System-Default-Cert-EC")},
	})
}

// change reads an object, lets edit change it, and puts it back.
func (s *stage) change(kind, name string, edit func(client.Object)) {
	s.Helper()
	object, err := s.controller.Session.ByName(s.ctx, kind, name)
	s.must(err)
	edit(object)
	_, err = s.controller.Session.Replace(s.ctx, kind, object)
	s.must(err)
}

// runtime reads the state of an object.
func (s *stage) runtime(kind, name string) client.Object {
	s.Helper()
	object, err := s.controller.Session.ByName(s.ctx, kind, name)
	s.must(err)
	var runtime client.Object
	s.must(s.controller.Session.Get(s.ctx, fmt.Sprintf("%s/%v/runtime", kind, object["uuid"]), &runtime))
	return runtime
}

// waitUp waits until every engine serves the virtual service's newest state.
func (s *stage) waitUp(name string) {
	s.Helper()
	s.eventually("virtual service "+name+" is up", func() error {
		runtime := s.runtime("virtualservice", name)
		status, _ := runtime["oper_status"].(map[string]any)
		if status["state"] != "OPER_UP" {
			return fmt.Errorf("it is %v", status)
		}
		return nil
	})
}

// eventually waits until check succeeds.
func (s *stage) eventually(what string, check func() error) {
	s.Helper()
	deadline, poll := time.After(eventTimeout), time.NewTicker(20*time.Millisecond)
	defer poll.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			s.Fatalf("not within %v: %s: %v", eventTimeout, what, err)
		case <-poll.C:
		}
	}
}

// load runs the generator until it has made its count of requests.
func (s *stage) load(flags ...string) lab.LoadReport {
	s.Helper()
	report, err := s.lab.Load(s.ctx, append(flags, untilTold...)...)
	s.must(err)
	return report
}

// underLoad runs the generator and, once its requests are being answered, does meanwhile; returns what the load saw by
// then.
func (s *stage) underLoad(meanwhile func(), flags ...string) lab.LoadReport {
	s.Helper()
	before := s.requests("web")
	load, err := s.lab.BeginLoad(s.ctx, append(flags, untilTold...)...)
	s.must(err)
	s.eventually("requests of the load are answered", func() error {
		if s.requests("web") == before {
			return errors.New("none is counted yet")
		}
		return nil
	})
	meanwhile()
	report, err := load.End()
	s.must(err)
	return report
}

// requests is how many requests of a virtual service the API has heard of.
func (s *stage) requests(name string) float64 {
	s.Helper()
	counters, _ := s.runtime("virtualservice", name)["counters"].(map[string]any)
	total, _ := counters["requests"].(float64)
	return total
}

// curl runs curl and returns what it printed.
func (s *stage) curl(args ...string) string {
	s.Helper()
	out, err := s.tryCurl(args...)
	s.must(err)
	return out
}

// tryCurl is for requests that may fail, while what serves them changes.
func (s *stage) tryCurl(args ...string) (string, error) {
	out, err := exec.CommandContext(s.ctx, "curl", append([]string{"-sS", "-k", "--max-time",
		fmt.Sprint(eventTimeout.Seconds())}, args...)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("curl %v: %w\n%s", args, err, out)
	}
	return string(out), err
}

func plainURL(path string) string { return fmt.Sprintf("http://%s:%d%s", vip, plainPort, path) }
func tlsURL(path string) string   { return fmt.Sprintf("https://%s:%d%s", vip, tlsPort, path) }

func serverList(ids []string) []any {
	var list []any
	for _, id := range ids {
		host, port, _ := net.SplitHostPort(id)
		list = append(list, map[string]any{"ip": map[string]any{"addr": host, "type": "V4"}, "port": port})
	}
	return list
}

// getOnce asks once over a new connection.
func getOnce(url string) (status int, err error) {
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: eventTimeout}).Get(url)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func contains(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}
