package lab

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/weir-lb/weir/lab/engines"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/router"
	"github.com/weir-lb/weir/lab/topology"
)

// State is the present state of a site, read from the kernel.
type State struct {
	Name         string          `json:"name"`
	Router       string          `json:"router"`
	RouterShell  []string        `json:"router_shell"`
	Controller   string          `json:"controller"`
	PasswordFile string          `json:"password_file"`
	Nodes        []NodeState     `json:"nodes"`
	Routes       []network.Route `json:"routes"` // to VIPs, as the router's kernel has them
}

// NodeState is one namespace.
type NodeState struct {
	Name      string            `json:"name"`
	Addresses []netip.Addr      `json:"addresses"`
	Processes []network.Process `json:"processes"`
}

// Inspect reads the state of an existing site.
func Inspect(name string) (State, error) {
	n, err := network.Open(name)
	if err != nil {
		return State{}, err
	}
	t, err := engines.BuiltFrom(n)
	if err != nil {
		return State{}, err
	}
	spec, err := router.For(t, filepath.Join(n.Dir(), topology.RouterName))
	if err != nil {
		return State{}, err
	}
	state := State{
		Name: name, Router: t.Router.Kind, RouterShell: spec.Shell,
		Controller:   fmt.Sprintf("https://%s:%d", t.ControllerNode().Address(), restPort),
		PasswordFile: filepath.Join(n.Dir(), topology.ControllerName, passwordFile),
	}
	if state.Nodes, err = nodes(n, t); err != nil {
		return state, err
	}
	at, err := n.Namespace(topology.RouterName)
	if err != nil {
		return state, err
	}
	state.Routes, err = at.Routes(t.VIPs)
	return state, err
}

// nodes reads what each node has; they stand in the order of the topology.
func nodes(n *network.Network, t topology.Topology) ([]NodeState, error) {
	spaces, err := n.Namespaces()
	if err != nil {
		return nil, err
	}
	var states []NodeState
	for _, node := range t.Nodes() {
		i := slices.IndexFunc(spaces, func(s *network.Namespace) bool { return s.Node == node.Name })
		if i < 0 {
			continue
		}
		processes, err := spaces[i].Processes()
		if err != nil {
			return nil, err
		}
		states = append(states, NodeState{node.Name, node.Addresses(), processes})
	}
	return states, nil
}

// Exec replaces this process by a program in a node of a site. It returns only when it fails.
func Exec(name, node string, line []string) error {
	n, err := network.Open(name)
	if err != nil {
		return err
	}
	space, err := n.Namespace(node)
	if err != nil {
		return err
	}
	program, err := exec.LookPath(line[0])
	if err != nil {
		return err
	}
	if err := space.Stay(); err != nil {
		return err
	}
	return syscall.Exec(program, line, os.Environ())
}
