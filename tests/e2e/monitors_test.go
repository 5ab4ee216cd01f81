package e2e

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/tests/accept"
)

// createMonitor makes a monitor that decides soon.
func (s *stage) createMonitor(name, kind string, settings client.Object) {
	s.Helper()
	monitor := client.Object{"name": name, "type": kind, "send_interval": 1, "receive_timeout": 1,
		"successful_checks": 1, "failed_checks": 2}
	for field, value := range settings {
		monitor[field] = value
	}
	s.create("healthmonitor", monitor)
}

// waitServer waits until the first server of a pool is in a state, for a reason that contains this text.
func (s *stage) waitServer(pool, state, reason string) {
	s.Helper()
	s.eventually(fmt.Sprintf("the server of %s is %s", pool, state), func() error {
		servers, _ := s.runtime("pool", pool)["servers"].([]any)
		server, _ := servers[0].(map[string]any)
		status, _ := server["oper_status"].(map[string]any)
		if status["state"] != state || !strings.Contains(fmt.Sprint(status["reason"]), reason) {
			return fmt.Errorf("it is %v", status)
		}
		return nil
	})
}

// answersDNS answers a question with this code, and without records (RFC 1035 §4.1.1).
func answersDNS(code byte, question []byte) []byte {
	if len(question) < 12 {
		return nil
	}
	answer := append([]byte(nil), question...)
	answer[2], answer[3] = answer[2]|0x80, code
	return answer
}

func TestServersOfDatagramsGoDownAndUpByTheirMonitors(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	var broken atomic.Bool
	names := datagramServer(t, func(question []byte) []byte {
		if broken.Load() {
			return answersDNS(2, question)
		}
		return answersDNS(0, question)
	})
	echo := datagramServer(t, func(question []byte) []byte {
		if broken.Load() && string(question) == "ping" {
			return nil
		}
		return append([]byte("got "), question...)
	})
	s.createMonitor("names", "HEALTH_MONITOR_DNS", client.Object{"dns_monitor": map[string]any{
		"query_name": "www.test", "qtype": "DNS_ANY_THING"}})
	s.createMonitor("echo", "HEALTH_MONITOR_UDP", client.Object{"udp_monitor": map[string]any{
		"udp_request": "ping", "udp_response": "got ping"}})
	for pool, server := range map[string]string{"names": names, "echo": echo} {
		s.create("pool", client.Object{"name": pool, "servers": serverList([]string{server}),
			"health_monitor_refs": []any{client.Ref("healthmonitor", pool)}})
		s.createVip(pool)
	}
	s.createUDP("names", "names", "names", "System-DNS", "System-UDP-Fast-Path", dnsPort)
	at := s.createUDP("echo", "echo", "echo", "System-L4-Application", "System-UDP-Fast-Path", syslogPort)
	for range 2 {
		s.waitServer("names", "OPER_UP", "")
		s.waitServer("echo", "OPER_UP", "")
		s.waitUp("names")
		s.waitUp("echo")
		s.askDatagram(s.dial(at), []byte("hello"), func(answer []byte) bool { return string(answer) == "got hello" })
		broken.Store(true)
		s.waitServer("names", "OPER_DOWN", "SERVFAIL for A www.test, want NOERROR")
		s.waitServer("echo", "OPER_DOWN", "no answer within 1000 ms")
		broken.Store(false)
	}
}

func TestServerInMaintenanceKeepsItsConnectionsAndGetsNoNewOnes(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	var away atomic.Bool
	var asked, used atomic.Int64 // when a server asked for maintenance first, and when it got a new connection last
	// Each server says its name before each line that it sends back.
	server := func(name string, away *atomic.Bool) string {
		return accept.Each(t, func(conn *net.TCPConn) {
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				switch {
				case away.Load() && lines.Text() == "status":
					asked.CompareAndSwap(0, time.Now().UnixNano())
					fmt.Fprintln(conn, "out of service")
					continue
				case away.Load() && lines.Text() == "hello":
					used.Store(time.Now().UnixNano())
				}
				fmt.Fprintln(conn, name, lines.Text())
			}
		}).String()
	}
	s.createMonitor("status", "HEALTH_MONITOR_TCP", client.Object{"tcp_monitor": map[string]any{
		"tcp_request": "status\n", "tcp_response": "status", "maintenance_response": "out of service"}})
	s.create("pool", client.Object{"name": "lines", "lb_algorithm": "LB_ALGORITHM_ROUND_ROBIN",
		"servers":             serverList([]string{server("first", &away), server("second", new(atomic.Bool))}),
		"health_monitor_refs": []any{client.Ref("healthmonitor", "status")}})
	at := s.createLayer4("lines", "lines", "System-L4-Application", plainPort, false)
	s.waitServer("lines", "OPER_UP", "")

	ask := func(conn net.Conn, line string) string {
		_, err := fmt.Fprintln(conn, line)
		s.must(err)
		answer, err := bufio.NewReader(conn).ReadString('\n')
		s.must(err)
		return answer
	}
	open := func() net.Conn {
		conn, err := net.Dial("tcp", at)
		s.must(err)
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	kept := open()
	for ask(kept, "hello") != "first hello\n" {
		kept = open()
	}
	away.Store(true)
	for elsewhere, end := 0, time.Now().Add(eventTimeout); elsewhere < 100 && time.Now().Before(end); elsewhere++ {
		conn := open()
		if ask(conn, "hello") == "first hello\n" {
			elsewhere = 0
		}
		conn.Close()
	}
	t.Logf("the server got its last new connection %v after it had asked for maintenance",
		time.Duration(used.Load()-asked.Load()))
	s.waitServer("lines", "OPER_DOWN", "maintenance")
	for range 10 {
		if line := ask(open(), "hello"); line != "second hello\n" {
			t.Errorf("a new connection got %q", line)
		}
		if line := ask(kept, "again"); line != "first again\n" {
			t.Errorf("the connection from before got %q", line)
		}
	}
	away.Store(false)
	s.waitServer("lines", "OPER_UP", "")
}
