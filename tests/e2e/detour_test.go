package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-lb/weir/lab/topology"
)

// visitor keeps a connection and sends requests with a body of many segments. It reconnects when a response says so.
type visitor struct {
	f          *fabric
	address    string
	connection net.Conn
	reader     *bufio.Reader
	visits     int
}

func (v *visitor) visit(ctx context.Context) error {
	if v.connection == nil {
		connection, err := v.f.client.Dial(ctx, "tcp", v.address)
		if err != nil {
			return err
		}
		v.connection, v.reader = connection, bufio.NewReader(connection)
	}
	if err := v.connection.SetDeadline(time.Now().Add(eventTimeout)); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.address+"/",
		bytes.NewReader(make([]byte, 20_000)))
	if err != nil {
		return err
	}
	if err := request.Write(v.connection); err != nil {
		return fmt.Errorf("request %d of the connection: %w", v.visits, err)
	}
	response, err := http.ReadResponse(v.reader, request)
	if err != nil {
		return fmt.Errorf("response %d of the connection: %w", v.visits, err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return fmt.Errorf("response %d of the connection: %w", v.visits, err)
	}
	v.visits++
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered with %s", response.Status)
	}
	if response.Close {
		v.connection.Close()
		v.connection, v.visits = nil, 0
	}
	return nil
}

// crowd are visitors of both addresses, each of them there until the end.
func (f *fabric) crowd(ctx context.Context, visitors int) (failures func() (visits int, failed []error)) {
	var all sync.WaitGroup
	var mu sync.Mutex
	visits, failed := 0, []error(nil)
	for number := range visitors {
		v := &visitor{f: f, address: netip.AddrPortFrom([]netip.Addr{anycast, anycast6}[number%2], 80).String()}
		all.Go(func() {
			for ctx.Err() == nil {
				err := v.visit(context.WithoutCancel(ctx))
				mu.Lock()
				visits++
				if err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", v.address, err))
					v.connection = nil
				}
				mu.Unlock()
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
	return func() (int, []error) {
		all.Wait()
		return visits, failed
	}
}

func TestConnectionsThatARouterMovesToAnotherEngineGoOn(t *testing.T) {
	behindEachRouter(t, func(t *testing.T, behind func(*topology.Topology)) {
		f := setUpFabric(t, 4, behind)
		f.narrow()
		staying, leave := context.WithCancel(f.ctx)
		defer leave()
		failures := f.crowd(staying, 60)
		for _, step := range []struct {
			verb    string
			engines int
		}{{"scaleout", 2}, {"scaleout", 3}, {"scaleout", 4}, {"scalein", 3}, {"scalein", 2}} {
			f.order(step.verb, step.engines)
			var engines []string
			for _, seat := range f.seats() {
				engines = append(engines, fmt.Sprint(seat["name"]))
			}
			f.untilHops(engines...)
		}
		leave()
		visits, failed := failures()
		for _, err := range failed {
			t.Error(err)
		}
		taken := f.taken()
		if taken == 0 {
			t.Error("the router moved no connection: nothing is proved")
		}
		t.Logf("%d visits, %d failed; %v packets went by another engine", visits, len(failed), taken)
	})
}

// taken is how many packets went by another engine.
func (f *fabric) taken() (packets float64) {
	f.Helper()
	for _, engine := range f.engineNames(f.site.Topology.Engines.Count) {
		detours, _ := f.runtime("serviceengine", engine)["detours"].(map[string]any)
		count, _ := detours["taken"].(float64)
		packets += count
	}
	return packets
}

// Clients repeat their first packet each second while the answer is lost, and an engine that has come since answers,
// too. The answers of the first one are then heard first, and the rest of the handshake comes to the second one.
func TestHandshakesThatTwoEnginesHaveBegunAreFinished(t *testing.T) {
	behindEachRouter(t, func(t *testing.T, behind func(*topology.Topology)) {
		const connections = 100
		f := setUpFabric(t, 2, behind)
		f.narrow()
		for round := 1; f.taken() == 0; round++ {
			if round > 5 {
				t.Fatal("no client went by the answer of the first engine: nothing is proved")
			}
			names, serving := f.engineNames(2), f.seats()[0]["name"]
			first := f.kernelOf(fmt.Sprint(serving))
			second := f.kernelOf(names[slices.IndexFunc(names, func(name string) bool { return name != serving })])
			answersArrive, err := f.router.Blackhole(netip.PrefixFrom(anycast, anycast.BitLen()))
			f.must(err)
			load, err := f.client.BeginLoad(f.ctx, append([]string{"--url", clearURL, "--connections",
				strconv.Itoa(connections), "--count", strconv.Itoa(connections), "--drain"}, patient...)...)
			f.must(err)
			clients := f.kernelOf(f.site.Topology.ClientNodes()[0].Name)
			defer tellOfHandshakes(clients, first, second)
			f.eventually("all clients ask the first engine", func() error {
				if begun := len(first.handshakes(begunByPeer)); begun < connections {
					return fmt.Errorf("%d have asked", begun)
				}
				return nil
			})
			f.order("scaleout", 2)
			f.untilHops(names...)
			f.eventually("the second engine is asked", func() error {
				if len(answersOfBoth(first, second)) == 0 {
					return errors.New("no client has asked both engines")
				}
				return nil
			})
			clientsArrive, err := f.router.Blackhole(f.site.Topology.Clients.Subnets[0])
			f.must(err)
			f.eventually("the next answers are those of the first engine", func() error {
				for client, due := range answersOfBoth(first, second) {
					if due[0] < soon || due[1] < due[0]+soon {
						return fmt.Errorf("%s has an answer of the first engine in %v, of the second in %v",
							client, due[0], due[1])
					}
				}
				return nil
			})
			f.must(answersArrive())
			f.eventually("each client hears an answer", func() error {
				if begun := len(clients.handshakes(begunHere)); begun > 0 {
					return fmt.Errorf("%d have heard none", begun)
				}
				return nil
			})
			f.must(clientsArrive())
			report, err := load.End()
			f.must(err)
			if report.ErrorTotal > 0 || report.Requests == 0 {
				t.Fatalf("%d requests were answered, and %d failed: %v", report.Requests,
					report.ErrorTotal, report.Errors)
			}
			f.order("scalein", 1) // before which engines tell what they passed on
		}
	})
}

// soon is how long a test may take to let answers pass that it has seen waiting.
const soon = 300 * time.Millisecond

// answersOfBoth tells of each client whose handshake waits on both engines when each of them repeats its answer.
func answersOfBoth(first, second nodeKernel) map[string][2]time.Duration {
	first.Helper()
	answers, ofFirst := map[string][2]time.Duration{}, first.handshakes(begunByPeer)
	for client, due := range second.handshakes(begunByPeer) {
		if dueOfFirst, both := ofFirst[client]; both {
			answers[client] = [2]time.Duration{dueOfFirst, due}
		}
	}
	return answers
}

// tellOfHandshakes tells, of a test that failed, what waits at each node, and what engines have passed on.
func tellOfHandshakes(nodes ...nodeKernel) {
	f := nodes[0].fabric
	f.Helper()
	if !f.Failed() {
		return
	}
	for _, node := range nodes {
		f.Logf("%s: began %v, was asked for %v", node.name, node.handshakes(begunHere), node.handshakes(begunByPeer))
	}
	for _, engine := range f.engineNames(f.site.Topology.Engines.Count) {
		f.Logf("%s: %v", engine, f.runtime("serviceengine", engine)["detours"])
	}
}

// nodeKernel is what the kernel tells in a node's namespace.
type nodeKernel struct {
	*fabric
	name    string
	process int // any that runs there
}

func (f *fabric) kernelOf(node string) nodeKernel {
	f.Helper()
	space, err := f.site.Network.Namespace(node)
	f.must(err)
	processes, err := space.Processes()
	f.must(err)
	if len(processes) == 0 {
		f.Fatalf("nothing runs in %s", node)
	}
	return nodeKernel{f, node, processes[0].PID}
}

// The states of connections in /proc/net/tcp.
const begunHere, begunByPeer = "02", "03"

// handshakes tells of each one that is under way in IPv4, by its two addresses, in how long the last packet from here
// is repeated (proc(5)).
func (k nodeKernel) handshakes(state string) map[string]time.Duration {
	k.Helper()
	table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", k.process))
	k.must(err)
	due := map[string]time.Duration{}
	for line := range strings.Lines(string(table)) {
		if columns := strings.Fields(line); columns[3] == state {
			_, timer, _ := strings.Cut(columns[5], ":")
			hundredths, err := strconv.ParseUint(timer, 16, 64)
			k.must(err)
			due[columns[1]+" "+columns[2]] = time.Duration(hundredths) * 10 * time.Millisecond
		}
	}
	return due
}
