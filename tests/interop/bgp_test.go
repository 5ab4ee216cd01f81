package interop

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/route"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/router"
	"github.com/weir-lb/weir/lab/teller"
	"github.com/weir-lb/weir/lab/topology"
	"github.com/weir-lb/weir/tests/built"
)

// A router may take this long to hear of a route, on a machine that is busy: BGP waits for seconds between its tries.
// It is less than the hold time of the lab's router, 180 s, after which it misses an engine without BFD, too, and less
// than the 360 s for which FRR keeps routes of an engine that is back and does not say which of them still hold.
const routePatience = 2 * time.Minute

var (
	vip4 = netip.MustParsePrefix("3.3.3.3/32")
	vip6 = netip.MustParsePrefix("fd03:3:3::3/128")
)

// internet is a lab with a real router, two engines, and a virtual service at an IPv4 and an IPv6 address.
type internet struct {
	*testing.T
	site   *lab.Site
	router *network.Namespace
	shell  []string
}

// peering is how the router of a lab is to be set up, and engines to peer with it.
type peering func(*topology.Topology) (peer, profile client.Object)

// internal is how the 1M-TPS report had it: one autonomous system.
func internal(*topology.Topology) (peer, profile client.Object) {
	return client.Object{}, client.Object{"local_as": 65000, "ibgp": true, "local_preference": 300,
		"community": []any{"65000:7"}}
}

// external has the engines in a system of their own.
func external(t *topology.Topology) (peer, profile client.Object) {
	t.Router.EnginesAS = 65010
	return client.Object{"remote_as": t.Router.AS},
		client.Object{"local_as": 65010, "ibgp": false, "num_as_path_prepend": 2, "community": []any{"65010:7"}}
}

// signed has both sides sign their sessions.
func signed(how peering) peering {
	return func(t *topology.Topology) (peer, profile client.Object) {
		peer, profile = how(t)
		t.Router.Password = "s3cret"
		peer["md5_secret"] = t.Router.Password
		return peer, profile
	}
}

// connect builds the lab and waits until the router sends clients to both engines.
func connect(t *testing.T, kind string, how peering) *internet {
	t.Helper()
	if err := network.CheckRoot(); err != nil {
		t.Skip(err)
	}
	top, err := lab.Seed()
	must(t, err)
	top.Name = fmt.Sprintf("bgp-%s-%d", kind, os.Getpid())
	top.Router.Kind, top.Engines.Count, top.Servers.Count, top.Clients.Count = kind, 2, 1, 1
	peer, profile := how(&top)
	if err := route.CanSign(); err != nil && top.Router.Password != "" {
		t.Skip(err)
	}
	programs := built.Programs(t)
	must(t, lab.CheckPrograms(programs))
	site, err := lab.OpenSite(top, programs, &teller.Teller{Out: io.Discard})
	must(t, err)
	n := &internet{T: t, site: site}
	t.Cleanup(n.close)
	must(t, site.Build(t.Context()))
	n.router, err = site.Network.Namespace(topology.RouterName)
	must(t, err)
	spec, err := router.For(top, filepath.Join(site.Network.Dir(), topology.RouterName))
	must(t, err)
	n.shell = spec.Shell
	n.peerWith(peer, profile)
	n.advertise()
	n.untilHops(vip4, []string{"10.1.0.11", "10.1.0.12"}[:top.Engines.Count]...)
	n.untilHops(vip6, []string{"fd00:1::b", "fd00:1::c"}[:top.Engines.Count]...)
	return n
}

func (n *internet) close() {
	if n.Failed() {
		for _, name := range []string{"engine-1", "engine-2"}[:n.site.Topology.Engines.Count] {
			n.Logf("%s:\n%s", name, n.site.Engines.LogTail(name))
		}
	}
	if err := n.site.Close(); err != nil {
		n.Error(err)
	}
}

// peerWith has engines of the default virtual routing context speak to the router of the lab, in both families.
func (n *internet) peerWith(peer, profile client.Object) {
	n.Helper()
	session := n.site.Controller.Session
	global, err := session.ByName(n.Context(), "vrfcontext", "global")
	must(n.T, err)
	peer["peer_ip"], peer["subnet"] = address("10.1.0.1"), subnet("10.1.0.0", 24)
	peer["peer_ip6"], peer["subnet6"] = address("fd00:1::1"), subnet("fd00:1::", 64)
	profile["peers"] = []any{peer}
	global["bgp_profile"] = profile
	_, err = session.Replace(n.Context(), "vrfcontext", global)
	must(n.T, err)
	group, err := session.ByName(n.Context(), "serviceenginegroup", "Default-Group")
	must(n.T, err)
	group["min_scaleout_per_vs"] = 2 // both engines announce
	_, err = session.Replace(n.Context(), "serviceenginegroup", group)
	must(n.T, err)
}

func (n *internet) advertise() {
	n.Helper()
	for _, object := range []struct {
		kind   string
		fields client.Object
	}{
		{"pool", client.Object{
			"name": "web", "servers": []any{client.Object{"ip": address("10.2.0.11"), "port": 80}},
			"health_monitor_refs": []any{"/api/healthmonitor?name=quick"},
		}},
		{"vsvip", client.Object{"name": "web", "vip": []any{client.Object{"ip_address": address("3.3.3.3"),
			"ip6_address": address("fd03:3:3::3")}}}},
		{"virtualservice", client.Object{
			"name": "web", "vsvip_ref": "/api/vsvip?name=web", "pool_ref": "/api/pool?name=web",
			"services":   []any{client.Object{"port": 80}},
			"enable_rhi": true,
		}},
	} {
		if object.kind == "pool" {
			_, err := n.site.Controller.Session.Create(n.Context(), "healthmonitor", client.Object{
				"name": "quick", "type": "HEALTH_MONITOR_TCP", "send_interval": 1, "receive_timeout": 1,
				"successful_checks": 1, "failed_checks": 5,
			})
			must(n.T, err)
		}
		_, err := n.site.Controller.Session.Create(n.Context(), object.kind, object.fields)
		must(n.T, err)
	}
}

func address(text string) client.Object { return client.Object{"addr": text} }

func subnet(text string, mask int) client.Object {
	return client.Object{"ip_addr": address(text), "mask": mask}
}

// untilHops waits until the router sends a prefix to these engines, and says how long that took.
func (n *internet) untilHops(prefix netip.Prefix, want ...string) time.Duration {
	n.Helper()
	ctx, cancel := context.WithTimeout(n.Context(), routePatience)
	defer cancel()
	var hops []netip.Addr
	for _, text := range want {
		hops = append(hops, netip.MustParseAddr(text))
	}
	begun := time.Now()
	must(n.T, n.router.UntilHops(ctx, prefix, hops...))
	return time.Since(begun)
}

// misses waits until the router sends a prefix to these engines and to none that is gone. routePatience is less than it
// takes where nobody looks.
func (n *internet) misses(what string, prefix netip.Prefix, left ...string) {
	n.Helper()
	n.Logf("%s after %v", what, n.untilHops(prefix, left...))
}

// ask is what the router answers to an operator.
func (n *internet) ask(question string) string {
	n.Helper()
	line := append(slices.Clone(n.shell), question)
	said, err := exec.CommandContext(n.Context(), line[0], line[1:]...).CombinedOutput()
	if err != nil {
		n.Fatalf("%s: %v: %s", question, err, said)
	}
	return string(said)
}

func (n *internet) says(question string, wants ...string) {
	n.Helper()
	said := n.ask(question)
	for _, want := range wants {
		if !strings.Contains(said, want) {
			n.Errorf("%s: %q is missing in\n%s", question, want, said)
		}
	}
}

// listening asks the router again and again until the end, which tells when it never said something. It is one shell
// that asks, since starting another takes longer on a busy machine than what is to be seen lasts. Without a command
// (-c) shells read them.
func (n *internet) listening(question, want string) (end func()) {
	n.Helper()
	line := slices.DeleteFunc(slices.Clone(n.shell), func(argument string) bool { return argument == "-c" })
	shell := exec.CommandContext(n.Context(), line[0], line[1:]...)
	questions, err := shell.StdinPipe()
	must(n.T, err)
	answers, err := shell.StdoutPipe()
	must(n.T, err)
	must(n.T, shell.Start())
	ended, begun, said := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
	go func() {
		defer questions.Close()
		for asks := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-asks.C:
				_, _ = fmt.Fprintln(questions, question) // where that fails, nothing is said
			case <-ended:
				asks.Stop()
				return
			}
		}
	}()
	go func() {
		lines, heard := bufio.NewScanner(answers), false
		for any := false; lines.Scan(); any = true {
			if !any {
				close(begun)
			}
			heard = heard || strings.Contains(lines.Text(), want)
		}
		_ = shell.Wait() // it ends with its questions
		said <- heard
	}()
	select {
	case <-begun:
	case <-time.After(routePatience):
		n.Fatalf("%v says nothing", line)
	}
	return func() {
		n.Helper()
		close(ended)
		if !<-said {
			n.Errorf("%s: %q was never said", question, want)
		}
	}
}

// listed is one of an engine's runtime lists.
func (n *internet) listed(engine, path string) []client.Object {
	n.Helper()
	found, err := n.site.Controller.Session.ByName(n.Context(), "serviceengine", engine)
	must(n.T, err)
	var list struct {
		Results []client.Object `json:"results"`
	}
	must(n.T, n.site.Controller.Session.Get(n.Context(), fmt.Sprintf("serviceengine/%v/%s", found["uuid"], path),
		&list))
	return list.Results
}

// untilListed waits until each entry of a list of an engine has a value in a field.
func (n *internet) untilListed(engine, path, field, want string, entries int) {
	n.Helper()
	deadline, poll := time.After(routePatience), time.NewTicker(50*time.Millisecond)
	defer poll.Stop()
	for {
		list := n.listed(engine, path)
		if len(list) == entries && !slices.ContainsFunc(list, func(o client.Object) bool { return o[field] != want }) {
			return
		}
		select {
		case <-deadline:
			n.Fatalf("%s %s: %v", engine, path, list)
		case <-poll.C:
		}
	}
}

// staysUp looks for some seconds, in which BFD would miss either side, whether an engine keeps the sessions that it
// has.
func (n *internet) staysUp(engine string) {
	n.Helper()
	sessions := func() (all []string) {
		for _, o := range n.listed(engine, "bgp/peer_status") {
			all = append(all, fmt.Sprint(o["peer_ip"], " ", o["peer_state"], " ", o["established_count"]))
		}
		return all
	}
	before := sessions()
	end, looks := time.After(4*time.Second), time.NewTicker(100*time.Millisecond)
	defer looks.Stop()
	for {
		if now := sessions(); !slices.Equal(now, before) {
			n.Errorf("%s has lost a session that had just begun: %v, and before %v", engine, now, before)
			return
		}
		select {
		case <-looks.C:
		case <-end:
			return
		}
	}
}

// signal sends a signal to the agent of an engine alone, or to all of the engine.
func (n *internet) signal(engine string, signal syscall.Signal, agentAlone bool) {
	n.Helper()
	space, err := n.site.Network.Namespace(engine)
	must(n.T, err)
	if !agentAlone {
		must(n.T, space.Signal(signal))
		return
	}
	processes, err := space.Processes()
	must(n.T, err)
	for _, process := range processes {
		if process.Program == "weir" {
			must(n.T, syscall.Kill(process.PID, signal))
		}
	}
}

// startServerAgain starts the nginx that was stopped where it was.
func (n *internet) startServerAgain() {
	n.Helper()
	space, err := n.site.Network.Namespace("server-1")
	must(n.T, err)
	root := filepath.Join(n.site.Network.Dir(), "server-1")
	nginx := exec.Command("/usr/sbin/nginx", "-e", "stderr", "-p", root, "-c", filepath.Join(root, "nginx.conf"))
	must(n.T, space.Start(nginx))
	n.Cleanup(func() {
		must(n.T, nginx.Process.Signal(syscall.SIGTERM))
		_ = nginx.Wait()
	})
}

// load has a client ask until it is told to end.
func (n *internet) load(flags ...string) *lab.RunningLoad {
	n.Helper()
	from, err := n.site.Client(1)
	must(n.T, err)
	load, err := from.BeginLoad(n.Context(), append([]string{"--connections", "4", "--drain", "--reset", "--timeout",
		"60s", "--duration", "60m"}, flags...)...)
	must(n.T, err)
	return load
}

// serves checks that a number of requests are answered.
func (n *internet) serves(url string, requests int64) {
	n.Helper()
	from, err := n.site.Client(1)
	must(n.T, err)
	report, err := from.Load(n.Context(), "--url", url, "--count", fmt.Sprint(requests), "--connections", "4",
		"--timeout", "60s")
	if err != nil || report.ErrorTotal != 0 || report.Requests != requests {
		n.Errorf("%s through the router: %+v, %v", url, report, err)
	}
}

// untilEnded waits until nothing of an engine runs any more.
func (n *internet) untilEnded(engine string) {
	n.Helper()
	space, err := n.site.Network.Namespace(engine)
	must(n.T, err)
	deadline, poll := time.After(routePatience), time.NewTicker(50*time.Millisecond)
	defer poll.Stop()
	for {
		left, err := space.Processes()
		must(n.T, err)
		if len(left) == 0 {
			return
		}
		select {
		case <-deadline:
			n.Fatalf("%s still has %v", engine, left)
		case <-poll.C:
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFRRHearsOverSignedSessions(t *testing.T) {
	connect(t, topology.FRR, signed(internal))
}

func TestBIRDHearsOverSignedSessions(t *testing.T) {
	connect(t, topology.BIRD, signed(external))
}

func TestFRRHearsOverInternalSessions(t *testing.T) {
	n := connect(t, topology.FRR, internal)
	n.says("show bgp ipv4 unicast 3.3.3.3/32", "localpref 300", "Community: 65000:7", "10.1.0.11 from 10.1.0.11",
		"10.1.0.12 from 10.1.0.12")
	n.says("show bgp ipv6 unicast fd03:3:3::3/128", "localpref 300", "Community: 65000:7",
		"fd00:1::b from", "fd00:1::c from")
	n.staysTrueWhatever(t, "show bgp ipv4 unicast 3.3.3.3/32", "graceful-shutdown")
}

func TestBIRDHearsOverExternalSessions(t *testing.T) {
	n := connect(t, topology.BIRD, external)
	n.says("show route all for 3.3.3.3", "BGP.as_path: 65010 65010 65010\n", "BGP.community: (65010,7)",
		"BGP.next_hop: 10.1.0.11", "BGP.next_hop: 10.1.0.12")
	n.says("show route all for fd03:3:3::3", "BGP.as_path: 65010 65010 65010\n", "BGP.community: (65010,7)",
		"BGP.next_hop: fd00:1::b")
	n.staysTrueWhatever(t, "show route all for 3.3.3.3", "(65535,0)")
}

// staysTrueWhatever goes through what happens to engines and to what is behind them, with either router. A route that
// is the last of its engine is marked in the answer to the question.
func (n *internet) staysTrueWhatever(t *testing.T, question, mark string) {
	for _, engine := range []string{"engine-1", "engine-2"} {
		n.untilListed(engine, "bgp/peer_status", "peer_state", "Established", 2)
		n.untilListed(engine, "bfd/session_status", "session_state", "Up", 2)
		if routes := n.listed(engine, "bgp/advertised_routes"); len(routes) != 2 ||
			routes[0]["prefix"] != "3.3.3.3/32" {
			t.Errorf("%s announces %v", engine, routes)
		}
		n.staysUp(engine)
	}
	n.serves("http://3.3.3.3/", 40)
	n.serves("http://[fd03:3:3::3]/", 40)

	must(t, n.site.Servers[0].Stop())
	n.untilHops(vip4)
	n.untilHops(vip6)
	// the session has nothing to do with it
	n.untilListed("engine-1", "bgp/peer_status", "peer_state", "Established", 2)
	n.startServerAgain()
	n.untilHops(vip4, "10.1.0.11", "10.1.0.12")

	// whom BFD does not watch is not missed by it
	n.untilListed("engine-2", "bfd/session_status", "session_state", "Up", 2)
	n.signal("engine-2", syscall.SIGSTOP, false)
	n.misses("an engine that froze was missed", vip4, "10.1.0.11")
	n.untilHops(vip6, "fd00:1::b")
	n.signal("engine-2", syscall.SIGCONT, false)
	n.untilHops(vip4, "10.1.0.11", "10.1.0.12")
	n.untilHops(vip6, "fd00:1::b", "fd00:1::c")
	n.untilListed("engine-2", "bgp/peer_status", "peer_state", "Established", 2)
	n.staysUp("engine-2")

	load := n.load("--url", "http://3.3.3.3/", "--rate", "50")
	marked := n.listening(question, mark)
	n.signal("engine-2", syscall.SIGTERM, true)
	n.untilHops(vip4, "10.1.0.11") // by the mark alone, where it makes the other way a better one
	n.untilEnded("engine-2")
	marked()
	if report, err := load.End(); err != nil || report.ErrorTotal != 0 || report.Requests == 0 {
		t.Errorf("while an engine ended in order: %+v, %v", report, err)
	}
}
