package meter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestReadsCPUTimeOfAProcessAndItsChildren(t *testing.T) {
	// The shell burns nothing itself: what it has used is its child's.
	command := exec.Command("sh", "-c", "sh -c 'while :; do :; done'; :")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, pid := range Group(command.Process.Pid) {
			if process, err := os.FindProcess(pid); err == nil {
				_ = process.Kill()
			}
		}
		_ = command.Wait()
	}()
	deadline := time.Now().Add(2 * time.Minute)
	var first Usage
	for {
		usage, err := Read(command.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if first.Run == 0 {
			first = usage
		}
		used := usage.Since(first)
		user, system := used.Split()
		if used.Run > 300*time.Millisecond {
			if user+system != used.Run || user < system || usage.RSSBytes == 0 {
				t.Errorf("a loop in a shell used %v user, %v system, %d bytes", user, system, usage.RSSBytes)
			}
			if group := Group(command.Process.Pid); len(group) != 2 {
				t.Errorf("the group is %v; want the shell and its child", group)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %v of CPU time seen", used.Run)
		}
	}
}

func TestKnowsHowLongAProcessWaitedForItsCore(t *testing.T) {
	cores, err := Cores()
	if err != nil {
		t.Fatal(err)
	}
	// Two loops on one core: each waits for the other.
	program, args := Pinned(cores[:1], "sh", "-c", "sh -c 'while :; do :; done' & sh -c 'while :; do :; done'; :")
	command := exec.Command(program, args...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, pid := range Group(command.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		_ = command.Wait()
	}()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		usage, err := Read(command.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if usage.Waited > 200*time.Millisecond {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %v of waiting seen", usage.Waited)
		}
	}
}

func TestWhatAProcessHasStartedIsPreferredAndNotItself(t *testing.T) {
	command := exec.Command("sleep", "60")
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	own := sessionOf(t, os.Getpid())
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}()
	if err := Prefer(os.Getpid()); errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if nice := niceOf(t, command.Process.Pid); nice != most {
		t.Errorf("what it has started has nice %d", nice)
	}
	if nice := niceOf(t, os.Getpid()); nice == most {
		t.Errorf("itself has nice %d", nice)
	}
	if now := sessionOf(t, os.Getpid()); now != own {
		t.Errorf("its own session was %q, and is %q", own, now)
	}
}

// sessionOf is the priority of a process's session; empty where the kernel tells none apart.
func sessionOf(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

func niceOf(t *testing.T, pid int) int {
	t.Helper()
	priority, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		t.Fatal(err)
	}
	return 20 - priority // as the kernel gives it, so that it is never negative
}

func TestSaysThatAProcessIsGone(t *testing.T) {
	command := exec.Command("true")
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(command.Process.Pid); err == nil {
		t.Error("the CPU time of a process that ended was read")
	}
}

func TestSplitWithoutATickIsTheKernels(t *testing.T) {
	user, system := Usage{Run: time.Millisecond}.Split()
	if user != 0 || system != time.Millisecond {
		t.Errorf("%v user, %v system", user, system)
	}
	user, system = Usage{Run: 400, User: 30, System: 10}.Split()
	if user != 300 || system != 100 {
		t.Errorf("%v user, %v system", user, system)
	}
}

func TestPinnedProcessMayUseOnlyItsCore(t *testing.T) {
	cores, err := Cores()
	if err != nil {
		t.Fatal(err)
	}
	last := cores[len(cores)-1:]
	program, args := Pinned(last, "sh", "-c", "taskset -cp $$")
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(out), " "+List(last)+"\n") {
		t.Errorf("taskset says %q, want cores %s", out, List(last))
	}
}

func TestPrivateMemoryGrowsByWhatIsWritten(t *testing.T) {
	before, err := Private(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	// Not from Go's heap, of which a race detector keeps books of several times its size.
	written, err := syscall.Mmap(-1, 0, 64<<20, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(written) }()
	for i := range written {
		written[i] = 1
	}
	after, err := Private(os.Getpid())
	if grown := after - before; err != nil || grown < 48<<20 || grown > 80<<20 {
		t.Errorf("grown by %d bytes: %v", grown, err)
	}
}
