package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/tests/accept"
)

const (
	dnsPort    = 10053
	radiusPort = 11812
	syslogPort = 10514
	trainPort  = 11814
)

// datagramsMax is the longest datagram over IPv4.
const datagramsMax = 65507

// createUDP makes a virtual service of datagrams that uses an existing VsVip.
func (s *stage) createUDP(name, vsvip, pool, application, network string, port int) string {
	s.Helper()
	s.create("virtualservice", client.Object{
		"name": name, "vsvip_ref": client.Ref("vsvip", vsvip), "pool_ref": client.Ref("pool", pool),
		"application_profile_ref": client.Ref("applicationprofile", application),
		"network_profile_ref":     client.Ref("networkprofile", network),
		"services":                []any{map[string]any{"port": port}},
	})
	s.waitUp(name)
	return net.JoinHostPort(vip, strconv.Itoa(port))
}

func (s *stage) createVip(name string) {
	s.Helper()
	s.create("vsvip", client.Object{"name": name, "vip": []any{
		map[string]any{"vip_id": "1", "ip_address": map[string]any{"addr": vip, "type": "V4"}}}})
}

// datagramServer gives each datagram to answer, and sends back what that returns; nil: nothing.
func datagramServer(t *testing.T, answer func([]byte) []byte) string {
	t.Helper()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	go answerDatagrams(socket, func(_ netip.AddrPort, question []byte) []byte { return answer(slices.Clone(question)) })
	return socket.LocalAddr().String()
}

// answerDatagrams sends back what answer returns for each datagram and the address that it came from, until the socket
// is closed; nil: nothing.
func answerDatagrams(socket *net.UDPConn, answer func(netip.AddrPort, []byte) []byte) {
	room := make([]byte, datagramsMax)
	for {
		length, from, err := socket.ReadFromUDPAddrPort(room)
		if err != nil {
			return
		}
		if reply := answer(from, room[:length]); reply != nil {
			_, _ = socket.WriteToUDPAddrPort(reply, from) // a client that is gone is no fault
		}
	}
}

// askDatagram sends a datagram, and again each second that brings no answer, as clients of UDP do. It passes over what
// is no answer: a question before that was sent twice may be answered twice.
func (s *stage) askDatagram(conn net.Conn, question []byte, isAnswer func([]byte) bool) []byte {
	s.Helper()
	room, last := make([]byte, datagramsMax), 0
	for range int(eventTimeout / time.Second) {
		_, _ = conn.Write(question) // it may report that an earlier one was refused
		s.must(conn.SetReadDeadline(time.Now().Add(time.Second)))
		for {
			length, err := conn.Read(room)
			if err != nil {
				break
			}
			if last = length; isAnswer(room[:length]) {
				return room[:length]
			}
		}
	}
	s.Fatalf("no answer to %d bytes; the last that came has %d: %.60q", len(question), last, room[:last])
	return nil
}

func (s *stage) dial(address string) net.Conn {
	s.Helper()
	conn, err := net.Dial("udp", address)
	s.must(err)
	s.Cleanup(func() { conn.Close() })
	return conn
}

// dnsmasq starts a DNS server, whose answers carry its name, and returns its address.
func (s *stage) dnsmasq(name string) string {
	s.Helper()
	address := netip.MustParseAddrPort(accept.FreeAddress(s))
	long := strings.Repeat("x", 250)
	server := exec.CommandContext(s.ctx, "dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
		"--bind-interfaces", "--listen-address=127.0.0.1", fmt.Sprintf("--port=%d", address.Port()), "--user=root",
		"--pid-file=", "--edns-packet-max=4096", "--address=/www.test/192.0.2.7", "--txt-record=name.test,"+name,
		"--txt-record=long.test,"+strings.Join(slices.Repeat([]string{long}, 10), ","))
	var output bytes.Buffer
	server.Stderr = &output
	s.must(server.Start())
	s.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if s.Failed() {
			s.Logf("dnsmasq %s: %s", name, output.String())
		}
	})
	s.eventually("dnsmasq answers", func() error {
		_, err := dig(s.ctx, address.String(), "name.test", "TXT", "+tcp")
		return err
	})
	return address.String()
}

// dig asks the server at an address, and returns its short answer.
func dig(ctx context.Context, address string, question ...string) (string, error) {
	at := netip.MustParseAddrPort(address)
	arguments := []string{"@" + at.Addr().String(), "-p", strconv.Itoa(int(at.Port())), "+short", "+tries=5", "+time=2"}
	output, err := exec.CommandContext(ctx, "dig", append(arguments, question...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("dig: %w: %s", err, output)
	}
	return strings.TrimSpace(string(output)), nil
}

func TestDigGetsAnswersOverUDPAndTCPFromOneAddress(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "dns", "lb_algorithm": "LB_ALGORITHM_ROUND_ROBIN",
		"servers": serverList([]string{s.dnsmasq("one"), s.dnsmasq("two")})})
	s.createVip("dns")
	at := s.createUDP("dns-udp", "dns", "dns", "System-DNS", "System-UDP-Fast-Path", dnsPort)
	s.createUDP("dns-tcp", "dns", "dns", "System-DNS", "System-TCP-Proxy", dnsPort)

	names := map[string]int{}
	for range 20 {
		name, err := dig(s.ctx, at, "name.test", "TXT", "+notcp")
		s.must(err)
		names[name]++
	}
	if names[`"one"`] < 4 || names[`"two"`] < 4 || len(names) != 2 {
		t.Errorf("answers are from %v", names)
	}
	for _, how := range []string{"+notcp", "+tcp"} {
		if answer, err := dig(s.ctx, at, "www.test", "A", how); err != nil || answer != "192.0.2.7" {
			t.Errorf("%s: got %q, %v", how, answer, err)
		}
	}
	long, err := dig(s.ctx, at, "long.test", "TXT", "+bufsize=4096", "+ignore")
	if err != nil || len(long) < 2500 {
		t.Errorf("a long answer: %d bytes, %v", len(long), err)
	}
	// Each question is answered, so no session is left, long before the idle time of 10 s.
	s.eventually("all sessions have ended with their answers", func() error {
		counters := s.counters("dns-udp")
		if counters["open_connections"] != 0.0 || counters["received_datagrams"].(float64) < 22 ||
			counters["received_datagrams"] != counters["sent_datagrams"] ||
			counters["connections"] != counters["received_datagrams"] {
			return fmt.Errorf("%v", counters)
		}
		return nil
	})
	if counters := s.counters("dns-tcp"); counters["connections"].(float64) < 1 ||
		counters["received_datagrams"] != 0.0 {
		t.Errorf("over TCP: %v", counters)
	}
}

func (s *stage) counters(name string) map[string]any {
	s.Helper()
	counters, _ := s.runtime("virtualservice", name)["counters"].(map[string]any)
	return counters
}

func TestRadiusClientKeepsItsServerUntilThatServerRefuses(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	// RADIUS answers with the identifier of the question (RFC 2865 §3).
	named := func(name string) func([]byte) []byte {
		return func(question []byte) []byte { return append([]byte{2, question[1]}, name...) }
	}
	refusing := accept.FreeAddress(t)
	s.create("pool", client.Object{"name": "radius", "lb_algorithm": "LB_ALGORITHM_ROUND_ROBIN",
		"servers": serverList([]string{datagramServer(t, named("one")), datagramServer(t, named("two")), refusing})})
	s.create("networkprofile", client.Object{"name": "radius", "profile": map[string]any{
		"type": "PROTOCOL_TYPE_UDP_PROXY", "udp_proxy_profile": map[string]any{"session_idle_timeout": 600}}})
	s.createVip("radius")
	at := s.createUDP("radius", "radius", "radius", "System-L4-Application", "radius", radiusPort)

	used := map[string]int{}
	for range 9 {
		conn := s.dial(at)
		askID := func(id byte) (server string) {
			return string(s.askDatagram(conn, []byte{1, id}, func(answer []byte) bool { return answer[1] == id })[2:])
		}
		first := askID(0)
		used[first]++
		for id := byte(1); id < 20; id++ {
			if server := askID(id); server != first {
				t.Fatalf("%s answered question %d, %s the first", server, id, first)
			}
		}
	}
	if used["one"] == 0 || used["two"] == 0 {
		t.Errorf("clients use %v", used)
	}
	s.eventually("the refusals are counted", func() error {
		if counters := s.counters("radius"); counters["open_connections"] != 9.0 ||
			counters["errors_server_refused"] == nil {
			return fmt.Errorf("%v", counters)
		}
		return nil
	})
}

func TestSyslogGoesOneWayToAllServersAndLeavesNoSession(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	var mutex sync.Mutex
	lines := [2]map[string]bool{{}, {}}
	servers := make([]string, len(lines))
	for at := range servers {
		servers[at] = datagramServer(t, func(line []byte) []byte {
			mutex.Lock()
			defer mutex.Unlock()
			lines[at][string(line)] = true
			return nil
		})
	}
	s.create("pool", client.Object{"name": "syslog", "lb_algorithm": "LB_ALGORITHM_ROUND_ROBIN",
		"servers": serverList(servers)})
	s.createVip("syslog")
	at := s.createUDP("syslog", "syslog", "syslog", "System-Syslog", "System-UDP-Per-Pkt", syslogPort)
	conn, count := s.dial(at), 100
	for number := range count {
		_, err := fmt.Fprintf(conn, "<14>line %d", number)
		s.must(err)
	}
	s.eventually("each server has half of the lines", func() error {
		mutex.Lock()
		defer mutex.Unlock()
		if len(lines[0]) != count/2 || len(lines[1]) != count/2 {
			return fmt.Errorf("%d and %d of %d lines", len(lines[0]), len(lines[1]), count)
		}
		return nil
	})
	s.eventually("no session is left", func() error {
		if counters := s.counters("syslog"); counters["open_connections"] != 0.0 || counters["connections"] != 2.0 ||
			counters["received_datagrams"] != float64(count) {
			return fmt.Errorf("%v", counters)
		}
		return nil
	})
}

// A train is one write of the client, which the kernel cuts into datagrams (UDP GSO).
func TestTrainsOfDatagramsComeBackDatagramByDatagram(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "trains",
		"servers": serverList([]string{datagramServer(t, func(all []byte) []byte { return all })})})
	s.createVip("trains")
	at := s.createUDP("trains", "trains", "trains", "System-L4-Application", "System-UDP-Fast-Path", trainPort)
	conn := s.dial(at)
	const length, perTrain, trains = 200, 50, 8
	raw, err := conn.(*net.UDPConn).SyscallConn()
	s.must(err)
	s.must(raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, length)
	}))
	s.must(err)
	for train := range byte(trains) {
		want := bytes.Repeat([]byte{train}, length)
		s.eventually("all datagrams of a train have come back", func() error {
			_, err := conn.Write(bytes.Repeat(want, perTrain))
			s.must(err)
			s.must(conn.SetReadDeadline(time.Now().Add(time.Second)))
			for room, seen := make([]byte, datagramsMax), 0; seen < perTrain; {
				got, err := conn.Read(room)
				switch {
				case err != nil:
					return fmt.Errorf("%d datagrams of train %d", seen, train)
				case bytes.Equal(room[:got], want):
					seen++
				// Datagrams of the train before may come late, if it was sent twice.
				case !bytes.Equal(room[:got], bytes.Repeat([]byte{train - 1}, length)):
					t.Fatalf("%d bytes came back", got)
				}
			}
			return nil
		})
	}
}

func TestDatagramsOfEveryLengthPass(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "echo",
		"servers": serverList([]string{datagramServer(t, func(all []byte) []byte { return all })})})
	s.createVip("echo")
	at := s.createUDP("echo", "echo", "echo", "System-L4-Application", "System-UDP-Fast-Path", radiusPort+1)
	conn := s.dial(at)
	for _, length := range []int{1, 1472, 1473, 9000, datagramsMax} {
		question := bytes.Repeat([]byte{byte(length)}, length)
		s.askDatagram(conn, question, func(answer []byte) bool { return bytes.Equal(answer, question) })
	}
}
