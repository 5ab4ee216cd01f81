package peers

import (
	"context"
	"os/exec"
	"strings"
)

func haproxy() Peer {
	return Peer{
		Name: "haproxy",
		Find: func(context.Context, func(string)) (Program, error) {
			path, err := find("haproxy", "run `make bench`, which installs it, or `apt-get install haproxy`")
			if err != nil {
				return Program{}, err
			}
			out, err := exec.Command(path, "-vv").Output()
			version, tls := ofHAProxy(string(out))
			return Program{path, version, tls}, err
		},
		Lacks: func(s Setup) string {
			if s.UDP {
				return "HAProxy passes no datagrams on"
			}
			switch s.Compression {
			case "br":
				return "HAProxy has no Brotli"
			case "gzip":
				return "HAProxy compresses by libslz, whose answers are a third longer"
			}
			return ""
		},
		config: "haproxy.cfg.tmpl",
		beside: "haproxy.map.tmpl",
		args:   func(_ Setup, configFile string) []string { return []string{"-db", "-f", configFile} },
	}
}

// ofHAProxy reads the version and the TLS library out of what haproxy -vv says.
func ofHAProxy(said string) (version, tls string) {
	version = "unknown"
	if words := strings.Fields(said); len(words) > 2 {
		version = words[2]
	}
	for line := range strings.Lines(said) {
		if _, after, found := strings.Cut(line, "Running on OpenSSL version :"); found {
			tls = library(after)
		}
	}
	return version, tls
}
