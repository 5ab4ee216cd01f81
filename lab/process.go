// Package lab runs Weir and its peers as real processes on one machine: controllers, engines, nginx servers, the load
// generator. The demo, the benches and the end-to-end tests use it. No process is left when a lab stops.
package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/lab/network"
)

// standing counts the labs of this process. Orphans do not tell whose they were.
var standing atomic.Int32

var errStopped = errors.New("the lab has been stopped")

const (
	readyTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
)

// Lab is a set of processes and their directory. It adopts orphans, because a data plane can outlive its agent.
type Lab struct {
	Host     // this machine, at loopback
	dir      string
	programs string
	forks    chan func()
	stopped  chan struct{} // closed when it is
	outlived bool          // by its processes

	mu  sync.Mutex
	all []*Process
}

// Process is one process and its log.
type Process struct {
	Name    string
	command *exec.Cmd
	logFile string
	ended   chan struct{}
	err     error // why it ended; read after ended is closed
}

// New opens a lab in dir, with Weir's programs from the directory programs.
func New(dir, programs string) (*Lab, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt orphans: %w", err)
	}
	l := &Lab{dir: dir, programs: programs, forks: make(chan func()), stopped: make(chan struct{})}
	l.Host = Host{lab: l, Address: "127.0.0.1"}
	go l.forkFromOneThread()
	standing.Add(1)
	return l, nil
}

// During calls do with a lab in a directory of its own, named for the purpose. Afterwards it removes both.
func During(purpose, programs string, do func(l *Lab, dir string) error) (err error) {
	dir, err := os.MkdirTemp("", purpose+"-")
	if err != nil {
		return fmt.Errorf("no place for the files of %s: %w: set TMPDIR to a directory that this user may write",
			purpose, err)
	}
	l, err := New(dir, programs)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, l.Stop(), os.RemoveAll(dir)) }()
	return do(l, dir)
}

// forkFromOneThread starts every process of the lab. PR_SET_PDEATHSIG refers to the thread that forks, so that thread
// must live as long as the lab.
func (l *Lab) forkFromOneThread() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for {
		select {
		case fork := <-l.forks:
			fork()
		case <-l.stopped:
			return
		}
	}
}

// Stop ends the processes, the last started first. The last lab to stop also ends all other processes that this process
// has adopted, and their children. A stopped lab starts no more processes.
func (l *Lab) Stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.stopped:
		return nil
	default:
		close(l.stopped)
	}
	var errs []error
	for _, p := range slices.Backward(l.all) {
		errs = append(errs, p.Stop())
	}
	l.all = nil
	if standing.Add(-1) > 0 {
		return errors.Join(errs...)
	}
	for orphans := childrenOf(os.Getpid()); len(orphans) > 0; orphans = childrenOf(os.Getpid()) {
		for _, pid := range orphans {
			errs = append(errs, fmt.Errorf("process %d (%s) was left behind and killed", pid, network.ProgramOf(pid)))
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
	}
	return errors.Join(errs...)
}

// PID is the process's number.
func (p *Process) PID() int { return p.command.Process.Pid }

// Stop asks a process to end, and kills it when it does not.
func (p *Process) Stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTimeout):
		_ = p.Kill()
		return fmt.Errorf("%s did not stop within %v and was killed", p.Name, stopTimeout)
	}
}

// Interrupt does the same as Ctrl-C, and waits until the process has ended.
func (p *Process) Interrupt() error {
	if err := p.command.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTimeout):
		_ = p.Kill()
		return fmt.Errorf("%s did not end within %v of an interrupt and was killed", p.Name, stopTimeout)
	}
}

// Kill ends a process as kill -9 does, and waits until it is gone.
func (p *Process) Kill() error {
	err := p.command.Process.Kill()
	<-p.ended
	return err
}

// Freeze stops a process from running; Thaw lets it go on.
func (p *Process) Freeze() error { return p.command.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (p *Process) Thaw() error { return p.command.Process.Signal(syscall.SIGCONT) }

// UntilReady calls ready until it succeeds. If the process ends or the time is over, it gives up and shows the log.
func (p *Process) UntilReady(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %v\n%s", p.Name, p.err, p.LogTail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.Name, err, p.LogTail())
		case <-poll.C:
		}
	}
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// LogTail is the end of what the process has written.
func (p *Process) LogTail() string { return network.LogTail(p.logFile) }

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
		// Fields: pid (program) state parent group session terminal foreground flags …. The program's name may contain
		// anything, so count from the last parenthesis.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		if len(fields) > 6 && string(fields[0]) != "Z" && !exiting(fields[6]) &&
			string(fields[1]) == strconv.Itoa(pid) {
			if found, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil {
				pids = append(pids, found)
			}
		}
	}
	return pids
}

// exiting tells by its flags whether a process is about to end, before it becomes a zombie.
func exiting(flags []byte) bool {
	const pfExiting = 0x4 // PF_EXITING, include/linux/sched.h
	number, err := strconv.ParseUint(string(flags), 10, 64)
	return err == nil && number&pfExiting != 0
}
