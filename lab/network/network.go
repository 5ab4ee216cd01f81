// Package network builds networks of namespaces on this machine: switches, links, addresses, routes. The kernel's own
// objects are all the state there is, so that one process may build a network, another one add to it, and a third one,
// after a crash of both, take it down (claim.go says when it may). Needs root.
//
// No namespace of a network has a link or a route to the machine's own interfaces, and nothing here touches those.
package network

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-lb/weir/lab/topology"
)

// prefix marks what is ours among the names of namespaces: "weirlab.<network>.<node>".
const prefix = "weirlab."

// ErrNotRoot says that only root may build networks.
var ErrNotRoot = errors.New("the lab makes network namespaces, which only root may: run it as root (sudo)")

// CheckRoot tells whether this process may build networks.
func CheckRoot() error {
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	return nil
}

// Network is a set of namespaces by name.
type Network struct {
	Name string
	lock *os.File // held by the process that claimed the name
}

// Namespaces lists the nodes that the network has.
func (n *Network) Namespaces() ([]*Namespace, error) {
	paths, err := filepath.Glob(n.path("*"))
	if err != nil {
		return nil, err
	}
	var spaces []*Namespace
	for _, path := range paths {
		spaces = append(spaces, n.space(strings.TrimPrefix(filepath.Base(path), n.prefix())))
	}
	return spaces, nil
}

// Namespace is the node of this name.
func (n *Network) Namespace(node string) (*Namespace, error) {
	space := n.space(node)
	if _, err := os.Stat(space.path); err != nil {
		return nil, fmt.Errorf("lab %s has no %s: see `weir lab status`", n.Name, node)
	}
	return space, nil
}

func (n *Network) space(node string) *Namespace { return &Namespace{Node: node, path: n.path(node)} }
func (n *Network) prefix() string               { return prefix + n.Name + "." }
func (n *Network) path(node string) string      { return filepath.Join(namesDir, n.prefix()+node) }

// everyNode are kernel parameters of every node. No node waits before it uses an IPv6 address. No node drops packets
// that arrive by another way than it would send them, such as the responses of a draining engine whose route is
// withdrawn.
var everyNode = map[string]string{
	"net.ipv4.conf.all.rp_filter":      "0",
	"net.ipv4.conf.default.rp_filter":  "0",
	"net.ipv6.conf.all.accept_dad":     "0",
	"net.ipv6.conf.default.accept_dad": "0",
}

// Attach makes a node and links it to hubs of existing nodes. It removes a node that it cannot complete.
func (n *Network) Attach(node topology.Node) (*Namespace, error) {
	space := n.space(node.Name)
	if err := space.make(); err != nil {
		return nil, fmt.Errorf("make namespace %s: %w", node.Name, err)
	}
	if err := n.furnish(space, node); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", node.Name, err), space.remove())
	}
	return space, nil
}

func (n *Network) furnish(space *Namespace, node topology.Node) error {
	if err := space.setSysctls(everyNode); err != nil {
		return err
	}
	if err := space.setSysctls(node.Sysctls); err != nil {
		return err
	}
	here, err := open(space)
	if err != nil {
		return err
	}
	defer here.close()
	if err := here.bringUp("lo"); err != nil {
		return err
	}
	for _, hub := range node.Hubs {
		if err := here.addHub(hub); err != nil {
			return fmt.Errorf("switch %s: %w", hub.Name, err)
		}
	}
	for _, link := range node.Links {
		if err := here.addLink(n.space(link.To), node.Name, link); err != nil {
			return fmt.Errorf("link %s to %s: %w", link.Interface, link.To, err)
		}
	}
	return nil
}

// Detach ends what runs in a node, and removes the node and its links.
func (n *Network) Detach(node string) error {
	space := n.space(node)
	if err := space.Empty(); err != nil {
		return err
	}
	return space.remove()
}

func (n *Network) removeNodes() error {
	spaces, err := n.Namespaces()
	if err != nil {
		return err
	}
	errs := []error{emptyAll(spaces)}
	for _, space := range spaces {
		errs = append(errs, space.remove())
	}
	return errors.Join(errs...)
}
