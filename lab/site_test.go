package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/topology"
)

// built is a whole site of lab/seed.toml with fewer machines.
func built(t *testing.T, name string, engines int) *Site {
	t.Helper()
	s := openSite(t, name, func(top *topology.Topology) { top.Engines.Count, top.Servers.Count = engines, 2 })
	if err := CheckPrograms(s.lab.programs); err != nil {
		t.Fatal(err)
	}
	if err := s.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASiteStandsWithEverythingInIt(t *testing.T) {
	s := built(t, "whole", 2)
	if names, err := s.Engines.List(); err != nil || !slices.Equal(names, []string{"engine-1", "engine-2"}) {
		t.Errorf("engines: %v, %v", names, err)
	}
	client, err := s.Client(1)
	if err != nil {
		t.Fatal(err)
	}
	report, err := client.Load(t.Context(), "--url", "http://"+s.Servers[1].ID()+"/index.html", "--count", "10",
		"--server-header", "X-Origin")
	if err != nil || report.PerValue["10.2.0.12:80"] != 10 {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := s.Client(3); err == nil {
		t.Error("there is a third client")
	}
}

func TestEnginesComeAndGoWhileASiteStands(t *testing.T) {
	s := built(t, "elastic", 1)
	if err := s.StartEngines(t.Context(), "engine-2", "engine-64"); err != nil {
		t.Fatal(err)
	}
	if err := s.Engines.Stop("engine-2"); err != nil {
		t.Fatal(err)
	}
	if names, err := s.Engines.List(); err != nil || !slices.Equal(names, []string{"engine-1", "engine-64"}) {
		t.Errorf("engines: %v, %v", names, err)
	}
	if _, err := os.Stat(filepath.Join(s.Network.Dir(), "engine-2")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its state is still there: %v", err)
	}
	if err := s.StartEngines(t.Context(), "engine-65"); err == nil ||
		!strings.Contains(err.Error(), "engine-1 to engine-64") {
		t.Errorf("an engine too many: %v", err)
	}
}

func TestAnEngineThatWasKilledComesBackWithoutJoiningAgain(t *testing.T) {
	s := built(t, "killed", 1)
	space, err := s.Network.Namespace("engine-1")
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Controller.engineRuntime(t.Context(), "engine-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := space.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(t.Context(), "engine-1"); err != nil {
		t.Fatal(err)
	}
	after, err := s.Controller.engineRuntime(t.Context(), "engine-1")
	if err != nil || after.Dataplane.PID == before.Dataplane.PID {
		t.Errorf("its data plane was process %d and is %d, %v", before.Dataplane.PID, after.Dataplane.PID, err)
	}
}

func TestNothingIsLeftOfASiteThatWasClosed(t *testing.T) {
	s := built(t, "closed", 1)
	dir, spaces := s.Network.Dir(), mustList(t, s.Network)
	var all []network.Process
	for _, space := range spaces {
		found, err := space.Processes()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	if len(all) < 7 { // 3 of FRR, 2 nginx with a worker each, controller, agent, data plane
		t.Errorf("it has only %v", all)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		// a process that has ended is nowhere
		if _, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", p.PID)); err == nil {
			t.Errorf("%s (process %d) still runs", p.Program, p.PID)
		}
	}
	if left := mustList(t, s.Network); len(left) > 0 {
		t.Errorf("namespaces are left: %v", left)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", dir, err)
	}
}

func TestASiteThatCouldNotBeClosedIsClosedByTheNextTry(t *testing.T) {
	s := openSite(t, "stuck", func(*topology.Topology) {})
	busy := filepath.Join(s.Network.Dir(), "busy")
	if err := errors.Join(os.Mkdir(busy, 0o700), unix.Mount("tmpfs", busy, "tmpfs", 0, "size=4k")); err != nil {
		t.Fatal(err)
	}
	first := s.Close()
	if err := unix.Unmount(busy, 0); err != nil {
		t.Fatal(err)
	}
	if first == nil {
		t.Error("a directory was removed that was in use")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Network.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", s.Network.Dir(), err)
	}
}

func mustList(t *testing.T, n *network.Network) []*network.Namespace {
	t.Helper()
	spaces, err := n.Namespaces()
	if err != nil {
		t.Fatal(err)
	}
	return spaces
}
