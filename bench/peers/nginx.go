package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const nginxAdvice = "run `make bench`, which installs it, or `apt-get install nginx-light libnginx-mod-stream`"

// streamModule is where Debian puts nginx's layer 4.
const streamModule = "/usr/lib/nginx/modules/ngx_stream_module.so"

// brotliModule is the one of Debian; the template loads it.
const brotliModule = "/usr/lib/nginx/modules/ngx_http_brotli_filter_module.so"

func nginx() Peer {
	return Peer{
		Name: "nginx",
		Find: func(context.Context, func(string)) (Program, error) { return FindNginx() },
		Lacks: func(s Setup) string {
			if s.ServerHTTP2 && !s.GRPC {
				return "nginx speaks HTTP/2 to servers for gRPC only"
			}
			if _, err := os.Stat(brotliModule); s.Compression == "br" && err != nil {
				return "nginx has no module for Brotli here: install libnginx-mod-http-brotli-filter"
			}
			return ""
		},
		config: "nginx.conf.tmpl",
		args: func(s Setup, configFile string) []string {
			return []string{"-e", "stderr", "-p", s.Dir, "-c", configFile}
		},
	}
}

// FindNginx returns the program. The bench also runs one behind the proxies.
func FindNginx() (Program, error) {
	path, err := find("nginx", nginxAdvice)
	if err != nil {
		return Program{}, err
	}
	if _, err := os.Stat(streamModule); err != nil {
		return Program{}, fmt.Errorf("nginx has no stream module for layer 4: %s", nginxAdvice)
	}
	out, err := exec.Command(path, "-V").CombinedOutput()
	version, tls := ofNginx(string(out))
	return Program{path, version, tls}, err
}

// ofNginx reads the version and the TLS library out of what nginx -V says.
func ofNginx(said string) (version, tls string) {
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if _, after, found := strings.Cut(line, "nginx/"); found && version == "" {
			version = after
		}
		// The library that nginx was built with comes first. If it runs with another one, that comes after it.
		if after, found := strings.CutPrefix(line, "built with "); found {
			built, running, other := strings.Cut(after, " (running with ")
			if tls = library(built); other {
				tls = library(running)
			}
		}
	}
	return version, tls
}

// library is the name and version of a TLS library, without the date behind them. AWS-LC says "OpenSSL 1.1.1
// (compatible; AWS-LC 1.49.0)" where a program asks for OpenSSL.
func library(said string) string {
	if _, own, found := strings.Cut(said, "(compatible; "); found {
		said, _, _ = strings.Cut(own, ")")
	}
	words := strings.Fields(said)
	return strings.Join(words[:min(2, len(words))], " ")
}
