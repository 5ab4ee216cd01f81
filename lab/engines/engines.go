// Package engines starts and stops engines on this machine, each in a namespace of an existing network. It keeps no
// list and no process: engines outlive the process that started them, and any later process finds them.
package engines

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/topology"
)

// Place is where engines are.
type Place struct {
	Network  *network.Network
	Topology topology.Topology
	Programs string // the directory of weir and weir-dataplane
}

// topologyFile tells later processes which topology the network has.
const topologyFile = "topology.json"

// Note leaves the topology in the network's directory.
func (p Place) Note() error {
	text, err := json.Marshal(p.Topology)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.Network.Dir(), topologyFile), text, 0o644)
}

// BuiltFrom is the topology that a network was built from.
func BuiltFrom(n *network.Network) (t topology.Topology, err error) {
	text, err := os.ReadFile(filepath.Join(n.Dir(), topologyFile))
	if errors.Is(err, os.ErrNotExist) {
		return t, fmt.Errorf("lab %s is only being built, or being taken down: look again", n.Name)
	}
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	return t, err
}

// Join is how an engine gets to its controller.
type Join struct {
	Controller string // host:port, as engines reach it
	Token      string // one-time; empty for an engine that has joined before
}

const logName = "agent.log"

// Start starts the engine of this name: in a new namespace, or in its old one if only its agent has ended. Many engines
// share few cores, so each has one worker.
func (p Place) Start(name string, join Join) error {
	space, err := p.space(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir(name), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(p.dir(name), logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"agent", "--name", name, "--controller", join.Controller, "--state-dir", p.dir(name), "--workers",
		"1", "--vip-interface", "lo"}
	if p.Topology.Keep {
		args = append(args, "--keep-dataplane")
	}
	if join.Token != "" {
		args = append(args, "--token", join.Token)
	}
	agent := exec.Command(filepath.Join(p.Programs, "weir"), args...)
	agent.Stdout, agent.Stderr = log, log
	agent.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := space.Start(agent); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	go func() { _ = agent.Wait() }() // without an error: only its log says why it ended
	return nil
}

// space is the engine's namespace, which is created if necessary.
func (p Place) space(name string) (*network.Namespace, error) {
	node, err := p.Topology.EngineNode(name)
	if err != nil {
		return nil, err
	}
	space, err := p.Network.Attach(node)
	if errors.Is(err, os.ErrExist) {
		return p.Network.Namespace(name)
	}
	return space, err
}

// Stop lets the engine end in order, kills what remains, and removes its namespace and state.
func (p Place) Stop(name string) error {
	space, err := p.Network.Namespace(name)
	if err != nil {
		return err
	}
	processes, err := space.Processes()
	if err != nil {
		return err
	}
	if err := p.Network.Detach(name); err != nil {
		return fmt.Errorf("stop %s: %w", name, err)
	}
	// a data plane whose agent ended first belongs to the process that adopts orphans, such as a lab
	for _, ended := range processes {
		_, _ = syscall.Wait4(ended.PID, nil, syscall.WNOHANG, nil)
	}
	return os.RemoveAll(p.dir(name))
}

// List names the engines that have a namespace.
func (p Place) List() ([]string, error) {
	spaces, err := p.Network.Namespaces()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, space := range spaces {
		if _, err := p.Topology.EngineNode(space.Node); err == nil {
			names = append(names, space.Node)
		}
	}
	return names, nil
}

// LogTail is the last that the engine's agent wrote.
func (p Place) LogTail(name string) string {
	return network.LogTail(filepath.Join(p.dir(name), logName))
}

func (p Place) dir(name string) string { return filepath.Join(p.Network.Dir(), name) }
