package interop

import (
	"context"
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/topology"
)

// replaceable has a single engine, whose data plane outlives its agent.
func replaceable(t *topology.Topology) (peer, profile client.Object) {
	t.Keep, t.Engines.Count = true, 1
	return client.Object{"remote_as": t.Router.AS}, client.Object{"local_as": 65000, "ibgp": true}
}

// holding watches that the router sends a prefix to engine-1 and nowhere else, at each look, until it is told to end.
func (n *internet) holding(prefix netip.Prefix, hop string) (end func()) {
	ctx, cancel := context.WithCancel(n.Context())
	lost := make(chan string, 1)
	go func() {
		defer close(lost)
		looks := time.NewTicker(5 * time.Millisecond)
		defer looks.Stop()
		begun := time.Now()
		for {
			hops, err := n.router.NextHops(prefix)
			if err != nil || len(hops) != 1 || hops[0].String() != hop {
				lost <- fmt.Sprintf("after %v the router sends %s by %v: %v", time.Since(begun), prefix, hops, err)
				return
			}
			select {
			case <-looks.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		n.Helper()
		cancel()
		if reason, any := <-lost; any {
			n.Error(reason)
		}
	}
}

// endAgent sends a signal to the agent of engine-1 and waits for its end.
func (n *internet) endAgent(signal syscall.Signal) {
	n.Helper()
	agents := n.processes("weir")
	n.signal("engine-1", signal, true)
	for _, agent := range agents {
		n.untilGone(agent)
	}
}

func (n *internet) processes(program string) (pids []int) {
	n.Helper()
	processes, err := n.engine().Processes()
	must(n.T, err)
	for _, process := range processes {
		if process.Program == program {
			pids = append(pids, process.PID)
		}
	}
	return pids
}

func (n *internet) engine() *network.Namespace {
	n.Helper()
	space, err := n.site.Network.Namespace("engine-1")
	must(n.T, err)
	return space
}

func (n *internet) untilGone(pid int) {
	n.Helper()
	deadline, poll := time.After(routePatience), time.NewTicker(5*time.Millisecond)
	defer poll.Stop()
	for n.engine().Runs(pid) {
		select {
		case <-deadline:
			n.Fatalf("process %d does not end", pid)
		case <-poll.C:
		}
	}
}

func TestFRRKeepsTheRoutesOfAnEngineWhoseAgentIsReplaced(t *testing.T) {
	connect(t, topology.FRR, replaceable).keepsRoutesWhileTheDataPlaneServes(t)
}

func TestBIRDKeepsTheRoutesOfAnEngineWhoseAgentIsReplaced(t *testing.T) {
	connect(t, topology.BIRD, replaceable).keepsRoutesWhileTheDataPlaneServes(t)
}

// keepsRoutesWhileTheDataPlaneServes goes through the ways in which the agent of the only engine ends. FRR drops BFD
// together with the TCP session, so that it waits for the next agent of an engine that was killed; BIRD goes by BFD.
func (n *internet) keepsRoutesWhileTheDataPlaneServes(t *testing.T) {
	n.isReplacedUnseen()

	n.endAgent(syscall.SIGTERM) // and the data plane goes with nobody there
	for _, dataplane := range n.processes("weir-dataplane") {
		must(t, syscall.Kill(dataplane, syscall.SIGKILL))
	}
	must(t, n.site.Servers[0].Stop()) // so that the data plane which follows serves nobody
	must(t, n.site.Engines.Start("engine-1", n.site.Join()))
	n.misses("routes of a data plane that is gone were dropped", vip4)
	n.untilHops(vip6)
	n.startServerAgain()
	n.untilHops(vip4, "10.1.0.11")
	n.untilWatched()

	n.signal("engine-1", syscall.SIGSTOP, false)
	n.misses("an engine that froze was missed", vip4)
	n.signal("engine-1", syscall.SIGCONT, false)
	n.untilHops(vip4, "10.1.0.11")
	n.untilWatched()

	n.signal("engine-1", syscall.SIGKILL, false)
	n.misses("an engine that was killed was missed", vip4)
}

func (n *internet) untilWatched() {
	n.Helper()
	n.untilListed("engine-1", "bfd/session_status", "session_state", "Up", 2)
}

// isReplacedUnseen replaces the agent twice under new connections.
func (n *internet) isReplacedUnseen() {
	n.Helper()
	n.untilWatched()
	four, six := n.holding(vip4, "10.1.0.11"), n.holding(vip6, "fd00:1::b")
	load := n.load("--url", "http://3.3.3.3/", "--rate", "100")
	for range 2 {
		n.endAgent(syscall.SIGTERM)
		must(n.T, n.site.Restart(n.Context(), "engine-1"))
		n.untilListed("engine-1", "bgp/peer_status", "peer_state", "Established", 2)
		n.untilWatched()
	}
	if report, err := load.End(); err != nil || report.ErrorTotal != 0 || report.Requests == 0 {
		n.Errorf("while an agent was replaced: %+v, %v", report, err)
	}
	four()
	six()
}
