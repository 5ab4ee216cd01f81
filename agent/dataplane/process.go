package dataplane

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	binaryName = "weir-dataplane"
	// logBytesMax is when the output of data planes before this one is moved to one older file.
	logBytesMax = 4 << 20
	// lastWordsBytes of the output are searched for the line that says why a process ended.
	lastWordsBytes = 4 << 10
)

// process is a data plane's process, started by this agent or by one before it.
type process struct {
	pid    int
	signal func(os.Signal) error // reaches this process only, even after its number is used again
	exited chan struct{}
	ending string // why it ended; valid once exited is closed
}

// Find returns the data plane's binary: the given one, or the one beside this program, or the one in PATH.
func Find(asked string) (string, error) {
	if asked != "" {
		if _, err := exec.LookPath(asked); err != nil {
			var path *fs.PathError
			if errors.As(err, &path) {
				err = path.Err
			}
			return "", fmt.Errorf("data plane %s: %w", asked, err)
		}
		return filepath.Abs(asked)
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), binaryName)
		if _, err := exec.LookPath(beside); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath(binaryName)
	if err != nil {
		return "", fmt.Errorf("no %s beside this program or in PATH; say where it is with --dataplane", binaryName)
	}
	return filepath.Abs(found)
}

// start runs a data plane in a session of its own, so that neither a signal to the agent's terminal nor the agent's
// death ends it. Its output goes to a file, because a pipe would break when the agent dies.
func start(binary string, arguments []string, logPath string) (*process, error) {
	output, err := openLog(logPath)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	begin, err := output.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	command := exec.Command(binary, arguments...)
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, err
	}
	p := &process{pid: command.Process.Pid, signal: command.Process.Signal, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		p.ending = ending(command.Wait(), logPath, begin)
	}()
	return p, nil
}

// adopt watches a process that another agent started.
func adopt(pid int) (*process, error) {
	pidfd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	handle := os.NewFile(uintptr(pidfd), "pidfd")
	watch, err := handle.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	p := &process{pid: pid, exited: make(chan struct{})}
	p.signal = func(signal os.Signal) (err error) {
		send := func(pidfd uintptr) { err = unix.PidfdSendSignal(int(pidfd), signal.(unix.Signal), nil, 0) }
		return errors.Join(watch.Control(send), err)
	}
	go func() {
		defer close(p.exited)
		defer handle.Close()
		p.ending = "it ended" // only a parent learns how
		if err := watch.Read(hasExited); err != nil {
			p.ending = "it cannot be watched: " + err.Error()
		}
	}()
	return p, nil
}

// hasExited asks a pidfd, which becomes readable when its process ends.
func hasExited(pidfd uintptr) bool {
	ready, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
	return err == nil && ready > 0
}

// kill ends the process for certain and waits until it has ended.
func (p *process) kill() error {
	if err := p.signal(unix.SIGKILL); err != nil && !p.hasEnded() {
		return fmt.Errorf("cannot kill process %d: %w", p.pid, err)
	}
	<-p.exited
	return nil
}

func (p *process) hasEnded() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > logBytesMax {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

// ending says in one line how a process ended, with its last words when it failed by itself.
func ending(waited error, logPath string, begin int64) string {
	if waited == nil {
		return "it ended with exit status 0"
	}
	if exit := (*exec.ExitError)(nil); errors.As(waited, &exit) && killed(exit) {
		return waited.Error() // so its last words have nothing to do with it
	}
	if words := lastWords(logPath, begin); words != "" {
		return waited.Error() + ": " + words
	}
	return waited.Error()
}

func killed(exit *exec.ExitError) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGKILL || status.Signal() == syscall.SIGTERM)
}

// lastWords is the last line that was written to the log from begin on.
func lastWords(logPath string, begin int64) string {
	file, err := os.Open(logPath)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	begin = max(begin, info.Size()-lastWordsBytes)
	text, err := io.ReadAll(io.NewSectionReader(file, begin, info.Size()-begin))
	if err != nil {
		return ""
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return strings.TrimSpace(string(lines[len(lines)-1]))
}
