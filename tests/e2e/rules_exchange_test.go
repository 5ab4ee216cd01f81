package e2e

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// seen is what a server tells of a request.
type seen struct {
	Server, Target, Host string
	Fields               http.Header
}

const (
	seenField   = "X-Seen"   // of a response: what its server has seen, as JSON
	answerField = "X-Answer" // of a request: a status or a field that the server is to answer with
	answersPage = "page"     // in it: with a page
)

// seer is a server that tells what it has seen, and answers as it is asked to.
func seer(t *testing.T, name string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		saw, err := json.Marshal(seen{name, r.RequestURI, r.Host, r.Header})
		if err != nil {
			panic(err)
		}
		w.Header().Set(seenField, string(saw))
		status := http.StatusOK
		page := ""
		for _, answer := range r.Header.Values(answerField) {
			if answer == answersPage {
				page = strings.Repeat("a page that can be stored and compressed\n", 100)
				w.Header().Set("Content-Type", "text/plain")
				w.Header().Set("Cache-Control", "max-age=600")
			} else if field, value, isField := strings.Cut(answer, ": "); isField {
				w.Header().Add(field, value)
			} else if status, err = strconv.Atoi(answer); err != nil {
				panic(err)
			}
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// exchange is a request of the table, and what is to become of it.
type exchange struct {
	method, target, host, version string
	from, proxied                 string // addresses, from also with a port; proxied is that of a PROXY header
	claims                        string // of a token, as JSON; empty: there is none
	tls, certified                bool
	fields                        [][2]string

	outcome        string // the status, or how the connection ends
	server, saw    string // who answers, and the path and query that it sees
	sawHost        string
	sees, gets     map[string]string // fields that the server sees and that the client gets
	seesNo, getsNo []string
	body           *string
	storage        string // "stored", "not stored"; empty: nothing is said
}

// readExchange reads `METHOD TARGET | part | … => OUTCOME | part | …`.
func readExchange(line string) (e exchange, err error) {
	asked, outcome, isRequest := strings.Cut(line, "=>")
	if !isRequest {
		return e, fmt.Errorf("%q has no =>", line)
	}
	first, parts := partsOf(asked)
	e = exchange{host: "shop.test", version: "HTTP/1.1", from: alice, sees: map[string]string{},
		gets: map[string]string{}}
	if _, err := fmt.Sscan(first, &e.method, &e.target); err != nil {
		return e, fmt.Errorf("%q: %w", first, err)
	}
	for _, part := range parts {
		word, rest, _ := strings.Cut(part, " ")
		name, value, isField := strings.Cut(part, ": ")
		switch {
		case word == "answered":
			e.fields = append(e.fields, [2]string{answerField, rest})
		case word == "host":
			e.host = rest
		case part == "no host":
			e.host = ""
		case word == "token":
			e.claims = cmp.Or(rest, "{}")
		case word == "from":
			e.from = rest
		case word == "PROXY":
			e.proxied = rest
		case part == "TLS":
			e.tls = true
		case part == "certificate":
			e.tls, e.certified = true, true
		case strings.HasPrefix(part, "HTTP/"):
			e.version = part
		case isField:
			e.fields = append(e.fields, [2]string{name, value})
		default:
			return e, fmt.Errorf("%q says nothing of a request", part)
		}
	}
	return e, e.readOutcome(outcome)
}

func (e *exchange) readOutcome(text string) error {
	first, parts := partsOf(text)
	words := strings.Fields(first)
	if len(words) == 0 || len(words) > 3 {
		return fmt.Errorf("%q is no outcome", first)
	}
	words = append(words, "", "")
	e.outcome, e.server, e.saw = words[0], words[1], words[2]
	if e.server != "" && e.saw == "" {
		e.saw = e.target
	}
	if e.server != "" {
		e.sawHost = e.host
	}
	for _, part := range parts {
		word, rest, _ := strings.Cut(part, " ")
		about := rest
		if word != "saw" {
			about = part
		}
		name, value, isField := strings.Cut(about+" ", ": ")
		value = strings.TrimSpace(value)
		absent, isAbsent := strings.CutPrefix(about, "no ")
		switch {
		case part == "stored" || part == "not stored":
			e.storage = part
		case word == "body":
			e.body = &rest
		case word == "saw" && strings.HasPrefix(rest, "host "):
			e.sawHost = rest[len("host "):]
		case word == "saw" && isAbsent:
			e.seesNo = append(e.seesNo, absent)
		case word == "saw" && isField:
			e.sees[name] = value
		case isAbsent:
			e.getsNo = append(e.getsNo, absent)
		case isField:
			e.gets[name] = value
		default:
			return fmt.Errorf("%q says nothing of an outcome", part)
		}
	}
	if _, said := e.gets["Location"]; !said {
		e.getsNo = append(e.getsNo, "Location")
	}
	return nil
}

// partsOf splits at bars.
func partsOf(text string) (first string, parts []string) {
	all := strings.Split(text, " | ")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all[0], all[1:]
}

// got is what became of a request.
type got struct {
	outcome string
	fields  http.Header
	body    string
	seen    seen
}

// nameOfRequest stands for what a request is called. Server and client have the same.
const nameOfRequest = "$id"

var isNameOfRequest = regexp.MustCompile(`^[0-9A-Za-z]{3}-[0-9A-Za-z]{4}-[0-9A-Za-z]{4}$`)

// compare returns what is not as the table says.
func (e *exchange) compare(g got) string {
	var wrong []string
	differs := func(what, want, got string) {
		if want != got {
			wrong = append(wrong, fmt.Sprintf("%s: want %q, got %q", what, want, got))
		}
	}
	differs("outcome", e.outcome, g.outcome)
	differs("server", e.server, g.seen.Server)
	differs("path and query at the server", e.saw, g.seen.Target)
	differs("host at the server", e.sawHost, g.seen.Host)
	if e.body != nil {
		differs("body", *e.body, g.body)
	}
	named := "" // the first that was seen
	for _, side := range []struct {
		what string
		want map[string]string
		no   []string
		got  http.Header
	}{{"the server saw ", e.sees, e.seesNo, g.seen.Fields}, {"the client got ", e.gets, e.getsNo, g.fields}} {
		for name, want := range side.want {
			if got := side.got.Get(name); want == nameOfRequest && isNameOfRequest.MatchString(got) {
				want = cmp.Or(named, got)
				named = want
			}
			differs(side.what+name, want, strings.Join(side.got.Values(name), ", "))
			if len(side.got.Values(name)) == 0 {
				wrong = append(wrong, side.what+"no "+name)
			}
		}
		for _, name := range side.no {
			if values := side.got.Values(name); len(values) > 0 {
				wrong = append(wrong, fmt.Sprintf("%s%s: %q", side.what, name, values))
			}
		}
	}
	slices.Sort(wrong)
	return strings.Join(wrong, "\n")
}

// Addresses of clients.
var alice, bob, carol = loopback(11), loopback(12), loopback(13)

// caller sends the requests of the table, and knows what the names in it stand for.
type caller struct {
	authority   *issued
	certificate tls.Certificate
	tokens      *tokenIssuer
	names       []string // pairs, as strings.NewReplacer has them
}

func newCaller(t *testing.T, rightPort string) *caller {
	t.Helper()
	authority := issue(t, "authority.test", nil)
	own := issue(t, "alice.test", authority)
	certificate, err := tls.X509KeyPair([]byte(own.certificate), []byte(own.key))
	if err != nil {
		t.Fatal(err)
	}
	parsed := own.parsed
	date := func(at time.Time) string { return at.UTC().Format("Jan _2 15:04:05 2006 GMT") }
	return &caller{authority: authority, certificate: certificate, tokens: newTokenIssuer(t), names: []string{
		"$alice", alice, "$bob", bob, "$carol", carol, "$right_port", rightPort,
		"$fingerprint", fmt.Sprintf("%x", sha1.Sum(parsed.Raw)), "$serial", fmt.Sprintf("%X", parsed.SerialNumber),
		"$not_before", date(parsed.NotBefore), "$not_after", date(parsed.NotAfter),
		"$raw", strings.ReplaceAll(strings.TrimSpace(own.certificate), "\n", " "),
		"$escaped", escapedPEM(own.certificate),
	}}
}

// escapedPEM is a certificate as a component of a URL.
func escapedPEM(certificate string) string {
	return strings.ReplaceAll(url.QueryEscape(certificate), "+", "%20")
}

// fill replaces names in the text of a case.
func (c *caller) fill(of *ruleCase) *strings.Replacer {
	return strings.NewReplacer(append([]string{"$vip", vip, "$port", strconv.Itoa(of.port(false)),
		"$tls_port", strconv.Itoa(of.port(true))}, c.names...)...)
}

// timesAsked is how often a request is sent to see whether its response is stored: each worker stores for itself.
const timesAsked = 20

// judge sends a request, and says what is not as the table says; empty: all is.
func (c *caller) judge(ctx context.Context, to *ruleCase, e *exchange) (problem string) {
	problem = e.compare(c.ask(ctx, to, e))
	if e.storage == "" || problem != "" {
		return problem
	}
	isStored := false
	for range timesAsked {
		isStored = isStored || strings.EqualFold(c.ask(ctx, to, e).fields.Get("X-Cache"), "hit")
	}
	if isStored != (e.storage == "stored") {
		return fmt.Sprintf("want a response that is %s", e.storage)
	}
	return ""
}

// ask sends a request over a connection of its own.
func (c *caller) ask(ctx context.Context, to *ruleCase, e *exchange) got {
	ctx, cancel := context.WithTimeout(ctx, eventTimeout)
	defer cancel()
	if e.claims != "" {
		token, err := c.tokens.token(e.claims)
		if err != nil {
			return got{outcome: err.Error()}
		}
		own := *e
		own.fields = append(slices.Clip(e.fields), [2]string{"Authorization", "Bearer " + token})
		e = &own
	}
	send := c.askInText
	if e.version == "HTTP/2" {
		send = c.askInFrames
	}
	answer, body, err := send(ctx, to, e)
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return got{outcome: "reset"}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return got{outcome: "closed"}
	case err != nil:
		return got{outcome: err.Error()}
	}
	g := got{outcome: strconv.Itoa(answer.StatusCode), fields: answer.Header, body: body}
	if text := answer.Header.Get(seenField); text != "" {
		if err := json.Unmarshal([]byte(text), &g.seen); err != nil {
			return got{outcome: err.Error()}
		}
	}
	return g
}

func (c *caller) dial(ctx context.Context, to *ruleCase, e *exchange) (net.Conn, error) {
	from, err := net.ResolveTCPAddr("tcp", withPort(e.from))
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{LocalAddr: from}
	port := to.port(e.tls)
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(vip, strconv.Itoa(port)))
	if err == nil && from.Port != 0 {
		_ = connection.(*net.TCPConn).SetLinger(0) // the next run needs the port
	}
	if err == nil && e.proxied != "" {
		_, err = fmt.Fprintf(connection, "PROXY TCP4 %s %s 5555 %d\r\n", e.proxied, vip, port)
	}
	if err != nil || !e.tls {
		return connection, err
	}
	config := &tls.Config{InsecureSkipVerify: true, ServerName: e.host, NextProtos: []string{"http/1.1"}}
	if e.version == "HTTP/2" {
		config.NextProtos = []string{"h2"}
	}
	if e.certified {
		config.Certificates = []tls.Certificate{c.certificate}
	}
	secure := tls.Client(connection, config)
	return secure, secure.HandshakeContext(ctx)
}

// withPort gives an address the port 0, unless it has one.
func withPort(address string) string {
	if strings.Contains(address, ":") {
		return address
	}
	return address + ":0"
}

// askInText sends exactly the line and the fields of a request, in HTTP/1.0 or HTTP/1.1.
func (c *caller) askInText(ctx context.Context, to *ruleCase, e *exchange) (*http.Response, string, error) {
	connection, err := c.dial(ctx, to, e)
	if err != nil {
		return nil, "", err
	}
	defer connection.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = connection.SetDeadline(deadline)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s %s %s\r\n", e.method, e.target, e.version)
	if e.host != "" {
		fmt.Fprintf(&text, "Host: %s\r\n", e.host)
	}
	for _, field := range e.fields {
		fmt.Fprintf(&text, "%s: %s\r\n", field[0], field[1])
	}
	text.WriteString("\r\n")
	if _, err := connection.Write(text.Bytes()); err != nil {
		return nil, "", err
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: e.method})
	return whole(answer, err)
}

func (c *caller) askInFrames(ctx context.Context, to *ruleCase, e *exchange) (*http.Response, string, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx, to, e) }
	transport := &http.Transport{DialContext: dial, DialTLSContext: dial, Protocols: &http.Protocols{},
		DisableCompression: true}
	transport.Protocols.SetHTTP2(true)
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	scheme := "http"
	if e.tls {
		scheme = "https"
	}
	request := &http.Request{Method: e.method, Host: e.host, Header: http.Header{},
		URL: &url.URL{Scheme: scheme, Host: e.host, Opaque: e.target}}
	for _, field := range e.fields {
		request.Header.Add(field[0], field[1])
	}
	return whole(transport.RoundTrip(request.WithContext(ctx)))
}

func whole(answer *http.Response, err error) (*http.Response, string, error) {
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer, string(body), err
}
