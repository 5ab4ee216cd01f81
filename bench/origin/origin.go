// Package origin runs the servers that stand behind every proxy that is measured: one nginx that listens on several
// ports and serves one file, or one weir-origin where the servers speak HTTP/2, gRPC, WebSocket or UDP, or shall not
// answer. Debian's nginx speaks HTTP/1.1 and HTTP/2 on different ports only, and would cost more than some proxies do.
package origin

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"text/template"

	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/ports"
)

// Object is the file that every request asks for.
const Object = "object"

// Setup is what the servers have to do.
type Setup struct {
	Dir         string // of its own, for its files; its process has the name of it
	Servers     int
	Host        string
	ObjectBytes int
	Segments    int    // 2: head and body are sent apart
	Bulk        bool   // large objects
	Text        bool   // the object is text, and says so
	Fresh       bool   // the object may be stored for an hour
	SendBuffer  string // of each connection, in nginx's words; empty: as large as the kernel likes
	Certificate string // PEM file, certificate and key; empty: plain HTTP
	Own         string // weir-origin, which serves in place of nginx; empty: nginx
	Datagrams   bool   // weir-origin sends datagrams back
}

// nginx is what the configuration is made of.
type nginx struct {
	Setup
	Ports []int
	Root  bool
}

//go:embed origin.conf.tmpl
var config string

// Start runs the servers and returns their addresses.
func Start(ctx context.Context, l *lab.Lab, s Setup) ([]string, error) {
	n := nginx{Setup: s, Root: os.Getuid() == 0}
	var servers []string
	for range s.Servers {
		port, err := s.freePort()
		if err != nil {
			return nil, err
		}
		n.Ports = append(n.Ports, port)
		servers = append(servers, fmt.Sprintf("127.0.0.1:%d", port))
	}
	if s.Own != "" {
		return servers, s.startOwn(ctx, l, servers)
	}
	file, err := n.furnish()
	if err != nil {
		return nil, err
	}
	program, err := peers.FindNginx()
	if err != nil {
		return nil, err
	}
	process, err := l.Start(filepath.Base(s.Dir), program.Path, "-e", "stderr", "-p", s.Dir, "-c", file)
	if err != nil {
		return nil, err
	}
	return servers, process.UntilReady(ctx, func(ctx context.Context) error { return peers.Accepts(ctx, servers[0]) })
}

// startOwn runs weir-origin.
func (s Setup) startOwn(ctx context.Context, l *lab.Lab, servers []string) error {
	flags := []string{"--object-bytes", strconv.Itoa(s.ObjectBytes)}
	for _, server := range servers {
		flags = append(flags, s.listenFlag(), server)
	}
	process, err := l.Start(filepath.Base(s.Dir), s.Own, flags...)
	if err != nil {
		return err
	}
	return process.UntilReady(ctx, func(ctx context.Context) error {
		if s.Datagrams {
			return peers.Echoes(ctx, servers[len(servers)-1])
		}
		return peers.Accepts(ctx, servers[len(servers)-1])
	})
}

func (s Setup) listenFlag() string {
	if s.Datagrams {
		return "--datagrams"
	}
	return "--listen"
}

func (s Setup) freePort() (int, error) {
	if s.Datagrams {
		return ports.FreeDatagram("127.0.0.1")
	}
	return ports.Free("127.0.0.1", 0)
}

// furnish writes the configuration and the object.
func (n nginx) furnish() (file string, err error) {
	html := filepath.Join(n.Dir, "html")
	if err := os.MkdirAll(html, 0o755); err != nil {
		return "", err
	}
	object := bytes.Repeat([]byte("x"), n.ObjectBytes)
	if n.Text {
		object = text(n.ObjectBytes)
	}
	if err := os.WriteFile(filepath.Join(html, Object), object, 0o644); err != nil {
		return "", err
	}
	parsed, err := template.New("origin").Parse(config)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, n); err != nil {
		return "", err
	}
	file = filepath.Join(n.Dir, "nginx.conf")
	return file, os.WriteFile(file, text.Bytes(), 0o600)
}
