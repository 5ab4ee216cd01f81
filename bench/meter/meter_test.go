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
	own := sessionOf(t, os.Getpid())
	atOnce, busy := sleeper(t), sleeper(t)
	if err := Prefer(os.Getpid(), []int{busy}); errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int][2]int{atOnce: {unix.SCHED_RR, 0}, busy: {unix.SCHED_NORMAL, most}} {
		if policy, nice := policyOf(t, pid); policy != want[0] || nice != want[1] {
			t.Errorf("what it has started has policy %d and nice %d, want %d", policy, nice, want)
		}
	}
	if policy, nice := policyOf(t, os.Getpid()); policy != unix.SCHED_NORMAL || nice == most {
		t.Errorf("itself has policy %d and nice %d", policy, nice)
	}
	if now := sessionOf(t, os.Getpid()); now != own {
		t.Errorf("its own session was %q, and is %q", own, now)
	}
}

// sleeper starts a process in a session of its own, which ends with the test.
func sleeper(t *testing.T) (pid int) {
	t.Helper()
	command := exec.Command("sleep", "60")
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command.Process.Pid
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

func policyOf(t *testing.T, pid int) (policy, nice int) {
	t.Helper()
	attributes, err := unix.SchedGetAttr(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return int(attributes.Policy), int(attributes.Nice)
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

func TestResidentMemoryIsSplitIntoItsOwnAndFiles(t *testing.T) {
	own, mapped, err := Resident(os.Getpid())
	if err != nil || own == 0 || mapped == 0 { // a program is itself a file
		t.Fatalf("%d bytes of its own, %d of files: %v", own, mapped, err)
	}
	const bytes = 32 << 20
	written, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(written) }()
	for i := range written {
		written[i] = 1
	}
	after, _, err := Resident(os.Getpid())
	if grown := after - own; err != nil || grown < bytes*3/4 || grown > bytes*5/4 {
		t.Errorf("grown by %d bytes: %v", grown, err)
	}
}
