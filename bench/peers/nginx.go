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

func nginx() Peer {
	return Peer{
		Name:   "nginx",
		Find:   func(context.Context, func(string)) (string, string, error) { return FindNginx() },
		config: "nginx.conf.tmpl",
		args: func(s Setup, configFile string) []string {
			return []string{"-e", "stderr", "-p", s.Dir, "-c", configFile}
		},
	}
}

// FindNginx returns the program and its version. The bench also runs one behind the proxies.
func FindNginx() (program, version string, err error) {
	if program, err = find("nginx", nginxAdvice); err != nil {
		return "", "", err
	}
	if _, err := os.Stat(streamModule); err != nil {
		return "", "", fmt.Errorf("nginx has no stream module for layer 4: %s", nginxAdvice)
	}
	out, err := exec.Command(program, "-v").CombinedOutput()
	_, version, _ = strings.Cut(strings.TrimSpace(string(out)), "nginx/")
	return program, version, err
}
