package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller"
)

const (
	avisdk   = "avisdk==32.1.4"
	datadog  = "datadog-checks-base[deps]==37.33.3"
	password = "interop's password"
)

// TestAviSDKWorksUnmodified runs avisdk.py, each step of which is an assertion of its own.
func TestAviSDKWorksUnmodified(t *testing.T) {
	python := withAviSDK(t)
	address := startController(t)
	runPython(t, python, "avisdk.py", address, password)
}

// runPython runs a script, each step of which is an assertion of its own.
func runPython(t *testing.T, python, script string, address *url.URL, password string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), python, script)
	run.Env = append(os.Environ(), "WEIR_HOST="+address.Hostname(), "WEIR_PORT="+address.Port(),
		"WEIR_PASSWORD="+password, "WEIR_REQUESTS="+strconv.Itoa(measuredRequests),
		"PYTHONWARNINGS=ignore", "REQUESTS_CA_BUNDLE=", "CURL_CA_BUNDLE=") // set, they override verify=False
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// withAviSDK returns a Python that has the SDK.
func withAviSDK(t *testing.T) string {
	t.Helper()
	return withPackages(t, "import avi.sdk.avi_api", avisdk, "setuptools")
}

// withDatadog returns a Python that has the base of Datadog's checks. Their check for Avi is in no registry.
func withDatadog(t *testing.T) string {
	t.Helper()
	return withPackages(t, "import datadog_checks.base, requests", datadog)
}

// withPackages returns a Python that has a package, and others that it needs: a virtual environment that is made once
// and kept in the cache. try is a script that works if they are there.
func withPackages(t *testing.T, try, name string, others ...string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	env := filepath.Join(cache, "weir", "interop", name)
	python := filepath.Join(env, "bin", "python")
	if exec.CommandContext(t.Context(), python, "-c", try).Run() == nil {
		return python
	}
	if out, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", "--clear",
		env).CombinedOutput(); err != nil {
		t.Fatalf("python3 -m venv: %v (apt-get install python3-venv)\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), python, append([]string{"-m", "pip", "install", "--quiet", name},
		others...)...).CombinedOutput()
	switch {
	case err == nil:
		return python
	case unreachable(string(out)):
		t.Skipf("pip cannot reach its registry: %s is not tested", name)
	default:
		t.Fatalf("pip install %s: %v\n%s", name, err, out)
	}
	return ""
}

// unreachable tells a network that is not there from a package that does not install.
func unreachable(said string) bool {
	for _, sign := range []string{"NewConnectionError", "ConnectTimeoutError", "Name or service not known",
		"Temporary failure in name resolution", "Network is unreachable", "ProxyError", "ReadTimeoutError"} {
		if strings.Contains(said, sign) {
			return true
		}
	}
	return false
}

// startController runs a controller until the test ends and returns where its REST API is.
func startController(t *testing.T) *url.URL {
	t.Helper()
	dir := t.TempDir()
	passwordFile := filepath.Join(dir, "password")
	if err := os.WriteFile(passwordFile, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	announced, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := controller.Run(ctx, controller.Config{Version: "interop", DataDir: dir, Listen: "127.0.0.1:0",
			EngineListen: "127.0.0.1:0", AdminPasswordFile: passwordFile, Out: out, Log: slog.New(slog.DiscardHandler)})
		out.CloseWithError(errors.Join(err, io.EOF))
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the controller ended with %v", err)
		}
	})
	address, err := restAddress(announced)
	if err != nil {
		t.Fatalf("the controller did not start: %v", err)
	}
	go io.Copy(io.Discard, announced)
	return address
}

func restAddress(announced io.Reader) (*url.URL, error) {
	lines := bufio.NewScanner(announced)
	for lines.Scan() {
		for _, word := range strings.Fields(lines.Text()) {
			if strings.HasPrefix(word, "https://") {
				return url.Parse(word)
			}
		}
	}
	return nil, fmt.Errorf("no REST address was announced: %w", lines.Err())
}
