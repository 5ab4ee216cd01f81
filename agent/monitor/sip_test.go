package monitor

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/tests/accept"
)

// sipAnswer answers OPTIONS as a server does: with the fields of the request that a client knows it by.
func sipAnswer(request string) string {
	lines := strings.Split(request, "\r\n")
	if !strings.HasPrefix(lines[0], "OPTIONS sip:127.0.0.1:") || !strings.HasSuffix(request, "\r\n\r\n") {
		return "SIP/1.0 400 Bad Request\r\n\r\n"
	}
	answer := "SIP/2.0 200 OK\r\n"
	for _, name := range []string{"Via: ", "To: ", "From: ", "Call-ID: ", "CSeq: "} {
		found := false
		for _, line := range lines {
			if strings.HasPrefix(line, name) {
				answer, found = answer+line+"\r\n", true
			}
		}
		if !found {
			return "SIP/1.0 400 No " + name + "\r\n\r\n"
		}
	}
	return answer + "Content-Length: 0\r\n\r\n"
}

func TestSIPMonitorAsksForOptions(t *testing.T) {
	for name, c := range map[string]struct {
		wants  string
		answer func(request string) string
		reason string
	}{
		"it answers": {"SIP/2.0 200", sipAnswer, ""},
		"it refuses": {"SIP/2.0", func(string) string { return "SIP/2.0 405 Method Not Allowed\r\n\r\n" }, ""},
		"another code": {"SIP/2.0 200", func(string) string { return "SIP/2.0 503 No\r\n\r\n" },
			`no "SIP/2.0 200" in the first 2048 bytes of its answer`},
		"another protocol": {"SIP/2.0", func(string) string { return "HTTP/1.1 400 Bad Request\r\n\r\n" },
			`no "SIP/2.0" in the first 2048 bytes of its answer`},
		"no answer": {"SIP/2.0", func(string) string { return "" }, late},
	} {
		t.Run(name, func(t *testing.T) {
			monitor := &plan.Monitor{Type: plan.SIP, SIP: plan.SIPCheck{Contains: c.wants}, Timeout: time.Minute}
			if c.reason == late {
				monitor.Timeout = 100 * time.Millisecond
			}
			overUDP := answersDatagrams(t, func(question []byte) []byte {
				if answer := c.answer(string(question)); answer != "" {
					return []byte(answer)
				}
				return nil
			})
			overTCP := accept.Each(t, func(connection *net.TCPConn) {
				request, lines := "", bufio.NewReader(connection)
				for !strings.HasSuffix(request, "\r\n\r\n") {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					request += line
				}
				if answer := c.answer(request); answer == "" {
					io.Copy(io.Discard, connection)
				} else {
					fmt.Fprint(connection, answer)
				}
			})
			for _, at := range []net.Addr{overUDP, overTCP} {
				monitor.SIP.TCP = at == overTCP
				outcome := Probe(t.Context(), targetAt(at, monitor))
				if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
					t.Errorf("over TCP %v: got %+v, want %q", monitor.SIP.TCP, outcome, c.reason)
				}
			}
		})
	}
	endless := &plan.Monitor{Type: plan.SIP, SIP: plan.SIPCheck{Contains: "SIP/2.0", TCP: true}}
	outcome := Probe(t.Context(), targetAt(plays(t, "... nonsense"), endless))
	if outcome.Reason != `no "SIP/2.0" in the first 2048 bytes of its answer` {
		t.Errorf("got %+v", outcome)
	}
}
