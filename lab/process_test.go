package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// asVictim makes this program a lab that is killed: see TestNothingOutlivesALabThatIsKilled.
const asVictim = "WEIR_LAB_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asVictim); dir != "" {
		dieWithALab(dir)
	}
	os.Exit(m.Run())
}

func dieWithALab(dir string) {
	l, err := New(dir, dir)
	if err == nil {
		var p *Process
		if p, err = l.Start("long", "sleep", "1000"); err == nil {
			err = os.WriteFile(filepath.Join(dir, "pid"), fmt.Append(nil, p.PID()), 0o600)
		}
	}
	if err == nil {
		err = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func newLab(t *testing.T) *Lab {
	t.Helper()
	l, err := New(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Stop() }) // where the test has not
	return l
}

func start(t *testing.T, l *Lab, name, program string, args ...string) *Process {
	t.Helper()
	p, err := l.Start(name, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pidIn waits until a process has written a pid into a file of the lab.
func pidIn(t *testing.T, p *Process, file string) (pid int) {
	t.Helper()
	err := p.UntilReady(t.Context(), func(context.Context) error {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		_, err = fmt.Sscanln(string(text), &pid)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func runs(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestStopEndsEveryProcess(t *testing.T) {
	l := newLab(t)
	started := []*Process{start(t, l, "one", "sleep", "1000"), start(t, l, "two", "sleep", "1000")}
	if err := l.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, p := range started {
		if runs(p.PID()) {
			t.Errorf("%s still runs", p.Name)
		}
	}
}

func TestLabThatStopsLeavesAnotherAlone(t *testing.T) {
	one, another := newLab(t), newLab(t)
	process := start(t, another, "process", "sleep", "1000")
	if err := one.Stop(); err != nil {
		t.Fatal(err)
	}
	if !runs(process.PID()) {
		t.Error("what the other lab started has ended")
	}
}

func TestStopKillsAndNamesWhatIsLeftBehind(t *testing.T) {
	l := newLab(t)
	file := filepath.Join(l.dir, "pid")
	parent := start(t, l, "parent", "sh", "-c", "sleep 1000 & echo $! > "+file+"; wait")
	orphan := pidIn(t, parent, file)
	if err := parent.Kill(); err != nil {
		t.Fatal(err)
	}
	err := l.Stop()
	want := fmt.Sprintf("process %d (sleep) was left behind and killed", orphan)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if runs(orphan) {
		t.Errorf("process %d still runs", orphan)
	}
}

func TestNothingOutlivesALabThatIsKilled(t *testing.T) {
	l := newLab(t) // adopts what the victim leaves
	victim := start(t, l, "victim", "env", asVictim+"="+l.dir, os.Args[0])
	<-victim.Ended()
	text, err := os.ReadFile(filepath.Join(l.dir, "pid"))
	if err != nil {
		t.Fatalf("%v: %s", err, victim.LogTail())
	}
	var orphan int
	if _, err := fmt.Sscan(string(text), &orphan); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	switch _, err := syscall.Wait4(orphan, &status, 0, nil); {
	// The victim waited for it, too: where the signal reached the process before all threads of the victim had ended,
	// one of these has taken the status.
	case errors.Is(err, syscall.ECHILD) && !runs(orphan):
	case err != nil || status.Signal() != syscall.SIGTERM:
		t.Errorf("process %d ended with %v, %v; want SIGTERM", orphan, status.Signal(), err)
	}
	if err := l.Stop(); err != nil {
		t.Error(err)
	}
}

func TestShowsTheLogOfAProcessThatEndsInsteadOfGettingReady(t *testing.T) {
	l := newLab(t)
	p := start(t, l, "failing", "sh", "-c", "echo port 80 is taken >&2; exit 3")
	err := p.UntilReady(t.Context(), func(context.Context) error { return errors.New("no answer") })
	if want := "failing ended: exit status 3\nport 80 is taken"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := l.Stop(); err != nil {
		t.Error(err)
	}
}

func TestSaysThatAProgramIsMissing(t *testing.T) {
	l := newLab(t)
	if _, err := l.Start("ghost", "/no/such/program"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := l.Stop(); err != nil {
		t.Error(err)
	}
	if err := CheckPrograms(t.TempDir()); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("got %v", err)
	}
}

func TestFreezesAndThaws(t *testing.T) {
	l := newLab(t)
	p := start(t, l, "long", "sleep", "1000")
	for _, step := range []struct {
		do     func() error
		states string
	}{{p.Freeze, "T"}, {p.Thaw, "SR"}} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		err := p.UntilReady(t.Context(), func(context.Context) error {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
			if err != nil {
				return err
			}
			if state := strings.Fields(string(text))[2]; !strings.Contains(step.states, state) {
				return fmt.Errorf("state %s", state)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if err := l.Stop(); err != nil {
		t.Error(err)
	}
}

func TestCountsTheTimeOfEveryThread(t *testing.T) {
	l := newLab(t)
	busy := start(t, l, "busy", "sh", "-c", "while :; do :; done")
	err := busy.UntilReady(t.Context(), func(context.Context) error {
		spent, err := CPUTime(busy.PID())
		if err == nil && spent == 0 {
			err = errors.New("no time spent yet")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := l.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := CPUTime(busy.PID()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that is gone: got %v", err)
	}
}

func TestALabThatWasStoppedStartsNothing(t *testing.T) {
	l := newLab(t)
	for range 2 {
		if err := l.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Start("late", "true"); !errors.Is(err, errStopped) {
		t.Errorf("got %v", err)
	}
}
