package lab

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

// ReportPage is the page that the backend servers of the 1M-TPS report hold (its "Nginx files for the backend server").
const ReportPage = "<head>\ntest\n</head>\n"

// Fields of a response by which a load generator counts: the server, and the engine that asked it.
const (
	Origin  = "X-Origin"
	AskedBy = "X-Asked-By"
)

// Nginx is one real nginx that serves files.
type Nginx struct {
	*Process
	Host string
	Port int
	at   *Host
	root string
	// directives for TLS in the server block; empty: plain HTTP
	secure string
	late   string // directives that make it late, see BeLate
}

// ID is how a load balancer names the server: "127.0.0.1:18081".
func (n *Nginx) ID() string { return fmt.Sprintf("%s:%d", n.Host, n.Port) }

// nginxConfig keeps connections open, so that the load balancer decides how often it reuses one.
const nginxConfig = `%[4]sdaemon off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_max_body_size 0;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  server {
    listen %[2]s:%[3]d%[5]s;
    root %[1]s/html;
    add_header ` + Origin + ` %[2]s:%[3]d;
    add_header ` + AskedBy + ` $remote_addr;
  %[6]s}
}
`

// Nginx starts a server on wantedPort, or on another free port, with files (name → text) to serve.
func (h *Host) Nginx(ctx context.Context, name string, wantedPort int, files map[string]string) (*Nginx, error) {
	return h.startNginx(ctx, name, wantedPort, "", files)
}

// SecureNginx starts a server with TLS. The directives, with its certificate, go into its server block.
func (h *Host) SecureNginx(ctx context.Context, name, directives string, files map[string]string) (*Nginx, error) {
	return h.startNginx(ctx, name, 0, directives, files)
}

func (h *Host) startNginx(ctx context.Context, name string, wantedPort int, secure string,
	files map[string]string) (*Nginx, error) {
	program, err := nginxProgram()
	if err != nil {
		return nil, err
	}
	n := &Nginx{Host: h.Address, at: h, root: filepath.Join(h.lab.dir, name), secure: secure}
	if n.Port, err = h.port(wantedPort); err != nil {
		return nil, err
	}
	config, err := n.furnish(files)
	if err != nil {
		return nil, err
	}
	n.Process, err = h.Start(name, program, "-e", "stderr", "-p", n.root, "-c", config)
	if err != nil {
		return nil, err
	}
	return n, n.UntilReady(ctx, n.answers)
}

// furnish writes the configuration and the files.
func (n *Nginx) furnish(files map[string]string) (config string, err error) {
	html := filepath.Join(n.root, "html")
	if err := os.MkdirAll(html, 0o755); err != nil {
		return "", err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(html, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return n.configure()
}

func (n *Nginx) configure() (config string, err error) {
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n" // the lab's directory is its owner's alone
	}
	ssl := ""
	if n.secure != "" {
		ssl = " ssl"
	}
	config = filepath.Join(n.root, "nginx.conf")
	return config, os.WriteFile(config, fmt.Appendf(nil, nginxConfig, n.root, n.Host, n.Port, user, ssl,
		n.secure+n.late),
		0o644)
}

// answers with a page, be it one about plain HTTP on a port that speaks TLS.
func (n *Nginx) answers(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.ID()+"/", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DialContext: n.at.Dial, DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func nginxProgram() (string, error) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("nginx is not installed: run `apt-get install nginx-light`, or `make demo`, which does")
}
