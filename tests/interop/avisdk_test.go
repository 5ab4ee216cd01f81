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
	"strings"
	"testing"

	"github.com/weir-lb/weir/controller"
)

const (
	avisdk   = "avisdk==32.1.4"
	password = "interop's password"
)

// TestAviSDKWorksUnmodified runs avisdk.py, each step of which is an assertion of its own.
func TestAviSDKWorksUnmodified(t *testing.T) {
	python := withAviSDK(t)
	address := startController(t)
	run := exec.CommandContext(t.Context(), python, "avisdk.py")
	run.Env = append(os.Environ(), "WEIR_HOST="+address.Hostname(), "WEIR_PORT="+address.Port(),
		"WEIR_PASSWORD="+password,
		"PYTHONWARNINGS=ignore", "REQUESTS_CA_BUNDLE=", "CURL_CA_BUNDLE=") // set, they override verify=False
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("avisdk.py: %v\n%s", err, out)
	}
}

// withAviSDK returns a Python that has the SDK: a virtual environment that is made once and kept in the cache.
func withAviSDK(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	env := filepath.Join(cache, "weir", "interop", avisdk)
	python := filepath.Join(env, "bin", "python")
	if exec.CommandContext(t.Context(), python, "-c", "import avi.sdk.avi_api").Run() == nil {
		return python
	}
	if out, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", "--clear",
		env).CombinedOutput(); err != nil {
		t.Fatalf("python3 -m venv: %v (apt-get install python3-venv)\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), python, "-m", "pip", "install", "--quiet", "setuptools",
		avisdk).CombinedOutput()
	switch {
	case err == nil:
		return python
	case unreachable(string(out)):
		t.Skipf("pip cannot reach its registry: %s is not tested", avisdk)
	default:
		t.Fatalf("pip install %s: %v\n%s", avisdk, err, out)
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
