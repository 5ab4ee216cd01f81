package monitor

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/tests/accept"
)

const loggedIn = "> 220 hi\n< USER me\n> 331 password?\n< PASS secret\n> 230 welcome\n< TYPE I\n> 200 ok\n"

func ftpMonitor(active bool) plan.Monitor {
	return plan.Monitor{Type: plan.FTP, FTP: plan.FTPCheck{Filename: "a/b", Active: active},
		Login: plan.Login{Username: "me", Password: "secret"}}
}

// entering answers PASV with a port at which a server gives each client this.
func entering(t *testing.T, give func(net.Conn)) string {
	t.Helper()
	port := accept.Each(t, func(connection *net.TCPConn) { give(connection) }).(*net.TCPAddr).Port
	// The address is one that nobody may follow.
	return fmt.Sprintf("< PASV\n> 227 Entering Passive Mode (192,0,2,9,%d,%d).\n", port>>8, port&255)
}

func TestFTPMonitorGetsAFile(t *testing.T) {
	file := func(data net.Conn) { io.WriteString(data, "content") }
	endless := func(data net.Conn) {
		for err := error(nil); err == nil; {
			_, err = io.WriteString(data, strings.Repeat("x", 1<<16))
		}
	}
	silent := func(data net.Conn) { io.Copy(io.Discard, data) }
	scripted(t, ftpMonitor(false), cases{
		"a file": {loggedIn + entering(t, file) +
			"< RETR a/b\n> 150 here it comes\n> 226 done\n< QUIT", ""},
		"a file without end": {loggedIn + entering(t, endless) + "< RETR a/b\n> 150 here it comes\n< QUIT", ""},
		"a file that fails": {loggedIn + entering(t, file) + "< RETR a/b\n> 150 here it comes\n> 426 broken",
			"its answer to RETR: 426 broken"},
		"no file":            {loggedIn + entering(t, file) + "< RETR a/b\n> 550 none", "its answer to RETR: 550 none"},
		"a file that stalls": {loggedIn + entering(t, silent) + "< RETR a/b\n> 150 here it comes\nsilence", late},
		"no port":            {loggedIn + "< PASV\n> 227 somewhere", "its answer to PASV names no port: somewhere"},
		"no such port": {loggedIn + "< PASV\n> 227 (1,2,3,4,999,1)",
			"its answer to PASV names no port: (1,2,3,4,999,1)"},
		"a wrong password": {"> 220 hi\n< USER me\n> 331 password?\n< PASS secret\n> 530 no",
			"its answer to PASS: 530 no"},
		"no password is needed": {"> 220 hi\n< USER me\n> 230 welcome\n< TYPE I\n> 200 ok\n" + entering(t, file) +
			"< RETR a/b\n> 150 here it comes\n> 226 done", ""},
		"an unknown user": {"> 220 hi\n< USER me\n> 530 no", "its answer to USER: 530 no"},
		"it is busy":      {"> 421 busy", "its answer to the connection: 421 busy"},
		"it is silent":    {"silence", late},
		"it closes":       {"> 220 hi\n< USER me", closed},
		"no end of lines": {"... 220-hi", tooLong},
	})
}

func TestFTPMonitorHasTheServerConnectForTheFile(t *testing.T) {
	for name, c := range map[string]struct {
		serve  func(data net.Conn, control net.Conn)
		reason string
	}{
		"the file": {func(data, control net.Conn) {
			io.WriteString(data, "content")
			data.Close()
			fmt.Fprint(control, "226 done\r\n")
		}, ""},
		"nothing": {func(data, control net.Conn) { io.Copy(io.Discard, control) }, late},
	} {
		t.Run(name, func(t *testing.T) {
			at := accept.Each(t, func(control *net.TCPConn) {
				play(control, nil, loggedIn)
				line := make([]byte, 200)
				n, _ := control.Read(line)
				var h [4]byte
				var high, low int
				fmt.Sscanf(string(line[:n]), "PORT %d,%d,%d,%d,%d,%d", &h[0], &h[1], &h[2], &h[3], &high, &low)
				fmt.Fprint(control, "200 ok\r\n")
				play(control, nil, "< RETR a/b\n> 150 here it comes")
				data, err := net.Dial("tcp", netip.AddrPortFrom(netip.AddrFrom4(h), uint16(high<<8|low)).String())
				if err != nil {
					return
				}
				defer data.Close()
				c.serve(data, control)
			})
			monitor := ftpMonitor(true)
			if monitor.Timeout = time.Minute; c.reason != "" {
				monitor.Timeout = 100 * time.Millisecond
			}
			outcome := Probe(t.Context(), targetAt(at, &monitor))
			if outcome.Up != (c.reason == "") || outcome.Reason != c.reason {
				t.Errorf("got %+v, want %q", outcome, c.reason)
			}
		})
	}
}

func TestFTPSMonitorEncryptsTheFileAndResumesTheSession(t *testing.T) {
	config := serverTLS(t)
	resumed := make(chan bool, 1)
	passive := entering(t, func(data net.Conn) {
		encrypted := tls.Server(data, config)
		io.WriteString(encrypted, "content")
		resumed <- encrypted.ConnectionState().DidResume
		encrypted.Close()
	})
	after := strings.TrimPrefix(loggedIn, "> 220 hi\n") + "< PBSZ 0\n> 200 ok\n< PROT P\n> 200 ok\n" + passive +
		"< RETR a/b\n> 150 here it comes\n> 226 done"
	at := accept.Each(t, func(control *net.TCPConn) {
		play(control, nil, "> 220 hi\n< AUTH TLS\n> 234 go on")
		play(tls.Server(control, config), nil, after)
	})
	monitor := ftpMonitor(false)
	monitor.Type = plan.FTPS
	if outcome := Probe(t.Context(), targetAt(at, &monitor)); !outcome.Up || !<-resumed {
		t.Errorf("got %+v", outcome)
	}
	scripted(t, monitor, cases{
		"it has no TLS": {"> 220 hi\n< AUTH TLS\n> 502 what?", "its answer to AUTH: 502 what?"},
	})
}

func TestPortOfExtendedPassiveMode(t *testing.T) {
	if port, err := portOfEPSV("Entering Extended Passive Mode (|||6446|)"); err != nil || port != 6446 {
		t.Errorf("got %d, %v", port, err)
	}
	for _, text := range []string{"", "(|||)", "(|||70000|)", "(|1|2|3|)"} {
		if port, err := portOfEPSV(text); err == nil {
			t.Errorf("%q: got %d", text, port)
		}
	}
}
