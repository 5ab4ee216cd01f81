package monitor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/agent/plan"
)

// probeHTTP sends the operator's request, and judges the status and the beginning of the response.
func probeHTTP(ctx context.Context, target Target) Outcome {
	connection, err := connect(ctx, target)
	if err != nil {
		return failed(target, err)
	}
	defer connection.Close()
	var stream io.ReadWriter = connection
	if target.Monitor.Type == plan.HTTPS {
		secure := tls.Client(connection, clientTLS(target))
		if err := secure.HandshakeContext(ctx); err != nil {
			return failed(target, err)
		}
		stream = secure
	}
	if _, err := stream.Write(request(target)); err != nil {
		return failed(target, err)
	}
	check := &target.Monitor.HTTP
	answer, err := read(stream, func(answer []byte) bool { return decided(check, answer) })
	if status, whole := statusOf(answer); whole {
		return judge(check, status, answer)
	}
	if isSettings(answer) {
		return Outcome{Reason: "its answer is HTTP/2, and HTTP monitors speak HTTP/1.1: " +
			"use HEALTH_MONITOR_TCP or HEALTH_MONITOR_WEIR_GRPC"}
	}
	if len(answer) > 0 {
		return Outcome{Reason: "its answer is not HTTP"}
	}
	return failed(target, err)
}

// clientTLS does not verify certificates, and accepts the oldest TLS version: a monitor only asks whether a server
// works.
func clientTLS(target Target) *tls.Config {
	name := cmp.Or(target.Monitor.HTTP.ServerName, target.ServerName)
	if _, err := netip.ParseAddr(target.Hostname); name == "" && err != nil {
		name = target.Hostname
	}
	return &tls.Config{ServerName: name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}
}

// request is the operator's text plus missing headers, unless the text is to be sent as it is.
func request(target Target) []byte {
	check := &target.Monitor.HTTP
	if check.Exact {
		return []byte(check.Request + check.Body)
	}
	lines := strings.FieldsFunc(check.Request, func(r rune) bool { return r == '\r' || r == '\n' })
	if len(lines) == 0 {
		lines = []string{"GET / HTTP/1.0"}
	}
	present := func(name string) bool {
		return slices.ContainsFunc(lines[1:], func(line string) bool {
			field, _, _ := strings.Cut(line, ":")
			return strings.EqualFold(field, name)
		})
	}
	added := [][2]string{{"Host", host(target)}, {"User-Agent", "weir-monitor/1"}, {"Accept", "*/*"},
		{"Connection", "close"}}
	if check.Body != "" {
		added = append(added, [2]string{"Content-Length", strconv.Itoa(len(check.Body))})
	}
	for _, field := range added {
		if !present(field[0]) {
			lines = append(lines, field[0]+": "+field[1])
		}
	}
	return []byte(strings.Join(lines, "\r\n") + "\r\n\r\n" + check.Body)
}

// host is the server's name, with the port if it is not the scheme's default.
func host(target Target) string {
	name := target.Hostname
	if name == "" {
		name = target.Address.String()
	}
	usual := uint16(80)
	if target.Monitor.Type == plan.HTTPS {
		usual = 443
	}
	if target.Port != usual {
		return net.JoinHostPort(name, strconv.Itoa(int(target.Port)))
	}
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}

// statusOf reads the status of an answer whose first line is there (RFC 9112 §4).
func statusOf(answer []byte) (status uint32, whole bool) {
	line, _, whole := bytes.Cut(answer, []byte("\n"))
	version, rest, _ := strings.Cut(strings.TrimRight(string(line), "\r"), " ")
	digits, _, _ := strings.Cut(rest, " ")
	code, err := strconv.ParseUint(digits, 10, 32)
	if !whole || !strings.HasPrefix(version, "HTTP/") || err != nil || code < 100 || code > 999 {
		return 0, false
	}
	return uint32(code), true
}

// isSettings tells whether an answer begins with a SETTINGS frame, as each end of HTTP/2 does (RFC 9113 §3.4, §6.5).
func isSettings(answer []byte) bool {
	const headerBytes, settings = 9, 4
	return len(answer) >= headerBytes && answer[0] == 0 && answer[3] == settings &&
		bytes.Equal(answer[5:headerBytes], make([]byte, 4))
}

// decided tells whether more of the response cannot change the result.
func decided(check *plan.HTTPCheck, answer []byte) bool {
	status, whole := statusOf(answer)
	if !whole {
		return false
	}
	if slices.Contains(check.MaintenanceCodes, status) || holds(answer, check.MaintenanceContains) {
		return true
	}
	awaited := check.MaintenanceContains != "" ||
		wanted(check, status) && check.Contains != "" && !holds(answer, check.Contains)
	return !awaited
}

func judge(check *plan.HTTPCheck, status uint32, answer []byte) Outcome {
	line, _, _ := strings.Cut(check.Request, " HTTP/")
	got := fmt.Sprintf("HTTP %d from %s", status, line)
	switch {
	case slices.Contains(check.MaintenanceCodes, status), holds(answer, check.MaintenanceContains):
		return Outcome{Maintenance: true, Reason: got + ", it is in maintenance"}
	case !wanted(check, status):
		return Outcome{Reason: got + ", want " + classes(check)}
	case check.Contains != "" && !holds(answer, check.Contains):
		return Outcome{Reason: fmt.Sprintf("%s, without %q in its first %d bytes", got, check.Contains, answerBytesMax)}
	default:
		return Outcome{Up: true}
	}
}

func wanted(check *plan.HTTPCheck, status uint32) bool {
	return len(check.Classes) == 0 || slices.Contains(check.Classes, status/100)
}

func classes(check *plan.HTTPCheck) string {
	var names []string
	for _, class := range check.Classes {
		names = append(names, fmt.Sprintf("%dxx", class))
	}
	return strings.Join(names, " or ")
}
