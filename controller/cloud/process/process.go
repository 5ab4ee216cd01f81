// Package process is a cloud on the controller's own machine. Each engine is an agent with its own state directory.
// Engines keep running when the controller ends; the next controller finds them by their directories.
package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weir-lb/weir/controller/cloud"
)

const (
	// enginesMax is the number of engines on the machine. Only one engine of a machine can listen at an address. The
	// others can take over, or serve other virtual services.
	enginesMax = 16
	namePrefix = "engine-"
	logName    = "agent.log"

	stopTimeout = 15 * time.Second // from SIGTERM to SIGKILL: an agent lets its clients finish first
	killTimeout = 5 * time.Second
)

// Machine is this machine.
type Machine struct {
	Dir  string // contains one directory for each engine
	Weir string // path of the program
}

// List returns a place for every name that an engine may have on this machine.
func (m Machine) List(context.Context) ([]cloud.Place, error) {
	running, err := m.running()
	if err != nil {
		return nil, err
	}
	var places []cloud.Place
	for number := range enginesMax {
		place := cloud.Place{Engine: namePrefix + strconv.Itoa(number+1)}
		_, err := os.Stat(m.dir(place.Engine))
		switch {
		case slices.ContainsFunc(running[place.Engine], worker.isAgent):
			place.State = cloud.Running
		case err == nil:
			place.State, place.Problem = cloud.Stopped, m.lastWords(place.Engine)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
		places = append(places, place)
	}
	return places, nil
}

// Create starts an agent. The agent keeps running when the controller ends.
func (m Machine) Create(_ context.Context, engine string, join cloud.Join) error {
	dir := m.dir(engine)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(dir, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	agent := exec.Command(m.Weir, "agent", "--name", engine, "--controller", join.Address("127.0.0.1"), "--state-dir",
		dir, "--token", join.Token)
	agent.Stdout, agent.Stderr = log, log
	agent.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := agent.Start(); err != nil {
		return fmt.Errorf("start %s: %w", engine, err)
	}
	go func() { _ = agent.Wait() }() // so that no zombie is left; the agent's log says why it ended
	return nil
}

// Retire ends the agent and the processes that it started, and removes the directory.
func (m Machine) Retire(ctx context.Context, engine string) error {
	for _, end := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGTERM, stopTimeout}, {syscall.SIGKILL, killTimeout}} {
		left, err := m.end(ctx, engine, end.signal, end.patience)
		if err != nil {
			return err
		}
		if left == 0 {
			return os.RemoveAll(m.dir(engine))
		}
	}
	return fmt.Errorf("%s does not end", engine)
}

// end sends a signal to the processes of an engine and waits until they end. left is the number of those that still
// run.
func (m Machine) end(ctx context.Context, engine string, signal syscall.Signal, patience time.Duration) (
	left int, err error) {
	deadline, poll := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer poll.Stop()
	for signalled := false; ; signalled = true {
		running, err := m.running()
		pids := running[engine]
		if err != nil || len(pids) == 0 {
			return 0, err
		}
		for _, worker := range pids {
			if !signalled {
				_ = syscall.Kill(worker.pid, signal) // it may have ended meanwhile
			}
		}
		select {
		case <-ctx.Done():
			return len(pids), ctx.Err()
		case <-deadline:
			return len(pids), nil
		case <-poll.C:
		}
	}
}

// worker is a process of an engine.
type worker struct {
	pid   int
	words []string // its command line
}

func (w worker) isAgent() bool { return len(w.words) > 1 && w.words[1] == "agent" }

// running returns the processes whose command line names the directory of an engine: its agent, and its data plane,
// which outlives an agent that is killed.
func (m Machine) running() (map[string][]worker, error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	found := map[string][]worker{}
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err != nil {
			continue // it has ended
		}
		words := strings.Split(string(text), "\x00")
		for _, word := range words {
			inside, is := strings.CutPrefix(word, m.Dir+"/")
			if !is {
				continue
			}
			engine, _, _ := strings.Cut(inside, "/")
			pid, _ := strconv.Atoi(strings.Split(line, "/")[2])
			found[engine] = append(found[engine], worker{pid, words})
			break
		}
	}
	return found, nil
}

// lastWords returns the last line of an agent's log.
func (m Machine) lastWords(engine string) string {
	text, err := os.ReadFile(filepath.Join(m.dir(engine), logName))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

func (m Machine) dir(engine string) string { return filepath.Join(m.Dir, engine) }
