package agent

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-lb/weir/agent/state"
)

// program is something that can be run in place of a data plane, for what fails before one is started.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

func TestSaysInOneLineWhatKeepsItFromBeginning(t *testing.T) {
	inUse := t.TempDir()
	dir, err := state.Open(inUse)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := Config{Controller: "192.0.2.1:9444", StateDir: t.TempDir(), Dataplane: program(t)}
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no controller": {func(c *Config) {
			c.Controller = ""
		}, "say where the controller is with --controller host:port"},
		"a bad token": {func(c *Config) { c.Token = "secret" }, "--token: not a join token"},
		"no token": {func(*Config) {},
			"this engine has not joined 192.0.2.1:9444 yet: give it a join token with --token"},
		"no data plane": {func(c *Config) {
			c.Dataplane = "/nowhere"
		}, "data plane /nowhere: no such file or directory"},
		"state in use": {func(c *Config) {
			c.StateDir = inUse
		}, "state directory " + inUse + ": another weir agent is using it"},
		"state in a file":    {func(c *Config) { c.StateDir = file }, "state directory " + file + ": not a directory"},
		"state far too deep": {func(c *Config) { c.StateDir = "/" + strings.Repeat("d/", 60) }, "--state-dir /d/d/"},
	} {
		t.Run(name, func(t *testing.T) {
			config := good
			config.Log = slog.New(slog.DiscardHandler)
			c.change(&config)
			err := Run(t.Context(), config)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestCorruptStateIsSaidAndThenMadeGood(t *testing.T) {
	dir, err := state.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := os.WriteFile(dir.File("plan"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	plan, err := remembered(dir.Plan, slog.New(slog.NewTextHandler(&log, nil)),
		"the controller will send the Plan again")
	if plan != nil || err != nil {
		t.Errorf("got %v, %v", plan, err)
	}
	if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, "plan is corrupt") ||
		!strings.Contains(line, "send the Plan again") {
		t.Errorf("said %q", line)
	}
}
