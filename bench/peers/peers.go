// Package peers starts the proxies that Weir is measured against, each with the best honest configuration that we know:
// the templates beside this file say what is set and why. They are configured before they start and know nothing of
// Weir.
package peers

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/lab"
)

// Setup is what a proxy has to serve, where, and on which cores.
type Setup struct {
	Dir         string // of its own, for its files
	Host        string
	Port        int
	Servers     []string // host:port
	Cores       []int
	Descriptors int // that it may have open; 0: as many as this process

	Layer          int    // 4 or 7
	TLS            string // "1.2", "1.3" or none
	Cipher         string // of TLS 1.2
	ServerTLS      bool
	CertificateKey string // PEM file, certificate and key
	Bulk           bool   // large objects: buffers decide
	// What clients speak; none of them: HTTP/1.1, or what layer 4 passes on.
	HTTP2     bool // for themselves, or for gRPC
	GRPC      bool
	WebSocket bool
	UDP       bool

	ServerHTTP2   bool // HTTP/2 to the servers
	FreshSessions bool // of UDP: one datagram each

	Cache       bool   // answers with stored responses
	Compression string // of answers: "gzip", "br" or none

	// Rules send requests to the servers, each those of a host and a path; what none matches goes nowhere. None: all
	// go.
	Rules []Rule
}

// Rule is for requests whose host is this one, and whose path begins like this.
type Rule struct{ Host, Path string }

// MakeRules makes so many; the last is for requests of this path.
func MakeRules(count int, path string) (rules []Rule) {
	for n := range count {
		rules = append(rules, Rule{Host: hostOf(n), Path: fmt.Sprintf("/app/%d/", n)})
	}
	if count > 0 {
		rules[count-1].Path = path
	}
	return rules
}

// LastHost is the one of the last of so many rules.
func LastHost(count int) string { return hostOf(count - 1) }

func hostOf(n int) string { return fmt.Sprintf("app%d.example.com", n) }

// Address is where it listens.
func (s Setup) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// Workers is one for each core.
func (s Setup) Workers() int { return len(s.Cores) }

// ClientsFirst tells whether clients send the first bytes: a request, or a TLS ClientHello. At layer 4 without TLS the
// server may, as in SMTP.
func (s Setup) ClientsFirst() bool { return s.Layer == 7 || s.TLS != "" }

// Root tells whether this process runs as root, whose files nobody else can read.
func (s Setup) Root() bool { return os.Getuid() == 0 }

// Peer is a kind of proxy.
type Peer struct {
	Name string
	// Find returns the program, or what to do to get it. It may fetch it and then tells so.
	Find func(ctx context.Context, tell func(string)) (Program, error)
	// Lacks says what of a setup the peer cannot do; empty: it can do all of it. Nil: it always can.
	Lacks  func(Setup) string
	config string // name of the template
	beside string // name of the template of another file, if it needs one
	args   func(s Setup, configFile string) []string
}

// Program is a proxy that is installed.
type Program struct {
	Path    string
	Version string
	TLS     string // library that it runs on, with the version where the program tells it
}

// All are the peers that the bench can start by itself.
func All() []Peer { return []Peer{nginx(), haproxy(), envoy()} }

// Names lists them for people.
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

//go:embed *.tmpl
var configs embed.FS

// Template is the name of the file that its configuration is made from.
func (p Peer) Template() string { return p.config }

// Start writes the configuration, runs the program, and waits until it accepts connections.
func (p Peer) Start(ctx context.Context, l *lab.Lab, program string, s Setup) (*lab.Process, error) {
	text, err := s.render(p.config)
	if err != nil {
		return nil, err
	}
	if p.beside != "" {
		other, err := s.render(p.beside)
		if err == nil {
			err = os.WriteFile(filepath.Join(s.Dir, strings.TrimSuffix(p.beside, ".tmpl")), other, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	return p.Run(ctx, l, program, s, text)
}

// Run runs the program with this configuration, and waits until it accepts connections.
func (p Peer) Run(ctx context.Context, l *lab.Lab, program string, s Setup, configuration []byte) (
	*lab.Process, error) {
	file := filepath.Join(s.Dir, strings.TrimSuffix(p.config, ".tmpl"))
	if err := os.WriteFile(file, configuration, 0o600); err != nil {
		return nil, err
	}
	pinned, args := meter.Pinned(s.Cores, program, p.args(s, file)...)
	if s.Descriptors > 0 {
		pinned, args = meter.Limited(s.Descriptors, pinned, args...)
	}
	process, err := l.Start(p.Name, pinned, args...)
	if err != nil {
		return nil, err
	}
	return process, process.UntilReady(ctx, s.serves)
}

func (s Setup) render(name string) ([]byte, error) {
	parsed, err := template.ParseFS(configs, name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = parsed.Execute(&text, s)
	return text.Bytes(), err
}

// serves tells whether the proxy is ready: it accepts a connection, or a datagram comes back through it.
func (s Setup) serves(ctx context.Context) error {
	if !s.UDP {
		return Accepts(ctx, s.Address())
	}
	return Echoes(ctx, s.Address())
}

// Echoes tells whether a datagram comes back from there.
func Echoes(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "udp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("are you there")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 64))
	return err
}

// Accepts tells whether connections are accepted there.
func Accepts(ctx context.Context, address string) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// find looks for a program in PATH, and in the directories of system programs.
func find(name, advice string) (string, error) {
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin") {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: %s", name, advice)
}

// ServerAddress is a server in two parts, as Envoy wants them.
type ServerAddress struct {
	Host string
	Port string
}

// ServerAddresses are the servers in parts.
func (s Setup) ServerAddresses() []ServerAddress {
	var all []ServerAddress
	for _, server := range s.Servers {
		host, port, _ := net.SplitHostPort(server)
		all = append(all, ServerAddress{host, port})
	}
	return all
}
