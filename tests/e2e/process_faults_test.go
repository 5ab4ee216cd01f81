package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// steadyLoad opens a new connection for each request, so that a refused connection shows as an error of its own.
var steadyLoad = []string{"--url", plainURL("/index.html"), "--connections", "8", "--requests-per-connection",
	"1", "--rate", "400"}

func TestKilledDataPlaneIsReplacedAndRefusesNobody(t *testing.T) {
	s := bareStage(t)
	s.serveNginx()
	before := s.dataplane()
	var took time.Duration
	report := s.underLoad(func() {
		s.must(syscall.Kill(before, syscall.SIGKILL))
		killed := time.Now()
		s.eventually("a request is answered again", func() error {
			_, err := getOnce(plainURL("/index.html"))
			return err
		})
		took = time.Since(killed)
	}, steadyLoad...)
	if refused := report.Errors["connect"]; refused != 0 {
		t.Errorf("%d connections were refused; errors: %v", refused, report.Errors)
	}
	if report.ErrorTotal > 16 {
		t.Errorf("more than what was in flight failed: %v", report.Errors)
	}
	s.untilReplaced(before)
	t.Logf("served again after %v; errors %v", took, report.Errors)
}

// untilReplaced waits until the status tells that another data plane runs than the one before.
func (s *stage) untilReplaced(before int) {
	s.Helper()
	s.eventually("the status tells of the restart", func() error {
		dataplane, err := s.engine.Dataplane(s.ctx)
		if err == nil && (dataplane.Restarts != 1 || dataplane.PID == before) {
			err = fmt.Errorf("it says %+v", dataplane)
		}
		return err
	})
}

func TestDataPlaneThatIsKilledAmidChangesIsFollowedByOneThatHasThemAll(t *testing.T) {
	s := bareStage(t)
	s.serveNginx()
	s.createVirtualService("other", "web", loopback(5), tlsPort, plainPort)
	s.waitUp("other")
	before := s.dataplane()
	const changes, killedAfter = 30, 10
	listenAt := func(i int) func(client.Object) {
		return func(o client.Object) { o["services"] = []any{map[string]any{"port": 20000 + i}} }
	}
	for i := range changes {
		s.change("virtualservice", "other", listenAt(i)) // and on, whatever is applied by then
		if i == killedAfter {
			s.must(syscall.Kill(before, syscall.SIGKILL))
		}
	}
	s.untilReplaced(before)
	s.changeApplied("other", "virtualservice", "other", listenAt(changes))
	for i := range changes + 1 {
		_, err := getOnce(fmt.Sprintf("http://%s:%d/", loopback(5), 20000+i))
		if served := err == nil; served != (i == changes) {
			t.Errorf("served at port %d: %t, %v", 20000+i, served, err)
		}
	}
	if status, err := getOnce(plainURL("/index.html")); err != nil || status != http.StatusOK {
		t.Errorf("the other virtual service: %d %v", status, err)
	}
}

func TestFrozenDataPlaneIsReplacedAndRefusesNobody(t *testing.T) {
	s := bareStage(t)
	s.serveNginx()
	before := s.dataplane()
	var took time.Duration
	report := s.underLoad(func() {
		s.must(syscall.Kill(before, syscall.SIGSTOP))
		frozen := time.Now()
		s.untilReplaced(before) // a signal takes its time: until then it may answer
		s.eventually("a request is answered again", s.served)
		took = time.Since(frozen)
	}, steadyLoad...)
	if refused := report.Errors["connect"]; refused != 0 {
		t.Errorf("%d connections were refused; errors: %v", refused, report.Errors)
	}
	contains(t, s.engine.LogTail(), "no Sample for 5s")
	t.Logf("served again after %v; errors %v", took, report.Errors)
}

func TestTrafficMonitorsAndRestartsGoOnWithoutTheController(t *testing.T) {
	for name, fault := range map[string]struct{ begin, end func(*stage) }{
		"killed": {
			func(s *stage) { s.must(s.controller.Kill()) },
			func(s *stage) { s.must(s.controller.Restart(s.ctx)) },
		},
		"frozen": {
			func(s *stage) { s.must(s.controller.Freeze()) },
			func(s *stage) { s.must(s.controller.Thaw()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := bareStage(t)
			s.serveNginx()
			dataplane := s.dataplane()
			report := s.underLoad(func() {
				fault.begin(s)
				for range 1000 {
					s.must(s.served())
				}
			}, steadyLoad...)
			if report.ErrorTotal != 0 {
				t.Errorf("requests failed: %v", report.Errors)
			}
			s.must(syscall.Kill(dataplane, syscall.SIGKILL))
			s.eventually("the data plane serves again", s.served)
			fault.end(s)
			s.must(s.controller.UntilReady(s.ctx, s.controller.Login))
			s.createVirtualService("later", "web", loopback(4), tlsPort, plainPort)
			s.waitUp("later")
		})
	}
}

func TestNewAgentTakesOverTheRunningDataPlane(t *testing.T) {
	s := bareStage(t)
	s.serveNginx()
	before := s.dataplane()
	report := s.underLoad(func() {
		s.must(s.engine.Kill())
		s.must(s.engine.Restart("--workers", "2"))
		s.must(s.engine.UntilReady(s.ctx, s.engine.Connected))
	}, steadyLoad...)
	if report.ErrorTotal != 0 {
		t.Errorf("requests failed: %v", report.Errors)
	}
	if after := s.dataplane(); after != before {
		t.Errorf("data plane %d was replaced by %d", before, after)
	}
	s.createVirtualService("later", "web", loopback(4), tlsPort, plainPort)
	s.waitUp("later")
	s.must(syscall.Kill(before, syscall.SIGKILL))
	s.eventually("the new agent restarts what it took over", s.served)
}

func TestAgentServesThePlanOnDiskBeforeItFindsAController(t *testing.T) {
	s := bareStage(t)
	s.serveNginx()
	s.must(s.controller.Stop())
	s.must(s.engine.Stop())
	if err := s.served(); err == nil {
		t.Fatal("the data plane outlived a graceful stop of its agent")
	}
	s.must(s.engine.Restart("--workers", "2"))
	s.eventually("the last good Plan is served", s.served)
}

func TestCorruptStateIsSetAsideAndFetchedAgain(t *testing.T) {
	s := bareStage(t)
	s.serveNginx()
	s.must(s.engine.Stop())
	plans, err := filepath.Glob(filepath.Join(s.engine.StateDir, "plan*"))
	s.must(err)
	if len(plans) == 0 {
		t.Fatalf("no Plan is kept in %s", s.engine.StateDir)
	}
	for _, plan := range plans {
		text, err := os.ReadFile(plan)
		s.must(err)
		text[len(text)/2] ^= 0xff
		s.must(os.WriteFile(plan, text, 0o600))
	}
	s.must(s.engine.Restart("--workers", "2"))
	s.eventually("it is served again", s.served)
	contains(t, s.engine.LogTail(), "corrupt")
}

func TestRefusedPlanShowsWhichObjectOnWhichEngineAndTheOldOneServes(t *testing.T) {
	s := bareStage(t)
	s.serveNginx()
	squatter, err := net.Listen("tcp", loopback(9)+":8089")
	s.must(err)
	defer squatter.Close()
	s.createVirtualService("squatted", "web", loopback(9), 8449, 8089)
	s.eventually("the runtime names the object, the field and the engine", func() error {
		text := fmt.Sprint(s.runtime("virtualservice", "squatted"))
		for _, want := range []string{"services", squatter.Addr().String(), "engine-1", "another program"} {
			if !strings.Contains(text, want) {
				return fmt.Errorf("%q is missing in %s", want, text)
			}
		}
		return nil
	})
	s.must(s.served())
	s.must(squatter.Close())
	s.change("virtualservice", "squatted", func(o client.Object) { o["description"] = "try again" })
	s.waitUp("squatted")
}

// serveNginx is setUp with three real servers.
func (s *stage) serveNginx() {
	s.Helper()
	servers := nginx(s.T, s.lab, 3)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "web", "servers": serverList(servers),
		"health_monitor_refs": []any{client.Ref("healthmonitor", "System-TCP")}})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
}

func (s *stage) dataplane() int {
	s.Helper()
	pid, err := s.engine.DataplanePID(s.ctx)
	s.must(err)
	return pid
}

func (s *stage) served() error {
	status, err := getOnce(plainURL("/index.html"))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	return err
}
