package monitor

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/tests/accept"
)

// zone answers questions with these records, whatever they ask.
func zone(code int, records ...string) func([]byte) []byte {
	return func(question []byte) []byte {
		asked, answer := new(dns.Msg), new(dns.Msg)
		if asked.Unpack(question) != nil {
			return nil
		}
		answer.SetRcode(asked, code)
		for _, text := range records {
			record, err := dns.NewRR(text)
			if err != nil {
				panic(err)
			}
			answer.Answer = append(answer.Answer, record)
		}
		packed, err := answer.Pack()
		if err != nil {
			panic(err)
		}
		return packed
	}
}

func dnsMonitor(check plan.DNSCheck) *plan.Monitor {
	if check.Name == "" {
		check.Name = "www.example.com"
	}
	if check.Record == 0 {
		check.Record = dns.TypeA
	}
	if check.Answer == 0 {
		check.Answer = plan.DNSAnswerOfType
	}
	return &plan.Monitor{Type: plan.DNS, DNS: check, Timeout: time.Minute}
}

func TestDNSMonitorJudgesTheAnswer(t *testing.T) {
	address := "www.example.com. 60 IN A 192.0.2.11"
	alias := "www.example.com. 60 IN CNAME web.example.com."
	for name, c := range map[string]struct {
		check  plan.DNSCheck
		answer func([]byte) []byte
		reason string
	}{
		"a record of the type": {plan.DNSCheck{}, zone(0, alias, address), ""},
		"no record of the type": {plan.DNSCheck{}, zone(0, alias),
			"NOERROR for A www.example.com, without a record of type A in the answer"},
		"any record of another type": {plan.DNSCheck{Answer: plan.DNSAnswerOfAnyType}, zone(0, alias), ""},
		"no record of any type": {plan.DNSCheck{Answer: plan.DNSAnswerOfAnyType}, zone(0),
			"NOERROR for A www.example.com, without a record in the answer"},
		"no record is needed":     {plan.DNSCheck{Answer: plan.DNSAnswerNotNeeded}, zone(0), ""},
		"a question for any type": {plan.DNSCheck{Record: dns.TypeANY}, zone(0, alias), ""},
		"the name does not exist": {plan.DNSCheck{Answer: plan.DNSAnswerNotNeeded}, zone(dns.RcodeNameError),
			"NXDOMAIN for A www.example.com, want NOERROR"},
		"any code will do": {plan.DNSCheck{Answer: plan.DNSAnswerNotNeeded, AnyCode: true},
			zone(dns.RcodeServerFailure), ""},
		"a code that nobody knows": {plan.DNSCheck{}, zone(14), "response code 14 for A www.example.com, want NOERROR"},
		"the address is there":     {plan.DNSCheck{Contains: "192.0.2.11"}, zone(0, address), ""},
		"the address is not there": {plan.DNSCheck{Contains: "192.0.2.1"}, zone(0, address),
			`NOERROR for A www.example.com, without "192.0.2.1" in the answer`},
		"the address of IPv6, written differently": {plan.DNSCheck{Record: dns.TypeAAAA, Contains: "2001:DB8:0::1"},
			zone(0, "www.example.com. 60 IN AAAA 2001:db8::1"), ""},
		"the text is in a record": {plan.DNSCheck{Record: dns.TypeTXT, Contains: "all is Well"},
			zone(0, `www.example.com. 60 IN TXT "all is well"`), ""},
		"it answers another question": {plan.DNSCheck{}, func(question []byte) []byte {
			answer := zone(0, address)(question)
			answer[1]++
			return answer
		}, "no answer within 50 ms"},
		"it answers nonsense": {plan.DNSCheck{}, func([]byte) []byte {
			return []byte("nonsense")
		}, "no answer within 50 ms"},
		"it sends the question": {plan.DNSCheck{}, func(question []byte) []byte {
			return question
		}, "no answer within 50 ms"},
		"it answers not at all": {plan.DNSCheck{}, func([]byte) []byte { return nil }, "no answer within 50 ms"},
		"a name that cannot be": {plan.DNSCheck{Name: strings.Repeat("x", 64)}, zone(0), "dns: bad rdata"},
	} {
		t.Run(name, func(t *testing.T) {
			monitor := dnsMonitor(c.check)
			if strings.HasPrefix(c.reason, "no answer") {
				monitor.Timeout = 50 * time.Millisecond
			}
			outcome := Probe(t.Context(), targetAt(answersDatagrams(t, c.answer), monitor))
			if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
				t.Errorf("got %+v, want %q", outcome, c.reason)
			}
		})
	}
}

// datagramsAt is a socket for datagrams at the same address and port as a listener.
func datagramsAt(t *testing.T, at net.Addr, answer func([]byte) []byte) {
	t.Helper()
	socket, err := net.ListenPacket("udp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	go func() {
		room := make([]byte, datagramBytesMax)
		for {
			n, from, err := socket.ReadFrom(room)
			if err != nil {
				return
			}
			socket.WriteTo(answer(room[:n]), from)
		}
	}()
}

func TestDNSMonitorAsksOverTCPForAnAnswerThatIsTooLong(t *testing.T) {
	for name, c := range map[string]struct {
		overTCP func(*net.TCPConn)
		reason  string
	}{
		"whole": {func(connection *net.TCPConn) {
			question := make([]byte, 2+512)
			n, _ := connection.Read(question)
			answer := zone(0, "www.example.com. 60 IN A 192.0.2.1")(question[2:n])
			connection.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
		}, ""},
		"cut": {func(connection *net.TCPConn) {
			connection.Read(make([]byte, 512))
			connection.Write([]byte{1, 0, 'x'})
		}, "unexpected EOF"},
		"another": {func(connection *net.TCPConn) {
			io.ReadFull(connection, make([]byte, 4))
			connection.Write(append([]byte{0, 12}, make([]byte, 12)...))
		}, "its answer is not that to the question"},
	} {
		t.Run(name, func(t *testing.T) {
			at := accept.Each(t, c.overTCP)
			datagramsAt(t, at, func(question []byte) []byte {
				answer := zone(0)(question)
				answer[2] |= 2 // truncated
				return answer
			})
			outcome := Probe(t.Context(), targetAt(at, dnsMonitor(plan.DNSCheck{})))
			if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
				t.Errorf("got %+v, want %q", outcome, c.reason)
			}
		})
	}
}

func TestDNSMonitorTakesDnsmasq(t *testing.T) {
	address := accept.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	binary := "/usr/sbin/dnsmasq"
	if _, err := os.Stat(binary); err != nil {
		t.Fatal("install dnsmasq-base: ", err)
	}
	server := exec.CommandContext(t.Context(), binary, "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv",
		"--no-hosts", "--bind-interfaces", "--listen-address=127.0.0.1", "--port="+port, "--user=root",
		"--pid-file="+filepath.Join(t.TempDir(), "pid"), "--address=/www.example.com/192.0.2.1",
		"--txt-record=note.example.com,all is well")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	at, _ := net.ResolveUDPAddr("udp", address)
	up := dnsMonitor(plan.DNSCheck{Contains: "192.0.2.1"})
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		outcome := Probe(t.Context(), targetAt(at, up))
		if outcome.Up {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("got %+v", outcome)
		}
	}
	for i, c := range []struct {
		check plan.DNSCheck
		up    bool
	}{
		{plan.DNSCheck{Name: "note.example.com", Record: dns.TypeTXT, Contains: "is well"}, true},
		{plan.DNSCheck{Name: "nobody.example.org"}, false},
		{plan.DNSCheck{Name: "www.example.com", Contains: "192.0.2.2"}, false},
	} {
		if outcome := Probe(t.Context(), targetAt(at, dnsMonitor(c.check))); outcome.Up != c.up {
			t.Error(fmt.Sprint(i), outcome)
		}
	}
}
