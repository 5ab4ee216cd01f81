package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// dialFrom connects to a port of the VIP from an address of this test, and tells whether the engine answers a request.
func (s *stage) dialFrom(host, port int, request string) (answered bool) {
	s.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(loopback(host))}}
	conn, err := dialer.DialContext(s.ctx, "tcp", fmt.Sprintf("%s:%d", vip, port))
	if err != nil {
		return false // reset at once
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprint(conn, request); err != nil {
		return false
	}
	_, err = conn.Read(make([]byte, 1))
	return err == nil
}

// The example of docs/network-policies.md, as it stands there, with addresses of this test.
func TestNetworkPolicyDecidesWhoMayConnect(t *testing.T) {
	const partner, scanner, other = 60, 61, 62
	const request = "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"
	s := policyStage(t, client.Object{})
	house := strings.NewReplacer("192.0.2.0", loopback(scanner), `"mask": 24`, `"mask": 32`, "200", "2", "400", "3").
		Replace(blocks(t, "network-policies.md", "json")[0])
	s.must(os.WriteFile(filepath.Join(s.dir, "house.json"), []byte(house), 0o600))
	run := s.commands()
	commands := strings.NewReplacer("vs set shop", "vs set web", "house.json", filepath.Join(s.dir, "house.json"),
		"198.51.100.0", loopback(partner), "mask=24", "mask=32").Replace(blocks(t, "network-policies.md", "")[0])
	for line := range strings.Lines(commands) {
		if out := run(strings.Fields(line)[1:]...); strings.Contains(strings.ToLower(out), "warning") {
			t.Errorf("%s says %s", line, out)
		}
	}
	s.eventually("a scanner is refused, and nobody else", func() error {
		if s.dialFrom(scanner, plainPort, request) || !s.dialFrom(partner, plainPort, request) {
			return fmt.Errorf("the policy is not in force")
		}
		return nil
	})
	passed := 0
	for range 20 {
		if s.dialFrom(other, plainPort, request) {
			passed++
		}
		if !s.dialFrom(partner, plainPort, request) {
			t.Error("a partner is refused")
		}
	}
	if passed < 3 || passed > 12 {
		t.Errorf("%d of 20 connections of others pass, two in a second may", passed)
	}
	if s.dialFrom(scanner, tlsPort, request) {
		t.Error("a scanner connects to the port for TLS")
	}
	explained := s.explained(client.Object{"url": plainURL("/"), "client": loopback(scanner)})
	if told := fmt.Sprint(explained); !strings.Contains(told, "client_network_denied") ||
		!strings.Contains(told, " bars the client.") {
		t.Errorf("the explanation is %v", explained)
	}
	s.change("ipaddrgroup", "partners", func(o client.Object) {
		o["addrs"] = list{object{"addr": loopback(scanner), "type": "V4"}}
	})
	s.eventually("the scanner is a partner now", func() error {
		if !s.dialFrom(scanner, plainPort, request) {
			return fmt.Errorf("it is refused")
		}
		return nil
	})
	s.eventually("refusals are counted and recorded", func() error {
		counters := s.counters("web")
		denied, _ := counters["errors_client_network_denied"].(float64)
		limited, _ := counters["errors_client_network_rate"].(float64)
		if denied == 0 || limited == 0 {
			return fmt.Errorf("%v are denied, %v beyond a rate", denied, limited)
		}
		page, err := s.records("type=0&filter=eq(request_state,client_network_denied)")
		if err == nil && (page.Count == 0 || !strings.Contains(fmt.Sprint(page.Results[0]), "CLIENT_REFUSED")) {
			err = fmt.Errorf("the records are %v", page)
		}
		return err
	})
}

func TestNetworkPolicyKeepsOutACountry(t *testing.T) {
	const native, stranger = 60, 61
	const request = "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"
	s := bareStage(t)
	file := filepath.Join(s.dir, "countries.csv")
	s.must(os.WriteFile(file, fmt.Appendf(nil, "%s/32,DE\n%s,%[2]s,FR\n", loopback(native), loopback(stranger)), 0o600))
	s.must(s.startController("--countries", file))
	s.must(s.startEngine())
	s.create("ipaddrgroup", client.Object{"name": "abroad", "country_codes": list{"FR"}})
	s.create("networksecuritypolicy", client.Object{"name": "house", "rules": list{object{
		"name": "abroad", "index": 1, "enable": true, "action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_DENY",
		"match": object{"client_ip": object{"match_criteria": "IS_IN",
			"group_refs": list{client.Ref("ipaddrgroup", "abroad")}}}}}})
	s.create("pool", client.Object{"name": "web", "servers": serverList([]string{telling(t, "web")})})
	s.create("vsvip", client.Object{"name": "web", "vip": list{
		object{"vip_id": "1", "ip_address": object{"addr": vip, "type": "V4"}}}})
	s.create("virtualservice", client.Object{
		"name": "web", "vsvip_ref": client.Ref("vsvip", "web"), "pool_ref": client.Ref("pool", "web"),
		"services": list{object{"port": plainPort}}, "network_security_policy_ref": client.Ref(
			"networksecuritypolicy", "house")})
	s.waitUp("web")
	if !s.dialFrom(native, plainPort, request) || s.dialFrom(stranger, plainPort, request) {
		t.Error("the policy lets in the wrong country")
	}
	s.change("ipaddrgroup", "abroad", func(o client.Object) { o["country_codes"] = list{"FR", "XX"} })
	s.eventually("a rule with an unknown country lets in nobody", func() error {
		if s.dialFrom(native, plainPort, request) {
			return fmt.Errorf("a client gets in")
		}
		return nil
	})
	s.change("ipaddrgroup", "abroad", func(o client.Object) { o["country_codes"] = list{"DE"} })
	s.eventually("the other country is kept out", func() error {
		if s.dialFrom(native, plainPort, request) || !s.dialFrom(stranger, plainPort, request) {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	s.change("networksecuritypolicy", "house", func(o client.Object) {
		rule := o["rules"].(list)[0].(object)
		rule["match"] = object{"geo_matches": list{object{
			"attribute": "ATTRIBUTE_COUNTRY_CODE", "match_operation": "IS_NOT_IN", "values": list{"DE"}}}}
	})
	s.eventually("who is not in a country is kept out", func() error {
		if !s.dialFrom(native, plainPort, request) || s.dialFrom(stranger, plainPort, request) {
			return fmt.Errorf("it is not")
		}
		return nil
	})
}

func TestNetworkPolicyJudgesTheFirstDatagramOfASession(t *testing.T) {
	const barred = 63
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "dns", "servers": serverList([]string{
		datagramServer(t, func(question []byte) []byte { return question })})})
	s.createVip("dns")
	s.create("networksecuritypolicy", client.Object{"name": "house", "rules": list{object{
		"name": "strangers", "index": 1, "enable": true, "action": "NETWORK_SECURITY_POLICY_ACTION_TYPE_DENY",
		"match": object{"client_ip": object{"match_criteria": "IS_IN", "addrs": list{
			object{"addr": loopback(barred), "type": "V4"}}}}}}})
	at := s.createUDP("dns", "dns", "dns", "System-DNS", "System-UDP-Fast-Path", dnsPort)
	s.changeApplied("dns", "virtualservice", "dns", func(o client.Object) {
		o["network_security_policy_ref"] = client.Ref("networksecuritypolicy", "house")
	})
	send := func(host int) net.Conn {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(loopback(host))}}
		conn, err := dialer.DialContext(s.ctx, "udp", at)
		s.must(err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = conn.Write([]byte("question"))
		s.must(err)
		return conn
	}
	send(barred)
	answer := make([]byte, 64)
	n, err := send(barred + 1).Read(answer)
	s.must(err)
	s.gets("another client", string(answer[:n]), "question")
	s.eventually("the barred client is counted", func() error {
		if denied, _ := s.counters("dns")["errors_client_network_denied"].(float64); denied != 1 {
			return fmt.Errorf("%v are denied", denied)
		}
		return nil
	})
}
