package lab

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/ports"
)

// Host is where processes of a lab run: on this machine's loopback interface, or in a namespace of a network.
type Host struct {
	Address string // where others reach it
	lab     *Lab
	space   *network.Namespace // nil: this machine itself
}

// At is the host in a namespace.
func (l *Lab) At(space *network.Namespace, address string) *Host {
	return &Host{Address: address, lab: l, space: space}
}

// Start runs a program with its output in <dir>/<name>.log. It gets SIGTERM when this process dies.
func (h *Host) Start(name, program string, args ...string) (*Process, error) {
	logFile := filepath.Join(h.lab.dir, name+".log")
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = log, log
	if err := h.launch(command); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{Name: name, command: command, logFile: logFile, ended: make(chan struct{})}
	go func() {
		p.err = command.Wait()
		close(p.ended)
	}()
	h.lab.mu.Lock()
	defer h.lab.mu.Unlock()
	h.lab.all = append(h.lab.all, p)
	return p, nil
}

// launch starts a command that dies with this process. The command gets a session of its own, for two reasons. Ctrl-C
// in the terminal must only reach the process that runs the lab, which then stops the others in order. And the kernel
// divides a core among sessions (autogroup): a data plane, which gets a session from its agent, must not get more CPU
// time than a peer.
func (h *Host) launch(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !h.lab.outlived {
		command.SysProcAttr.Pdeathsig = syscall.SIGTERM
	}
	start := command.Start
	if h.space != nil {
		start = func() error { return h.space.Start(command) }
	}
	started := make(chan error)
	select {
	case h.lab.forks <- func() { started <- start() }:
		return <-started
	case <-h.lab.stopped:
		return errStopped
	}
}

// Dial connects from the host.
func (h *Host) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if h.space != nil {
		return h.space.Dial(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// port is the wanted port, or another free one on this machine, which others use, too.
func (h *Host) port(wanted int) (int, error) {
	if h.space != nil {
		return wanted, nil
	}
	return ports.Free(h.Address, wanted)
}
