// Package outward sends what the controller knows to systems beside it: events, audit entries and records of requests
// as syslog, as JSON lines, or as OTLP logs and spans. config.go reads the file that says where to; stream.go holds
// what waits, and counts what found no room. A receiver that is slow or away delays nobody.
package outward

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// Config is the file.
type Config struct {
	RemoteWrite *RemoteWrite `toml:"remote_write"`
	Streams     []Target     `toml:"stream"`
}

// Access is how a receiver is reached.
type Access struct {
	URL     string            `toml:"url"`
	Headers map[string]string `toml:"headers"` // HTTP only
	// BearerFile has a token for HTTP, and is read again for each request.
	BearerFile string `toml:"bearer_token_file"`
	// certificates that may have signed that of the receiver; empty: those of the system
	CAFile     string `toml:"ca_file"`
	CertFile   string `toml:"cert_file"` // the certificate of this controller, with
	KeyFile    string `toml:"key_file"`
	ServerName string `toml:"server_name"` // in the certificate of the receiver; empty: the host of the URL
	// PlainSecrets lets headers and the token go over HTTP without TLS.
	PlainSecrets bool `toml:"allow_plain_secrets"`
}

// RemoteWrite is where numbers go.
type RemoteWrite struct {
	Access
	Version string `toml:"version"` // "1.0" or "2.0"; empty: 2.0, and 1.0 if the receiver does not know it
}

// Target is where rows go.
type Target struct {
	Access
	Name string   `toml:"name"` // in events
	Rows []string `toml:"rows"` // types of rows: see rowTypes, or spans; empty: events and audit

	at   *url.URL
	form *Form // how records are written; nil: as docs/outward.md says
}

// rowTypes are the types of rows of the record store.
var rowTypes = []string{query.Events, query.Audit, query.Requests, query.Connections}

// spans are what records of requests become that belong to a sampled trace.
const spans = "spans"

func (t *Target) sendsSpans() bool { return t.Rows[0] == spans }

// wants tells whether a row goes there.
func (t *Target) wants(row wire.Row) bool {
	if t.sendsSpans() {
		return hasSpan(row)
	}
	return slices.Contains(t.Rows, row.Type)
}

// streamsMost bounds the memory of all streams.
const streamsMost = 16

// Schemes of streams.
const (
	syslogUDP, syslogTCP, syslogTLS = "syslog+udp", "syslog+tcp", "syslog+tls"
	jsonTCP, jsonTLS                = "json+tcp", "json+tls"
	otlpHTTP, otlpHTTPS             = "otlp+http", "otlp+https"
)

var streamSchemes = []string{syslogUDP, syslogTCP, syslogTLS, jsonTCP, jsonTLS, otlpHTTP, otlpHTTPS}

// Load reads a file. An unknown key is an error.
func Load(path string) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Config{}, err
	}
	c, err := parse(string(text))
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func parse(text string) (c Config, err error) {
	read, err := toml.Decode(text, &c)
	if err != nil {
		return c, err
	}
	if unknown := read.Undecoded(); len(unknown) > 0 {
		return c, fmt.Errorf("%s: is unknown", unknown[0])
	}
	if c.RemoteWrite != nil {
		if err := c.RemoteWrite.check(); err != nil {
			return c, fmt.Errorf("remote_write: %w", err)
		}
	}
	if len(c.Streams) > streamsMost {
		return c, fmt.Errorf("stream: there are %d, more than %d", len(c.Streams), streamsMost)
	}
	names := map[string]bool{}
	for i := range c.Streams {
		if err := c.Streams[i].check(); err != nil {
			return c, fmt.Errorf("stream %d: %w", i+1, err)
		}
		if names[c.Streams[i].Name] {
			return c, fmt.Errorf("stream %d: name: %q is taken", i+1, c.Streams[i].Name)
		}
		names[c.Streams[i].Name] = true
	}
	return c, nil
}

func (r *RemoteWrite) check() error {
	if r.Version != "" && r.Version != "1.0" && r.Version != "2.0" {
		return fmt.Errorf(`version: give "1.0" or "2.0", not %q`, r.Version)
	}
	_, err := r.parse("http", "https")
	return err
}

// At is the URL, which has been checked.
func (r *RemoteWrite) At() *url.URL {
	at, _ := url.Parse(r.URL)
	return at
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

func (t *Target) check() (err error) {
	if !nameForm.MatchString(t.Name) {
		return fmt.Errorf("name: %q is not 1 to 32 small letters, digits and -", t.Name)
	}
	if len(t.Rows) == 0 {
		t.Rows = []string{query.Events, query.Audit}
	}
	sendsSpans := slices.Contains(t.Rows, spans)
	for _, kind := range t.Rows {
		if kind != spans && !slices.Contains(rowTypes, kind) {
			return fmt.Errorf("rows: %q is none of %s, %s", kind, strings.Join(rowTypes, ", "), spans)
		}
	}
	if t.at, err = t.parse(streamSchemes...); err != nil || !sendsSpans {
		return err
	}
	if len(t.Rows) > 1 {
		return errors.New("rows: spans need a stream of their own, because collectors take them elsewhere than logs")
	}
	if t.at.Scheme != otlpHTTP && t.at.Scheme != otlpHTTPS {
		return fmt.Errorf("rows: spans go to %s or %s", otlpHTTP, otlpHTTPS)
	}
	return nil
}

// parse checks what all receivers have in common.
func (a *Access) parse(schemes ...string) (*url.URL, error) {
	at, err := url.Parse(a.URL)
	if err != nil {
		return nil, errors.New("url: it is no URL") // the error would repeat a password
	}
	isHTTP := strings.HasSuffix(at.Scheme, "http") || strings.HasSuffix(at.Scheme, "https")
	isSecure := strings.HasSuffix(at.Scheme, "https") || strings.HasSuffix(at.Scheme, "+tls")
	hasSecrets := len(a.Headers) > 0 || a.BearerFile != "" || at.User != nil
	switch {
	case !slices.Contains(schemes, at.Scheme):
		return nil, fmt.Errorf("url: the scheme is %q; give %s", at.Scheme, strings.Join(schemes, ", "))
	case at.Hostname() == "":
		return nil, errors.New("url: it has no host")
	case at.Port() == "" && !isHTTP:
		return nil, errors.New("url: give a port")
	case !isHTTP && (at.User != nil || at.RawQuery != "" || strings.Trim(at.Path, "/") != ""):
		return nil, errors.New("url: give only a host and a port")
	case !isHTTP && (len(a.Headers) > 0 || a.BearerFile != ""):
		return nil, errors.New("headers, bearer_token_file: only HTTP has them")
	case !isSecure && (a.CAFile != "" || a.CertFile != "" || a.ServerName != ""):
		return nil, errors.New("ca_file, cert_file, server_name: the URL has no TLS")
	case (a.CertFile == "") != (a.KeyFile == ""):
		return nil, errors.New("cert_file, key_file: give both or none")
	case !isSecure && hasSecrets && !a.PlainSecrets:
		return nil, errors.New(
			"headers, bearer_token_file: everybody on the way could read them; use TLS, or set allow_plain_secrets")
	case at.User != nil && a.BearerFile != "":
		return nil, errors.New("bearer_token_file: the URL has a user already")
	}
	return at, a.checkHeaders()
}

// checkHeaders refuses fields that the protocols set themselves.
func (a *Access) checkHeaders() error {
	for name, value := range a.Headers {
		switch strings.ToLower(name) {
		case "content-type", "content-encoding", "content-length", "host", "transfer-encoding",
			"x-prometheus-remote-write-version":
			return fmt.Errorf("headers: %s is set by the protocol", name)
		}
		if strings.ContainsAny(name+value, "\r\n\x00") {
			return fmt.Errorf("headers: %q has a line break", name)
		}
	}
	return nil
}
