package monitor

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/tests/accept"
)

// A script is what a server of a protocol of lines does, line by line:
//
//	> text    it says this
//	< text    it waits for this, and says that it got something else
//	= text    it says this without a line end
//	... text  it says this line without end
//	tls       it begins TLS
//	silence   it waits until the client is gone
//
// After that it closes the connection.
func plays(t *testing.T, script string) net.Addr {
	t.Helper()
	config := serverTLS(t)
	return accept.Each(t, func(connection *net.TCPConn) { play(connection, config, script) })
}

func play(connection net.Conn, config *tls.Config, script string) {
	lines := bufio.NewReader(connection)
	for _, step := range strings.Split(strings.TrimSpace(script), "\n") {
		what, text, _ := strings.Cut(strings.TrimSpace(step), " ")
		switch what {
		case ">":
			fmt.Fprint(connection, text, "\r\n")
		case "=":
			fmt.Fprint(connection, text)
		case "<":
			if line, _ := lines.ReadString('\n'); strings.TrimRight(line, "\r\n") != text {
				fmt.Fprintf(connection, "599 got %q, want %q\r\n", line, text)
				return
			}
		case "...":
			for err := error(nil); err == nil; {
				_, err = fmt.Fprint(connection, text, "\r\n")
			}
		case "tls":
			connection = tls.Server(connection, config)
			lines = bufio.NewReader(connection)
		case "silence":
			io.Copy(io.Discard, connection)
		}
	}
}

// serverTLS is a configuration with a certificate that nobody trusts.
func serverTLS(t *testing.T) *tls.Config {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	return &tls.Config{Certificates: server.TLS.Certificates}
}

// scripted runs a monitor against servers that follow scripts; an empty reason means up.
func scripted(t *testing.T, monitor plan.Monitor, cases map[string]struct{ script, reason string }) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			monitor := monitor
			if monitor.Timeout = time.Minute; strings.Contains(c.script, "silence") {
				monitor.Timeout = 100 * time.Millisecond
			}
			outcome := Probe(t.Context(), targetAt(plays(t, c.script), &monitor))
			if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
				t.Errorf("got %+v, want %q", outcome, c.reason)
			}
		})
	}
}

const (
	tooLong = "its answers are longer than 65536 bytes"
	closed  = "it closed the connection without an answer"
	late    = "no answer within 100 ms"
)
