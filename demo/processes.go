package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	stopTimeout  = 10 * time.Second
	logTailBytes = 4096
)

// household is every process of a demo. It adopts orphans (the data plane outlives its agent by design), so that nothing
// is left behind when it ends.
type household struct {
	dir      string
	children []*child
}

// child is one process and its log.
type child struct {
	name    string
	command *exec.Cmd
	logFile string
	ended   chan struct{}
	err     error // why it ended; read after ended is closed
}

func newHousehold(dir string) (*household, error) {
	// Pdeathsig follows the thread that forks, so that thread must be the one that stays.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt orphans: %w", err)
	}
	return &household{dir: dir}, nil
}

// start runs a program with its output in <dir>/<name>.log. It gets SIGTERM when the demo dies.
func (h *household) start(name, program string, args ...string) (*child, error) {
	logFile := filepath.Join(h.dir, name+".log")
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = log, log
	// A group of its own: Ctrl-C in the terminal must reach the demo alone, which then stops its children in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c := &child{name: name, command: command, logFile: logFile, ended: make(chan struct{})}
	go func() {
		c.err = command.Wait()
		close(c.ended)
	}()
	h.children = append(h.children, c)
	return c, nil
}

// stop ends the children, the last started first, and then whatever else this process has adopted.
func (h *household) stop() error {
	var errs []error
	for _, c := range slices.Backward(h.children) {
		errs = append(errs, c.stop())
	}
	h.children = nil
	for _, pid := range childrenOf(os.Getpid()) {
		errs = append(errs, fmt.Errorf("process %d (%s) was left behind and killed", pid, programOf(pid)))
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
	}
	return errors.Join(errs...)
}

func (c *child) stop() error {
	_ = c.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
		return nil
	case <-time.After(stopTimeout):
		_ = c.command.Process.Kill()
		<-c.ended
		return fmt.Errorf("%s did not stop within %v and was killed", c.name, stopTimeout)
	}
}

// untilReady calls ready until it succeeds; gives up when the child ends or the time is over, and then shows its log.
func (c *child) untilReady(ctx context.Context, ready func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		err := ready()
		if err == nil {
			return nil
		}
		select {
		case <-c.ended:
			return fmt.Errorf("%s ended: %w\n%s", c.name, c.err, c.logTail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", c.name, err, c.logTail())
		case <-poll.C:
		}
	}
}

func (c *child) logTail() string {
	text, err := os.ReadFile(c.logFile)
	if err != nil {
		return err.Error()
	}
	if len(text) > logTailBytes {
		text = text[len(text)-logTailBytes:]
	}
	return strings.TrimSpace(string(text))
}

// childrenOf lists the processes whose parent is pid.
func childrenOf(pid int) []int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var pids []int
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		// pid (program) state parent …; the program may hold anything, so count from the last parenthesis.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) > 1 && string(fields[0]) != "Z" && string(fields[1]) == strconv.Itoa(pid) {
			if found, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil {
				pids = append(pids, found)
			}
		}
	}
	return pids
}

func programOf(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(name))
}

// cpuTime is what the kernel has given to all threads of a process.
func cpuTime(pid int) (time.Duration, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(tasks) == 0 {
		return 0, fmt.Errorf("process %d has no schedstat (%w)", pid, errors.Join(err, os.ErrNotExist))
	}
	var total time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			return 0, err
		}
		var nanos int64
		if _, err := fmt.Sscan(string(text), &nanos); err != nil {
			return 0, fmt.Errorf("%s: %w", task, err)
		}
		total += time.Duration(nanos)
	}
	return total, nil
}

// freePort returns wanted if nobody listens there, else one that is free now.
func freePort(host string, wanted int) (int, error) {
	for _, port := range []int{wanted, 0} {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		free := listener.Addr().(*net.TCPAddr).Port
		return free, listener.Close()
	}
	return 0, fmt.Errorf("no free port on %s", host)
}
