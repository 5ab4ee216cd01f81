package lab

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/lab/engines"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/router"
	"github.com/weir-lb/weir/lab/teller"
	"github.com/weir-lb/weir/lab/topology"
)

// Site is a lab in namespaces: router, servers, clients, controller and engines of a topology, in a network that none
// of them can leave.
type Site struct {
	Topology   topology.Topology
	Network    *network.Network
	Engines    engines.Place
	Controller *Controller
	Servers    []*Nginx
	lab        *Lab
	told       *teller.Teller
	removed    bool // its network
}

//go:embed seed.toml
var seed string

// Seed is the topology of lab/seed.toml: that of the 1M-TPS report in small.
func Seed() (topology.Topology, error) { return topology.Parse(seed) }

// CheckSite reports errors of a topology, and everything that is missing to run it, before anything is built.
func CheckSite(t topology.Topology, programs string) error {
	if err := t.Check(); err != nil {
		return err
	}
	if err := network.CheckRoot(); err != nil {
		return err
	}
	spec, err := router.For(t, "")
	if err != nil {
		return err
	}
	return errors.Join(CheckPrograms(programs), spec.Installed())
}

// OpenSite claims the topology's name; Build builds it. The programs of Weir are in a directory.
func OpenSite(t topology.Topology, programs string, told *teller.Teller) (*Site, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	n, err := network.Create(t.Name)
	if err != nil {
		return nil, err
	}
	l, err := New(n.Dir(), programs)
	if err != nil {
		return nil, errors.Join(err, n.Remove())
	}
	return &Site{Topology: t, Network: n, Engines: engines.Place{Network: n, Topology: t, Programs: programs},
		lab: l, told: told}, nil
}

// OpenLastingSite claims the topology's name for a site that outlives this process: see Keep.
func OpenLastingSite(t topology.Topology, programs string, told *teller.Teller) (*Site, error) {
	s, err := OpenSite(t, programs, told)
	if err == nil {
		s.lab.outlived = true
	}
	return s, err
}

// Build builds the network, starts everything, and waits until it runs.
func (s *Site) Build(ctx context.Context) error {
	if err := s.Engines.Note(); err != nil {
		return err
	}
	return s.told.Play(ctx,
		teller.Step{Doing: "lay the network", Do: s.lay},
		teller.Step{Doing: "start the router", Do: s.startRouter},
		teller.Step{Doing: fmt.Sprintf("start %d nginx servers", s.Topology.Servers.Count), Do: s.startServers},
		teller.Step{Doing: "start the controller", Do: s.startController},
		teller.Step{Doing: "tell it of the router", Do: s.peer},
		teller.Step{Doing: fmt.Sprintf("start %d engines", s.Topology.Engines.Count), Do: s.startEngines},
	)
}

// Keep lets the site stand when this process ends.
func (s *Site) Keep() error { return s.Network.Keep() }

// Close takes everything down, and leaves nothing. What failed can be tried again.
func (s *Site) Close() error {
	s.told.Begin("take everything down")
	if err := s.close(); err != nil {
		return s.told.Failed(err)
	}
	s.told.Done("nothing is left")
	return nil
}

func (s *Site) close() error {
	var failed error
	if !s.removed { // otherwise another process could have it by now
		failed = s.Network.Remove()
		s.removed = failed == nil
	}
	return errors.Join(failed, s.lab.Stop())
}

func (s *Site) lay(context.Context) (string, error) {
	nodes := append([]topology.Node{s.Topology.RouterNode(), s.Topology.ControllerNode()}, s.Topology.ServerNodes()...)
	nodes = append(nodes, s.Topology.ClientNodes()...)
	for _, node := range nodes {
		if _, err := s.Network.Attach(node); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d namespaces", len(nodes)), nil
}

// host is a node of the built network.
func (s *Site) host(node topology.Node) (*Host, error) {
	space, err := s.Network.Namespace(node.Name)
	if err != nil {
		return nil, err
	}
	return s.lab.At(space, node.Address().String()), nil
}

// NodeAt is the name of the node with an address, or the address itself if no node has it.
func (s *Site) NodeAt(address string) string {
	for _, node := range s.Topology.Nodes() {
		for _, each := range node.Addresses() {
			if each.String() == address {
				return node.Name
			}
		}
	}
	return address
}

// Client is the host of the client with this number, from 1 on.
func (s *Site) Client(number int) (*Host, error) {
	clients := s.Topology.ClientNodes()
	if number < 1 || number > len(clients) {
		return nil, fmt.Errorf("lab %s has client-1 to client-%d, and no client-%d", s.Topology.Name,
			len(clients), number)
	}
	return s.host(clients[number-1])
}

func (s *Site) startRouter(ctx context.Context) (string, error) {
	at, err := s.host(s.Topology.RouterNode())
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.Network.Dir(), topology.RouterName)
	spec, err := router.For(s.Topology, dir)
	if err != nil {
		return "", err
	}
	if err := errors.Join(spec.Installed(), furnish(dir, spec)); err != nil {
		return "", err
	}
	for i, daemon := range spec.Daemons {
		process, err := at.Start(daemon.Name, daemon.Program, daemon.Args...)
		if err != nil {
			return "", err
		}
		if err := process.UntilReady(ctx, succeeds(spec.Probes[i])); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s, AS %d", strings.ToUpper(s.Topology.Router.Kind), s.Topology.Router.AS), nil
}

// furnish makes the router's directory, which the user of its daemons may write.
func furnish(dir string, spec router.Spec) error {
	owner, err := user.Lookup(spec.User)
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(owner.Uid)
	gid, _ := strconv.Atoi(owner.Gid)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	errs := []error{os.Chown(dir, uid, gid)}
	for name, text := range spec.Files {
		path := filepath.Join(dir, name)
		errs = append(errs, os.WriteFile(path, []byte(text), 0o640), os.Chown(path, uid, gid))
	}
	return errors.Join(errs...)
}

// succeeds is ready once the command ends well.
func succeeds(line []string) func(context.Context) error {
	return func(ctx context.Context) error {
		command := exec.CommandContext(ctx, line[0], line[1:]...)
		if said, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(line, " "), err, said)
		}
		return nil
	}
}

func (s *Site) startServers(ctx context.Context) (string, error) {
	var ids []string
	for _, node := range s.Topology.ServerNodes() {
		at, err := s.host(node)
		if err != nil {
			return "", err
		}
		server, err := at.Nginx(ctx, node.Name, 80, map[string]string{"index.html": ReportPage})
		if err != nil {
			return "", err
		}
		s.Servers = append(s.Servers, server)
		ids = append(ids, server.ID())
	}
	return strings.Join(ids, ", "), nil
}

func (s *Site) startController(ctx context.Context) (string, error) {
	at, err := s.host(s.Topology.ControllerNode())
	if err != nil {
		return "", err
	}
	var flags []string
	if s.Topology.Elastic {
		flags = []string{"--engines", "lab:" + s.Topology.Name}
	}
	s.Controller, err = at.Controller(ctx, flags...)
	if err != nil {
		return "", err
	}
	return s.Controller.URL, nil
}

func (s *Site) startEngines(ctx context.Context) (string, error) {
	var names []string
	for number := range s.Topology.Engines.Count {
		names = append(names, topology.EngineName(number+1))
	}
	return "1 worker each", s.StartEngines(ctx, names...)
}
