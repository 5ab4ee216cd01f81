package e2e

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/topology"
)

// setUpElastic builds a site without an engine, whose controller starts and retires engines at once.
func setUpElastic(t *testing.T, behind func(*topology.Topology)) *fabric {
	t.Helper()
	f := bareFabric(t, 0, func(top *topology.Topology) {
		behind(top)
		top.Elastic = true
	})
	f.change("serviceenginegroup", "Default-Group", func(group client.Object) {
		group["min_se"], group["buffer_se"], group["se_deprovision_delay"] = 0, 0, 0
	})
	f.untilRunning() // the group had its min_se for a moment
	return f
}

// running are the engines that have a namespace.
func (f *fabric) running() []string {
	f.Helper()
	names, err := f.site.Engines.List()
	f.must(err)
	slices.Sort(names)
	return names
}

func (f *fabric) untilRunning(engines ...string) {
	f.Helper()
	f.eventually(fmt.Sprintf("%v run", engines), func() error {
		objects, err := f.controller.Session.List(f.ctx, "serviceengine", nil)
		if running := f.running(); err == nil && (!slices.Equal(running, engines) || len(objects) != len(engines)) {
			err = fmt.Errorf("%v run, and %d are known", running, len(objects))
		}
		return err
	})
}

// told are the messages of all events of one kind.
func (s *stage) told(id string) (messages []string) {
	s.Helper()
	var logs struct {
		Results []map[string]any `json:"results"`
	}
	s.must(s.controller.Session.Get(s.ctx, "analytics/logs?type=2&source=memory&page_size=1000&event_id="+id, &logs))
	for _, event := range logs.Results {
		messages = append(messages, fmt.Sprintf("%v: %v", event["obj_name"], event["event_description"]))
	}
	return messages
}

func TestEnginesComeWithAVirtualServiceAndGoWithIt(t *testing.T) {
	behindEachRouter(t, func(t *testing.T, behind func(*topology.Topology)) {
		f := setUpElastic(t, behind)
		asked := time.Now()
		f.serve(3)
		f.spread(clearURL, 50)
		t.Logf("three engines serve %v after they were asked for", time.Since(asked))
		if counts := f.spread(secureURL, 300); len(counts) != 3 {
			t.Errorf("not all of them serve: %v", counts)
		}
		if told := strings.Join(f.told("CREATING_SE"), "\n"); !strings.Contains(told,
			"wants 3 engines and has 0: cloud Default-Cloud starts it") {
			t.Errorf("told: %q", told)
		}

		// A controller that restarts finds them, and starts none beside them.
		f.must(f.controller.Kill())
		f.must(f.controller.Restart(f.ctx))
		f.waitUp("web")
		f.untilRunning(f.engineNames(3)...)

		// One that ends is started again.
		engine, err := f.site.Network.Namespace("engine-2")
		f.must(err)
		f.must(engine.Kill())
		f.untilHops("engine-1", "engine-3")
		f.untilHops(f.engineNames(3)...)
		f.untilRunning(f.engineNames(3)...)
		if told := f.told("CREATING_SE"); len(told) != 1 || !strings.HasPrefix(told[0], "engine-2: it has ended") {
			t.Errorf("told: %q", told)
		}

		vs, err := f.controller.Session.ByName(f.ctx, "virtualservice", "web")
		f.must(err)
		f.must(f.controller.Session.Delete(f.ctx, "virtualservice", fmt.Sprint(vs["uuid"])))
		f.untilRunning()
		f.eventually("the end of each is told", func() error {
			if told := f.told("DELETED_SE"); len(told) != 3 {
				return fmt.Errorf("told: %q", told)
			}
			return nil
		})
	})
}

func TestOneMachineStartsItsOwnEngine(t *testing.T) {
	s := bareStage(t)
	var err error
	s.controller, err = s.lab.Controller(s.ctx, "--engines", "process")
	s.must(err)
	s.change("serviceenginegroup", "Default-Group", func(group client.Object) {
		group["min_se"], group["buffer_se"], group["se_deprovision_delay"] = 0, 0, 0
	})
	s.untilEngines(0) // the group had its min_se for a moment
	s.create("pool", client.Object{"name": "web", "servers": serverList(nginx(t, s.lab, 1))})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	contains(t, s.curl(tlsURL("/index.html")), "test")

	s.must(s.controller.Kill())
	contains(t, s.curl(tlsURL("/index.html")), "test")
	s.must(s.controller.Restart(s.ctx))
	s.waitUp("web")
	s.untilEngines(1)

	// Its data plane outlives an agent that is killed; the next agent takes it over.
	agents, err := exec.Command("pgrep", "-f", "weir agent .*"+s.dir).Output()
	s.must(err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(agents)))
	s.must(err)
	s.must(syscall.Kill(pid, syscall.SIGKILL))
	s.eventually("the agent is started again", func() error {
		if told := s.told("CREATING_SE"); len(told) != 1 || !strings.Contains(told[0],
			"it has ended, and is started again") {
			return fmt.Errorf("told: %q", told)
		}
		return nil
	})
	contains(t, s.curl(tlsURL("/index.html")), "test")
	s.waitUp("web")

	vs, err := s.controller.Session.ByName(s.ctx, "virtualservice", "web")
	s.must(err)
	s.must(s.controller.Session.Delete(s.ctx, "virtualservice", fmt.Sprint(vs["uuid"])))
	s.untilEngines(0) // and the lab finds no process left behind
}

// Only one engine of a machine can listen at an address. The one that is disabled stops before the other one starts.
func TestOneMachineDisablesItsEngine(t *testing.T) {
	s := bareStage(t)
	var err error
	s.controller, err = s.lab.Controller(s.ctx, "--engines", "process")
	s.must(err)
	s.change("serviceenginegroup", "Default-Group", func(group client.Object) {
		group["buffer_se"], group["se_deprovision_delay"] = 0, 0
	})
	s.create("pool", client.Object{"name": "web", "servers": serverList(nginx(t, s.lab, 1))})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	contains(t, s.curl(tlsURL("/index.html")), "test")

	disabled := s.untilEngineServes("web", "")
	s.change("serviceengine", disabled, func(engine client.Object) { engine["enable_state"] = "SE_STATE_DISABLED" })
	s.untilEngineServes("web", disabled)
	contains(t, s.curl(tlsURL("/index.html")), "test")

	vs, err := s.controller.Session.ByName(s.ctx, "virtualservice", "web")
	s.must(err)
	s.must(s.controller.Session.Delete(s.ctx, "virtualservice", fmt.Sprint(vs["uuid"])))
	s.change("serviceenginegroup", "Default-Group", func(group client.Object) { group["min_se"] = 0 })
	engine, err := s.controller.Session.ByName(s.ctx, "serviceengine", disabled)
	s.must(err)
	s.must(s.controller.Session.Delete(s.ctx, "serviceengine", fmt.Sprint(engine["uuid"])))
	s.untilEngines(0)
}

// untilEngineServes waits until one engine alone serves a virtual service, another one than before. It returns its
// name.
func (s *stage) untilEngineServes(name, before string) (engine string) {
	s.Helper()
	vs, err := s.controller.Session.ByName(s.ctx, "virtualservice", name)
	s.must(err)
	s.eventually("another engine serves", func() error {
		var runtime struct {
			Summary []struct {
				Engines []struct {
					Name   string `json:"name"`
					Active bool   `json:"active_on_se"`
				} `json:"service_engine"`
			} `json:"vip_summary"`
		}
		err := s.controller.Session.Get(s.ctx, fmt.Sprintf("virtualservice/%v/runtime", vs["uuid"]), &runtime)
		if err != nil {
			return err
		}
		engines := runtime.Summary[0].Engines
		if len(engines) != 1 || !engines[0].Active || engines[0].Name == before {
			return fmt.Errorf("engines are %+v", engines)
		}
		engine = engines[0].Name
		return nil
	})
	return engine
}

func (s *stage) untilEngines(count int) {
	s.Helper()
	s.eventually(fmt.Sprintf("there are %d engines", count), func() error {
		engines, err := s.controller.Session.List(s.ctx, "serviceengine", nil)
		if err == nil && len(engines) != count {
			err = fmt.Errorf("there are %d", len(engines))
		}
		return err
	})
}

func TestAVirtualServiceIsOnMoreEnginesForAsLongAsItsLoadWantsThat(t *testing.T) {
	f := setUpElastic(t, func(*topology.Topology) {})
	f.change("serviceenginegroup", "Default-Group", func(group client.Object) {
		group["auto_rebalance"], group["auto_rebalance_interval"] = true, 3
		group["auto_rebalance_criteria"], group["auto_rebalance_capacity_per_se"] = []any{"SE_AUTO_REBALANCE_CPS"},
			[]any{100}
	})
	_, err := f.site.Serve(f.ctx, "web", anycast, anycast6)
	f.must(err)
	f.untilHops("engine-1")
	load, err := f.client.BeginLoad(f.ctx, append([]string{"--url", clearURL, "--connections", "4",
		"--requests-per-connection", "1", "--rate", "120"}, untilTold...)...)
	f.must(err)
	f.untilHops("engine-1", "engine-2") // 60 each is enough
	if told := f.told("REBALANCE_VS_SCALEOUT"); len(told) != 1 ||
		!strings.Contains(told[0],
			"of its new connections, above max_cpu_usage, 80 %: the virtual service is scaled out to a fresh engine") {
		t.Errorf("told: %q", told)
	}
	_, err = load.End()
	f.must(err)
	f.untilHops("engine-1")
	f.untilRunning("engine-1")
	if told := f.told("REBALANCE_VS_SCALEIN"); len(told) != 1 {
		t.Errorf("told: %q", told)
	}
}
