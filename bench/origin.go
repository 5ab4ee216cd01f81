package bench

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"text/template"

	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/bench/workloads"
	"github.com/weir-lb/weir/lab"
)

// originServers are as many as the seeds' smallest test has.
const originServers = 2

// objectName is the file that every request asks for.
const objectName = "object"

//go:embed origin.conf.tmpl
var originConfig string

// origin is the nginx behind all proxies of a row.
type origin struct {
	Dir         string
	Ports       []int
	Segments    int
	Bulk, Root  bool
	Host        string
	Certificate string
}

// startOrigin runs the servers of a workload and returns their addresses.
func startOrigin(ctx context.Context, l *lab.Lab, dir string, w workloads.Workload, c certificate) ([]string, error) {
	o := origin{Dir: filepath.Join(dir, "origin"), Segments: w.Origin.Segments, Bulk: w.Bulk(), Root: os.Getuid() == 0, Host: "127.0.0.1"}
	if w.Growth.Of == workloads.GrowServers {
		o.Host = "0.0.0.0" // it is many servers: one on each address
	}
	if w.Service.ServerTLS {
		o.Certificate = c.file
	}
	var servers []string
	for range originServers {
		port, err := lab.FreePort("127.0.0.1", 0)
		if err != nil {
			return nil, err
		}
		o.Ports = append(o.Ports, port)
		servers = append(servers, fmt.Sprintf("127.0.0.1:%d", port))
	}
	config, err := o.furnish(w.Load.ObjectBytes)
	if err != nil {
		return nil, err
	}
	program, _, err := peers.FindNginx()
	if err != nil {
		return nil, err
	}
	process, err := l.Start("origin", program, "-e", "stderr", "-p", o.Dir, "-c", config)
	if err != nil {
		return nil, err
	}
	return servers, process.UntilReady(ctx, func(ctx context.Context) error { return accepts(ctx, servers[0]) })
}

// furnish writes the configuration and the object.
func (o origin) furnish(objectBytes int) (config string, err error) {
	html := filepath.Join(o.Dir, "html")
	if err := os.MkdirAll(html, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(html, objectName), bytes.Repeat([]byte("x"), objectBytes), 0o644); err != nil {
		return "", err
	}
	parsed, err := template.New("origin").Parse(originConfig)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, o); err != nil {
		return "", err
	}
	config = filepath.Join(o.Dir, "nginx.conf")
	return config, os.WriteFile(config, text.Bytes(), 0o600)
}

func accepts(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
