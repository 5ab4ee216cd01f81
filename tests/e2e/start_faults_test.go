package e2e

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// program runs weir to its end and returns what it wrote to standard error.
func program(t *testing.T, as *syscall.Credential, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, weir(t), args...)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	var said bytes.Buffer
	command.Stderr = &said
	if err := command.Run(); err == nil {
		t.Errorf("weir %v ended as if all were well", args)
	}
	return said.String()
}

// oneLine checks that there is one line that says why; log lines before it are no business of the operator's eyes.
func oneLine(t *testing.T, said string, wanted ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(said), "\n")
	last := lines[len(lines)-1]
	if !strings.HasPrefix(last, "weir: ") {
		t.Errorf("the last line does not say what is wrong:\n%s", said)
	}
	contains(t, last, wanted...)
}

func TestWhatCannotStartSaysWhyInOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	busy, free := taken.Addr().String(), "127.0.0.1:0"
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ args, wanted []string }{
		"API port in use": {
			[]string{"controller", "--data-dir", t.TempDir(), "--listen", busy, "--engine-listen", free},
			[]string{busy, "in use", "--listen"}},
		"engine port in use": {
			[]string{"controller", "--data-dir", t.TempDir(), "--listen", free, "--engine-listen", busy},
			[]string{busy, "in use", "--engine-listen"}},
		"data directory is a file": {
			[]string{"controller", "--data-dir", file, "--listen", free, "--engine-listen", free},
			[]string{file, "directory"}},
		"no token yet": {
			[]string{"agent", "--state-dir", t.TempDir(), "--controller", busy},
			[]string{"--token"}},
		"not a token": {
			[]string{"agent", "--state-dir", t.TempDir(), "--controller", busy, "--token", "secret"},
			[]string{"--token", "weir1."}},
		"no controller named": {
			[]string{"agent", "--state-dir", t.TempDir()},
			[]string{"--controller"}},
	} {
		t.Run(name, func(t *testing.T) { oneLine(t, program(t, nil, c.args...), c.wanted...) })
	}
}

func TestAUsedTokenIsRefusedInOneLine(t *testing.T) {
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.must(s.engine.Stop())
	used := s.engine.Token
	said := program(t, nil, "agent", "--state-dir", t.TempDir(), "--controller", s.controller.EngineAddress, "--token",
		used, "--name", "second")
	oneLine(t, said, "token")
}

func TestNoPermissionIsToldInOneLine(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become somebody who may do nothing")
	}
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	oneLine(t, program(t, nobody, "controller", "--data-dir", data, "--listen", "127.0.0.1:0", "--engine-listen",
		"127.0.0.1:0"), dir, "permi")
	oneLine(t, program(t, nobody, "agent", "--state-dir", data, "--controller", "127.0.0.1:9"), dir, "permi")
}

func TestAFullDiskIsToldInOneLine(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := t.TempDir()
	if err := syscall.Mount("weir", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("cannot mount a small disk here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	said := program(t, nil, "controller", "--data-dir", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0",
		"--engine-listen", "127.0.0.1:0")
	oneLine(t, said, "disk")
}
