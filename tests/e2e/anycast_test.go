package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-lb/weir/agent/route"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/teller"
	"github.com/weir-lb/weir/lab/topology"
	"github.com/weir-lb/weir/tests/built"
)

// The VIP of lab/seed.toml, and an IPv6 address; they are behind a real router in namespaces.
var (
	anycast  = netip.MustParseAddr("3.3.3.3")
	anycast6 = netip.MustParseAddr("fd03:3:3::3")
)

const (
	secureURL = "https://3.3.3.3/"
	clearURL  = "http://3.3.3.3/"
	clearURL6 = "http://[fd03:3:3::3]/"
)

// fabric is a stage whose engines are behind a router. Needs root.
type fabric struct {
	*stage
	site   *lab.Site
	router *network.Namespace
	client *lab.Host
}

// behindEachRouter runs a test of a site behind FRR, and of one behind BIRD.
func behindEachRouter(t *testing.T, test func(t *testing.T, behind func(*topology.Topology))) {
	t.Helper()
	for _, kind := range []string{topology.FRR, topology.BIRD} {
		t.Run(kind, func(t *testing.T) { test(t, func(top *topology.Topology) { top.Router.Kind = kind }) })
	}
}

// setUpFabric builds a site in which engines serve the virtual service "web" at one address.
func setUpFabric(t *testing.T, engines int, change func(*topology.Topology)) *fabric {
	t.Helper()
	f := bareFabric(t, engines, change)
	f.serve(engines)
	return f
}

// bareFabric builds a site that serves nothing.
func bareFabric(t *testing.T, engines int, change func(*topology.Topology)) *fabric {
	t.Helper()
	if err := network.CheckRoot(); err != nil {
		t.Skip(err)
	}
	top, err := lab.Seed()
	if err != nil {
		t.Fatal(err)
	}
	top.Name = fmt.Sprintf("e2e-%d", os.Getpid())
	top.Engines.Count, top.Servers.Count, top.Clients.Count = engines, 2, 1
	change(&top)
	if err := route.CanSign(); err != nil && top.Router.Password != "" {
		t.Skip(err)
	}
	site, err := lab.OpenSite(top, built.Programs(t), &teller.Teller{Out: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	f := &fabric{stage: &stage{T: t, ctx: t.Context(), dir: site.Network.Dir()}, site: site}
	t.Cleanup(func() {
		if t.Failed() {
			f.tellWhatWasSaid()
		}
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	})
	f.must(site.Build(f.ctx))
	f.controller = site.Controller
	f.router, err = site.Network.Namespace(topology.RouterName)
	f.must(err)
	f.client, err = site.Client(1)
	f.must(err)
	return f
}

// serve creates the virtual service on all engines, and waits until the router sends to all of them.
func (f *fabric) serve(engines int) {
	f.Helper()
	f.change("serviceenginegroup", "Default-Group", func(group client.Object) {
		group["min_scaleout_per_vs"], group["max_scaleout_per_vs"] = engines, engines
	})
	_, err := f.site.Serve(f.ctx, "web", anycast, anycast6)
	f.must(err)
	f.untilHops(f.engineNames(engines)...)
}

func (f *fabric) engineNames(count int) (names []string) {
	for number := range count {
		names = append(names, topology.EngineName(number+1))
	}
	return names
}

// untilHops waits until the router's kernel sends what goes to the VIP, in both families, to exactly these engines.
func (f *fabric) untilHops(engines ...string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, eventTimeout)
	defer cancel()
	hops := map[bool][]netip.Addr{} // by whether they are of IPv4
	for _, name := range engines {
		node, err := f.site.Topology.EngineNode(name)
		f.must(err)
		for _, hub := range node.Links[0].Addresses {
			hops[hub.Addr().Is4()] = append(hops[hub.Addr().Is4()], hub.Addr())
		}
	}
	for _, vip := range []netip.Addr{anycast, anycast6} {
		f.must(f.router.UntilHops(ctx, netip.PrefixFrom(vip, vip.BitLen()), hops[vip.Is4()]...))
	}
}

// untilWatched waits until BFD is up between the router and this many engines, in both families. Before that, BFD
// notices no fault.
func (f *fabric) untilWatched(engines int) {
	f.Helper()
	question := map[string]string{topology.FRR: "show bfd peers brief",
		topology.BIRD: "show bfd sessions"}[f.site.Topology.Router.Kind]
	f.eventually(fmt.Sprintf("%d engines are watched", engines), func() error {
		said, err := f.site.AskRouter(f.ctx, question)
		if err == nil && strings.Count(strings.ToLower(said), " up ") != 2*engines {
			err = errors.New(said)
		}
		for _, engine := range f.engineNames(engines) {
			err = errors.Join(err, f.watches(engine))
		}
		return err
	})
}

// watches tells whether an engine watches the router in both families.
func (f *fabric) watches(engine string) error {
	found, err := f.controller.Session.ByName(f.ctx, "serviceengine", engine)
	if err != nil {
		return err
	}
	var sessions struct {
		Results []struct {
			State string `json:"session_state"`
		} `json:"results"`
	}
	if err := f.controller.Session.Get(f.ctx, fmt.Sprintf("serviceengine/%v/bfd/session_status", found["uuid"]),
		&sessions); err != nil {
		return err
	}
	if said := fmt.Sprint(sessions.Results); said != "[{Up} {Up}]" {
		return fmt.Errorf("%s: %s", engine, said)
	}
	return nil
}

// spread asks over new connections, none of which may fail, and says how many each engine answered.
func (f *fabric) spread(url string, count int) map[string]int64 {
	f.Helper()
	report, err := f.client.Load(f.ctx, append([]string{"--url", url, "--count", strconv.Itoa(count), "--connections",
		"8", "--server-header", "X-Asked-By",
		"--reset"}, patient...)...)
	f.must(err)
	if report.ErrorTotal > 0 {
		f.Fatalf("%s: %d of %d requests failed: %v", url, report.ErrorTotal, count, report.Errors)
	}
	counts := map[string]int64{}
	for address, answers := range report.PerValue {
		counts[f.site.NodeAt(address)] += answers
	}
	return counts
}

func (f *fabric) tellWhatWasSaid() {
	logs, _ := filepath.Glob(filepath.Join(f.dir, "*.log"))
	agents, _ := filepath.Glob(filepath.Join(f.dir, "*", "agent.log"))
	for _, path := range append(logs, agents...) {
		text, err := os.ReadFile(path)
		f.Logf("%s: %v\n%s", path, err, text[max(0, len(text)-3000):])
	}
}

func TestAllEnginesBehindEitherRouterServeOneAddress(t *testing.T) {
	for name, change := range map[string]func(*topology.Topology){
		"FRR":  func(*topology.Topology) {},
		"BIRD": func(top *topology.Topology) { top.Router.Kind = topology.BIRD },
		"FRR, external, with MD5": func(top *topology.Topology) {
			top.Router.EnginesAS, top.Router.Password = 65001, "secret"
		},
	} {
		t.Run(name, func(t *testing.T) {
			const engines, connections = 3, 300
			f := setUpFabric(t, engines, change)
			for _, url := range []string{secureURL, clearURL6} {
				// Of 300 connections to three engines each gets 60 or more, but once in 10^6 runs.
				counts := f.spread(url, connections)
				for _, engine := range f.engineNames(engines) {
					if counts[engine] < 60 {
						t.Errorf("%s: of %d connections %v", url, connections, counts)
					}
				}
			}
		})
	}
}
