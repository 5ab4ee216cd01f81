package dataplane

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSaysHowAProcessEndedWithItsLastWords(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	for script, want := range map[string]string{
		"echo before >&2; echo 'cannot allocate' >&2; exit 3": "exit status 3: cannot allocate",
		"exit 4":                 "exit status 4",
		"exit 0":                 "it ended with exit status 0",
		"echo fine; kill -9 $$":  "signal: killed",
		"echo fine; kill -11 $$": "signal: segmentation fault: fine",
	} {
		p, err := start("/bin/sh", []string{"-c", script}, log)
		if err != nil {
			t.Fatal(err)
		}
		if <-p.exited; p.ending != want {
			t.Errorf("%s: got %q, want %q", script, p.ending, want)
		}
	}
}

func TestProcessHasASessionOfItsOwn(t *testing.T) {
	p, err := start("/bin/sh", []string{"-c", "read forever </dev/null; exec sleep 1000"},
		filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	if session, err := unix.Getsid(p.pid); err != nil || session != p.pid {
		t.Errorf("process %d is in session %d, %v", p.pid, session, err)
	}
}

func TestNoticesTheEndOfAProcessThatAnotherStarted(t *testing.T) {
	command := exec.Command("sleep", "1000")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := adopt(command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if p.hasEnded() {
		t.Error("it has ended already")
	}
	reaped := make(chan error, 1)
	go func() { reaped <- command.Wait() }()
	if err := p.kill(); err != nil {
		t.Error(err)
	}
	if err := <-reaped; err == nil || err.Error() != "signal: killed" {
		t.Errorf("it ended with %v", err)
	}
}

func TestMovesALongLogAway(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, make([]byte, logBytesMax+1), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := start("/bin/sh", []string{"-c", "echo new"}, log)
	if err != nil {
		t.Fatal(err)
	}
	<-p.exited
	if text, err := os.ReadFile(log); err != nil || string(text) != "new\n" {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestSaysWhichDataPlaneCannotBeRun(t *testing.T) {
	if _, err := Find("/nowhere/weir-dataplane"); err == nil ||
		!strings.HasPrefix(err.Error(), "data plane /nowhere/weir-dataplane: ") {
		t.Errorf("got %v", err)
	}
}
