package engines

import (
	"context"
	"os"
	"strings"

	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/lab/network"
)

// Cloud is a Place as the controller uses it: it starts engines in namespaces, as many as the topology has addresses
// for.
type Cloud struct{ Place }

// List is every engine of the topology.
func (c Cloud) List(context.Context) ([]cloud.Place, error) {
	running, err := c.running()
	if err != nil {
		return nil, err
	}
	var places []cloud.Place
	for _, name := range c.Topology.EngineNames() {
		place := cloud.Place{Engine: name}
		if runs, there := running[name]; runs {
			place.State = cloud.Running
		} else if _, err := os.Stat(c.dir(name)); there || err == nil {
			place.State, place.Problem = cloud.Stopped, c.lastWords(name)
		}
		places = append(places, place)
	}
	return places, nil
}

func (c Cloud) lastWords(name string) string {
	tail := c.LogTail(name)
	return tail[strings.LastIndexByte(tail, '\n')+1:]
}

// running are the engines that have a namespace, and whether their agents run.
func (c Cloud) running() (map[string]bool, error) {
	spaces, err := c.Network.Namespaces()
	if err != nil {
		return nil, err
	}
	processes, err := network.ProcessesOf(spaces)
	if err != nil {
		return nil, err
	}
	running := map[string]bool{}
	for _, space := range spaces {
		running[space.Node] = false
		for _, process := range processes[space.Node] {
			running[space.Node] = running[space.Node] || process.Program == agentProgram
		}
	}
	return running, nil
}

const agentProgram = "weir"

// Create starts an engine in its namespace.
func (c Cloud) Create(_ context.Context, engine string, join cloud.Join) error {
	return c.Start(engine, Join{Controller: join.Address(c.Topology.ControllerNode().Address().String()),
		Token: join.Token})
}

// Retire ends it, and its namespace.
func (c Cloud) Retire(_ context.Context, engine string) error {
	if _, err := c.Network.Namespace(engine); err != nil {
		return os.RemoveAll(c.dir(engine))
	}
	return c.Stop(engine)
}

// OpenCloud finds an existing lab. programs is the directory of Weir's programs.
func OpenCloud(lab, programs string) (Cloud, error) {
	n, err := network.Open(lab)
	if err != nil {
		return Cloud{}, err
	}
	t, err := BuiltFrom(n)
	return Cloud{Place{Network: n, Topology: t, Programs: programs}}, err
}
