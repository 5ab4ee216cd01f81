package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/topology"
)

// street is an engine between a client and a server, whose default gateways it is.
type street struct {
	*stage
	engineAt, clientAt, serverAt *network.Namespace
}

// Addresses of a street.
const (
	streetVIP, streetVIP6       = "192.0.2.53", "2001:db8:53::1"
	streetServer, streetServer6 = "10.2.0.2", "fd00:2::2"
	streetClient, streetClient6 = "10.3.0.2", "fd00:3::2"
	streetPort                  = 5300
)

func prefixes(all ...string) (parsed []netip.Prefix) {
	for _, each := range all {
		parsed = append(parsed, netip.MustParsePrefix(each))
	}
	return parsed
}

func gateways(all ...string) (parsed []netip.Addr) {
	for _, each := range all {
		parsed = append(parsed, netip.MustParseAddr(each))
	}
	return parsed
}

// setUpStreet builds a street with a controller on the engine's machine. Needs root.
func setUpStreet(t *testing.T) *street {
	t.Helper()
	if err := network.CheckRoot(); err != nil {
		t.Skip(err)
	}
	laid, err := network.Create(fmt.Sprintf("street-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := laid.Remove(); err != nil {
			t.Error(err)
		}
	})
	s := &street{stage: bareStage(t)}
	attach := func(node topology.Node) *network.Namespace {
		space, err := laid.Attach(node)
		s.must(err)
		return space
	}
	s.engineAt = attach(topology.Node{Name: "engine", Hubs: []topology.Hub{
		{Name: "servers", Addresses: prefixes("10.2.0.1/24", "fd00:2::1/64")},
		{Name: "clients", Addresses: prefixes("10.3.0.1/24", "fd00:3::1/64")},
	}})
	s.serverAt = attach(topology.Node{Name: "server", Links: []topology.Link{{Interface: "eth0", To: "engine",
		Hub: "servers", Addresses: prefixes(streetServer+"/24", streetServer6+"/64"),
		Gateways: gateways("10.2.0.1", "fd00:2::1")}}})
	s.clientAt = attach(topology.Node{Name: "client", Links: []topology.Link{{Interface: "eth0", To: "engine",
		Hub: "clients", Addresses: prefixes(streetClient+"/24", streetClient6+"/64"),
		Gateways: gateways("10.3.0.1", "fd00:3::1")}}})
	host := s.lab.At(s.engineAt, "127.0.0.1")
	s.controller, err = host.Controller(s.ctx)
	s.must(err)
	s.vipsOn(s.engineAt)
	s.engine, err = host.Engine(s.ctx, s.controller, "engine-1", "--workers", "2")
	s.must(err)
	return s
}

// vipsOn has a machine accept packets for the VIPs.
func (s *street) vipsOn(space *network.Namespace) {
	s.Helper()
	for _, vip := range []string{streetVIP + "/32", streetVIP6 + "/128"} {
		s.ip(space, "address", "add", vip, "dev", "lo")
	}
}

// ip runs the program of this name in a namespace, and returns what it says.
func (s *street) ip(space *network.Namespace, arguments ...string) string {
	s.Helper()
	var said bytes.Buffer
	command := exec.Command("ip", arguments...)
	command.Stdout, command.Stderr = &said, &said
	s.must(space.Run(command.Start))
	if err := command.Wait(); err != nil {
		s.Fatalf("ip %v: %v: %s", arguments, err, &said)
	}
	return said.String()
}

// rules are the agent's rules on the engine.
func (s *street) rules() (lines []string) {
	s.Helper()
	for _, family := range []string{"-4", "-6"} {
		for line := range strings.Lines(s.ip(s.engineAt, family, "rule")) {
			if strings.Contains(line, "proto 87") {
				lines = append(lines, strings.TrimSpace(line))
			}
		}
	}
	return lines
}

// echo starts a server that answers each datagram with the address that it came from, and as many bytes again.
func (s *street) echo(address string) {
	s.Helper()
	var socket *net.UDPConn
	s.must(s.serverAt.Run(func() (err error) {
		socket, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(
			netip.AddrPortFrom(netip.MustParseAddr(address), streetPort)))
		return err
	}))
	s.Cleanup(func() { socket.Close() })
	go answerDatagrams(socket, func(from netip.AddrPort, question []byte) []byte {
		return append(fmt.Appendf(nil, "%s ", from), question[:min(len(question), datagramsMax-100)]...)
	})
}

// clientOf is a client's socket that is connected to a port of a VIP.
func (s *street) clientOf(from, vip string, port uint16) net.Conn {
	s.Helper()
	source := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(from))
	target := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(vip), port))
	var conn *net.UDPConn
	s.must(s.clientAt.Run(func() (err error) {
		conn, err = net.DialUDP("udp", source, target)
		return err
	}))
	s.Cleanup(func() { conn.Close() })
	return conn
}

// serve creates a virtual service without SNAT at a VIP, which this server serves.
func (s *street) serve(name, vip, kind, server string, ports ...int) {
	s.Helper()
	s.create("pool", client.Object{"name": name, "default_server_port": streetPort,
		"servers":             []any{map[string]any{"ip": map[string]any{"addr": server, "type": kind}}},
		"health_monitor_refs": []any{client.Ref("healthmonitor", "System-Ping")}})
	field := map[string]string{"V4": "ip_address", "V6": "ip6_address"}[kind]
	s.create("vsvip", client.Object{"name": name, "vip": []any{
		map[string]any{"vip_id": "1", field: map[string]any{"addr": vip, "type": kind}}}})
	var services []any
	for _, port := range ports {
		services = append(services, map[string]any{"port": port})
	}
	s.create("virtualservice", client.Object{
		"name": name, "vsvip_ref": client.Ref("vsvip", name), "pool_ref": client.Ref("pool", name),
		"application_profile_ref": client.Ref("applicationprofile", "System-L4-Application"),
		"network_profile_ref":     client.Ref("networkprofile", "System-UDP-No-Snat"),
		"services":                services,
	})
	s.waitUp(name)
}

func TestServersSeeTheAddressesOfClientsAndAnswerThroughTheEngine(t *testing.T) {
	s := setUpStreet(t)
	s.echo(streetServer)
	s.echo(streetServer6)
	s.serve("four", streetVIP, "V4", streetServer, 53, 54)
	s.serve("six", streetVIP6, "V6", streetServer6, 53)
	if rules := s.rules(); len(rules) != 12 {
		t.Errorf("the rules are %q", rules)
	}
	for from, vip := range map[string]string{
		streetClient + ":514": streetVIP, streetClient + ":40000": streetVIP,
		"[" + streetClient6 + "]:514": streetVIP6, "[" + streetClient6 + "]:40000": streetVIP6,
	} {
		conn := s.clientOf(from, vip, 53)
		for _, length := range []int{1, 9000, 60_000} { // the long ones come in fragments
			question := bytes.Repeat([]byte{'q'}, length)
			s.askDatagram(conn, question, func(answer []byte) bool {
				return string(answer) == from+" "+string(question)
			})
		}
		s.must(conn.Close()) // its session at the engine goes on
	}
	// The server could not tell a second session of the same client from the first one.
	second := s.clientOf(streetClient+":40000", streetVIP, 54)
	s.eventually("the clash is counted", func() error {
		_, err := second.Write([]byte("clash"))
		s.must(err)
		if counters := s.counters("four"); counters["errors_client_address"] == nil {
			return fmt.Errorf("%v", counters)
		}
		return nil
	})
	third := s.clientOf(streetClient+":40001", streetVIP, 54)
	s.askDatagram(third, []byte("q"), func(answer []byte) bool { return string(answer) == streetClient+":40001 q" })
	six, err := s.controller.Session.ByName(s.ctx, "virtualservice", "six")
	s.must(err)
	s.must(s.controller.Session.Delete(s.ctx, "virtualservice", fmt.Sprint(six["uuid"])))
	s.eventually("the rules of IPv6 are gone", func() error {
		if rules := s.rules(); len(rules) != 6 || strings.Contains(strings.Join(rules, " "), streetServer6) {
			return fmt.Errorf("%q", rules)
		}
		return nil
	})
	s.must(s.engine.Stop())
	if rules := s.rules(); len(rules) > 0 {
		t.Errorf("the agent leaves %q", rules)
	}
}
