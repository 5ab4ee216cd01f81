package demo

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

// page is what the seed's backend servers hold.
const page = "<head>\ntest\n</head>\n"

const originsCount = 3

// origin is one real nginx.
type origin struct {
	host string
	port int
}

func (o origin) id() string { return fmt.Sprintf("%s:%d", o.host, o.port) }

// nginxConfig keeps connections open: how often a load balancer's pool is used again is the load balancer's business.
// X-Origin tells the load generator which server answered.
const nginxConfig = `%[4]sdaemon off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  server {
    listen %[2]s:%[3]d;
    root %[1]s/html;
    add_header X-Origin %[2]s:%[3]d;
  }
}
`

func startOrigins(ctx context.Context, h *household) ([]origin, error) {
	nginx, err := nginxProgram()
	if err != nil {
		return nil, err
	}
	var origins []origin
	for i := range originsCount {
		o := origin{host: "127.0.0.1"}
		if o.port, err = freePort(o.host, 18081+i); err != nil {
			return nil, err
		}
		if err := o.start(ctx, h, nginx, i+1); err != nil {
			return nil, err
		}
		origins = append(origins, o)
	}
	return origins, nil
}

func (o origin) start(ctx context.Context, h *household, nginx string, number int) error {
	name := fmt.Sprintf("nginx-%d", number)
	dir := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Join(dir, "html"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "html", "index.html"), []byte(page), 0o644); err != nil {
		return err
	}
	config := filepath.Join(dir, "nginx.conf")
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n" // the demo's directory is its owner's alone
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, dir, o.host, o.port, user), 0o644); err != nil {
		return err
	}
	process, err := h.start(name, nginx, "-e", "stderr", "-p", dir, "-c", config)
	if err != nil {
		return err
	}
	return process.untilReady(ctx, func() error {
		answer, err := http.Get("http://" + o.id() + "/index.html")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("answered %s", answer.Status)
		}
		return nil
	})
}

func nginxProgram() (string, error) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", fmt.Errorf("nginx is not installed; run `apt-get install nginx-light`, or `make demo`, which does")
}
