package peers

import (
	"context"
	"os/exec"
	"strings"
)

func haproxy() Peer {
	return Peer{
		Name: "haproxy",
		Find: func(context.Context, func(string)) (string, string, error) {
			program, err := find("haproxy", "run `make bench`, which installs it, or `apt-get install haproxy`")
			if err != nil {
				return "", "", err
			}
			out, err := exec.Command(program, "-v").Output()
			words := strings.Fields(string(out))
			version := "unknown"
			if len(words) > 2 {
				version = words[2]
			}
			return program, version, err
		},
		config: "haproxy.cfg.tmpl",
		args:   func(_ Setup, configFile string) []string { return []string{"-db", "-f", configFile} },
	}
}
