package lab

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/router"
	"github.com/weir-lb/weir/lab/teller"
	"github.com/weir-lb/weir/lab/topology"
)

// patience is how long a router may take to hear of something, on a machine that is busy.
const patience = 2 * time.Minute

//go:embed testdata/speaker.conf
var speakerConfig string

var (
	vip4 = netip.MustParsePrefix("3.3.3.3/32")
	vip6 = netip.MustParsePrefix("fd03:3:3::3/128")
)

// openSite claims a site of lab/seed.toml whose name is the test's own.
func openSite(t *testing.T, name string, change func(*topology.Topology)) *Site {
	t.Helper()
	if err := network.CheckRoot(); err != nil {
		t.Skip(err)
	}
	top, err := Seed()
	if err != nil {
		t.Fatal(err)
	}
	top.Name = fmt.Sprintf("%s-%d", name, os.Getpid())
	change(&top)
	programs, err := filepath.Abs("../bin")
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenSite(top, programs, &teller.Teller{Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range s.lab.all {
			if t.Failed() {
				t.Logf("%s:\n%s", p.Name, p.LogTail())
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// routed is a site that has a router and speakers in the place of engines.
func routed(t *testing.T, kind string, engines int) (s *Site, atRouter *network.Namespace, speakers []*Process) {
	t.Helper()
	s = openSite(t, kind, func(top *topology.Topology) { top.Router.Kind = kind })
	ctx := t.Context()
	for _, do := range []func(context.Context) (string, error){s.lay, s.startRouter} {
		if _, err := do(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for number := range engines {
		speakers = append(speakers, s.startSpeaker(t, topology.EngineName(number+1)))
	}
	atRouter, err := s.Network.Namespace(topology.RouterName)
	if err != nil {
		t.Fatal(err)
	}
	return s, atRouter, speakers
}

func (s *Site) startSpeaker(t *testing.T, name string) *Process {
	t.Helper()
	node, err := s.Topology.EngineNode(name)
	if err != nil {
		t.Fatal(err)
	}
	space, err := s.Network.Attach(node)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Network.Dir(), name+".conf")
	addresses := node.Links[0].Addresses
	if err := os.WriteFile(path, fmt.Appendf(nil, speakerConfig, addresses[0].Addr(), addresses[1].Addr()),
		0o644); err != nil {
		t.Fatal(err)
	}
	p, err := s.lab.At(space, node.Address().String()).Start(name, "/usr/sbin/bird", "-f", "-c", path, "-s", path+
		".ctl", "-P", path+".pid")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// untilWatched waits until the speaker and the router watch each other by BFD, in both families.
func untilWatched(t *testing.T, s *Site, speaker *Process) {
	t.Helper()
	err := speaker.UntilReady(t.Context(), func(ctx context.Context) error {
		said, err := exec.CommandContext(ctx, "birdc", "-s", filepath.Join(s.Network.Dir(), speaker.Name+".conf.ctl"),
			"show", "bfd", "sessions").Output()
		if err == nil && strings.Count(string(said), " Up ") != 2 {
			err = fmt.Errorf("sessions: %s", said)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// untilHops waits until the kernel of the router sends a prefix to these hosts, and says how long that took.
func untilHops(t *testing.T, at *network.Namespace, prefix netip.Prefix, want ...string) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begun := time.Now()
	if err := at.UntilHops(ctx, prefix, addresses(want)...); err != nil {
		t.Fatal(err)
	}
	return time.Since(begun)
}

func addresses(texts []string) (all []netip.Addr) {
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func TestEitherRouterSpreadsAVIPOverAllWhoAnnounceIt(t *testing.T) {
	for _, kind := range []string{topology.FRR, topology.BIRD} {
		t.Run(kind, func(t *testing.T) {
			_, at, speakers := routed(t, kind, 3)
			untilHops(t, at, vip4, "10.1.0.11", "10.1.0.12", "10.1.0.13")
			untilHops(t, at, vip6, "fd00:1::b", "fd00:1::c", "fd00:1::d")
			if hops, err := at.NextHops(netip.MustParsePrefix("10.2.0.0/24")); err != nil || len(hops) > 0 {
				t.Errorf("it took the servers' network from an engine: %v, %v", hops, err)
			}
			if err := speakers[1].Stop(); err != nil {
				t.Fatal(err)
			}
			untilHops(t, at, vip4, "10.1.0.11", "10.1.0.13")
		})
	}
}

func TestEitherRouterMissesAnEngineThatIsCutOffWithinThreeIntervals(t *testing.T) {
	for _, kind := range []string{topology.FRR, topology.BIRD} {
		t.Run(kind, func(t *testing.T) {
			s, at, speakers := routed(t, kind, 2)
			untilHops(t, at, vip4, "10.1.0.11", "10.1.0.12")
			untilWatched(t, s, speakers[0])
			if err := at.Cut("engine-1"); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: gone after %v", kind, untilHops(t, at, vip4, "10.1.0.12"))
			if err := at.Connect("engine-1"); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: back after %v", kind, untilHops(t, at, vip4, "10.1.0.11", "10.1.0.12"))
		})
	}
}

func TestSaysWhichPackageTheRouterIsIn(t *testing.T) {
	const advice = " is not installed: run `apt-get install frr`, or `make lab`, which does"
	for _, c := range []struct{ shell, daemon, missing string }{
		{"true", "/no/such/zebra", "/no/such/zebra"}, {"no-such-vtysh", "true", "no-such-vtysh"}, {"true", "true", ""},
	} {
		spec := router.Spec{Package: "frr", Shell: []string{c.shell, "-c"},
			Daemons: []router.Daemon{{Name: "zebra", Program: c.daemon}}}
		if err := spec.Installed(); c.missing == "" && err != nil || c.missing != "" &&
			(err == nil || err.Error() != c.missing+advice) {
			t.Errorf("%v: got %v", c, err)
		}
	}
}
