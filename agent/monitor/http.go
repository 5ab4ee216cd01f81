package monitor

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/agent/plan"
)

// probeHTTP sends the operator's request, and judges the status and the beginning of the response. It speaks HTTP/2 if
// the pool does and the server takes it.
func probeHTTP(ctx context.Context, target Target) Outcome {
	check := &target.Monitor.HTTP
	secure := target.Monitor.Type == plan.HTTPS
	mayHTTP2 := target.HTTP2 && !check.Exact && check.Login != plan.NTLMLogin
	var protocols []string
	if mayHTTP2 {
		protocols = []string{"h2", "http/1.1"}
	}
	stream, err := open(ctx, target, secure, protocols...)
	if err != nil {
		return failed(target, err)
	}
	defer stream.Close()
	encrypted, _ := stream.(*tls.Conn)
	switch {
	case mayHTTP2 && (encrypted == nil || encrypted.ConnectionState().NegotiatedProtocol == "h2"):
		return probeHTTP2(ctx, target, stream)
	case check.Login == plan.NTLMLogin:
		return probeNTLM(target, stream)
	}
	if _, err := stream.Write(request(target, "close", basic(target))); err != nil {
		return failed(target, err)
	}
	return judgeResponse(target, stream)
}

// judgeResponse reads as much of a response of HTTP/1 as it takes to judge it.
func judgeResponse(target Target, from io.Reader) Outcome {
	check := &target.Monitor.HTTP
	answer, err := read(from, make([]byte, 0, check.Searched),
		func(answer []byte) bool { return decided(check, answer) })
	if status, whole := statusOf(answer); whole {
		return judge(check, status, answer)
	}
	if isSettings(answer) {
		return Outcome{Reason: "its answer is HTTP/2, and HTTP monitors speak HTTP/1.1: " +
			"set enable_http2 of its pool, or use HEALTH_MONITOR_TCP or HEALTH_MONITOR_WEIR_GRPC"}
	}
	if len(answer) > 0 {
		return Outcome{Reason: "its answer is not HTTP"}
	}
	return failed(target, err)
}

// basic is the content of Authorization for the monitor's user (RFC 7617 §2); empty: it does not log in like that.
func basic(target Target) string {
	if target.Monitor.HTTP.Login != plan.BasicLogin {
		return ""
	}
	login := &target.Monitor.Login
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(login.Username+":"+login.Password))
}

// request is the operator's text plus missing headers, unless the text is to be sent as it is.
func request(target Target, connection, authorization string) []byte {
	check := &target.Monitor.HTTP
	if check.Exact {
		return []byte(check.Request + check.Body)
	}
	lines := requestLines(check)
	present := func(name string) bool {
		return slices.ContainsFunc(lines[1:], func(line string) bool {
			field, _, _ := strings.Cut(line, ":")
			return strings.EqualFold(field, name)
		})
	}
	added := [][2]string{{"Host", host(target)}, {"User-Agent", userAgent}, {"Accept", "*/*"},
		{"Connection", connection}}
	if check.Body != "" {
		added = append(added, [2]string{"Content-Length", strconv.Itoa(len(check.Body))})
	}
	if authorization != "" {
		added = append(added, [2]string{"Authorization", authorization})
	}
	for _, field := range added {
		if !present(field[0]) {
			lines = append(lines, field[0]+": "+field[1])
		}
	}
	return []byte(strings.Join(lines, "\r\n") + "\r\n\r\n" + check.Body)
}

const userAgent = "weir-monitor/1"

// requestLines are the request line and the header fields of the operator's request.
func requestLines(check *plan.HTTPCheck) []string {
	lines := strings.FieldsFunc(check.Request, func(r rune) bool { return r == '\r' || r == '\n' })
	if len(lines) == 0 {
		return []string{"GET / HTTP/1.0"}
	}
	return lines
}

// host is the server's name, with the port as its pool says.
func host(target Target) string {
	name := target.Hostname
	if name == "" {
		name = target.Address.String()
	}
	isUsual := target.Port == 80 || target.Port == 443
	if target.AppendPort == plan.AppendAlways || target.AppendPort != plan.AppendNever && !isUsual {
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
		return Outcome{Reason: fmt.Sprintf("%s, without %q in its first %d bytes", got, check.Contains, check.Searched)}
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
