package network

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The processes in a namespace are found by reading every process's namespace, so nobody has to keep a list.

const (
	stopTimeout = 10 * time.Second // from SIGTERM to SIGKILL
	goneTimeout = 30 * time.Second // from SIGKILL until the kernel has cleaned up

	logTailBytes = 4096
)

// Process is one that runs in a namespace.
type Process struct {
	PID     int    `json:"pid"`
	Program string `json:"program"`
}

// Processes lists what runs in the namespace.
func (s *Namespace) Processes() ([]Process, error) {
	of, err := ProcessesOf([]*Namespace{s})
	return of[s.Node], err
}

// Runs tells whether the process is alive and in the namespace.
func (s *Namespace) Runs(pid int) bool {
	here, err := s.identity()
	if err != nil {
		return false
	}
	where, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	return err == nil && where == here
}

// identity is how /proc/PID/ns/net names the namespace.
func (s *Namespace) identity() (string, error) {
	info, err := os.Stat(s.path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("net:[%d]", info.Sys().(*syscall.Stat_t).Ino), nil
}

// ProcessesOf lists what runs in each namespace, by node.
func ProcessesOf(spaces []*Namespace) (map[string][]Process, error) {
	nodes := map[string]string{}
	for _, space := range spaces {
		identity, err := space.identity()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		nodes[identity] = space.Node
	}
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		return nil, err
	}
	found := map[string][]Process{}
	for _, link := range links {
		where, err := os.Readlink(link)
		if err != nil {
			continue // it has ended, or has no parent any more
		}
		if node, ours := nodes[where]; ours {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			found[node] = append(found[node], Process{pid, ProgramOf(pid)})
		}
	}
	return found, nil
}

// ProgramOf is the name of the program that a process runs.
func ProgramOf(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(name))
}

// LogTail is the end of what a process has written into its log.
func LogTail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-logTailBytes):]))
}

// Signal sends a signal to all that runs in the namespace.
func (s *Namespace) Signal(signal syscall.Signal) error { return signalAll([]*Namespace{s}, signal) }

func signalAll(spaces []*Namespace, signal syscall.Signal) error {
	of, err := ProcessesOf(spaces)
	if err != nil {
		return err
	}
	var errs []error
	for node, processes := range of {
		for _, p := range processes {
			if err := syscall.Kill(p.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				errs = append(errs, fmt.Errorf("%s: process %d (%s): %w", node, p.PID, p.Program, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Kill ends all that runs in the namespace as kill -9 does, and waits until it is gone.
func (s *Namespace) Kill() error { return killAll([]*Namespace{s}) }

func killAll(spaces []*Namespace) error {
	return untilEmpty(spaces, goneTimeout, func() error { return signalAll(spaces, syscall.SIGKILL) })
}

// Empty asks all processes in the namespace to end, and kills the others.
func (s *Namespace) Empty() error { return emptyAll([]*Namespace{s}) }

func emptyAll(spaces []*Namespace) error {
	if err := signalAll(spaces, syscall.SIGTERM); err != nil {
		return err
	}
	_ = signalAll(spaces, syscall.SIGCONT) // what is frozen cannot end
	if untilEmpty(spaces, stopTimeout, func() error { return nil }) == nil {
		return nil
	}
	return killAll(spaces)
}

// untilEmpty waits until nothing runs in the namespaces any more, and calls each time what there is to do about the
// rest: processes may have started others since the last call.
func untilEmpty(spaces []*Namespace, timeout time.Duration, rest func() error) error {
	deadline, poll := time.After(timeout), time.NewTicker(10*time.Millisecond)
	defer poll.Stop()
	for {
		of, err := ProcessesOf(spaces)
		if err != nil || len(of) == 0 {
			return err
		}
		if err := rest(); err != nil {
			return err
		}
		select {
		case <-poll.C:
		case <-deadline:
			return fmt.Errorf("still running: %v", of)
		}
	}
}
