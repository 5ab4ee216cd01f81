package lab

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/lab/engines"
)

// startsAtOnce is how many engines start at the same time. More would wait for the same cores.
const startsAtOnce = 8

// StartEngines starts engines of the topology, joins the new ones, and waits until all their data planes run.
func (s *Site) StartEngines(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	var starting errgroup.Group
	starting.SetLimit(startsAtOnce)
	for _, name := range names {
		starting.Go(func() error { return s.join(ctx, name) })
	}
	if err := starting.Wait(); err != nil {
		return err
	}
	return s.untilJoined(ctx, names)
}

// Join is how an engine that has joined before gets to the controller.
func (s *Site) Join() engines.Join { return engines.Join{Controller: s.Controller.EngineAddress} }

// Restart starts the agent of an engine that was killed, and waits until its data plane runs.
func (s *Site) Restart(ctx context.Context, name string) error {
	if err := s.Engines.Start(name, s.Join()); err != nil {
		return err
	}
	return s.untilJoined(ctx, []string{name})
}

func (s *Site) join(ctx context.Context, name string) error {
	token, err := s.Controller.Token(ctx)
	if err != nil {
		return err
	}
	join := s.Join()
	join.Token = token
	return s.Engines.Start(name, join)
}

// untilJoined asks about all engines at once. Separate questions about each would take the cores from starting engines.
func (s *Site) untilJoined(ctx context.Context, names []string) error {
	timeout := readyTimeout + time.Duration(len(names))*time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		missing, err := s.missing(ctx, names)
		if err == nil && len(missing) == 0 {
			return nil
		}
		s.told.Meanwhile(fmt.Sprintf("%d of %d", len(names)-len(missing), len(names)))
		select {
		case <-ctx.Done():
			return errors.Join(err, fmt.Errorf("%v have not joined within %v: %w\n%s", missing, timeout, ctx.Err(),
				s.Engines.LogTail(missing[0])))
		case <-poll.C:
		}
	}
}

// missing are the engines that the controller does not hear from, or whose data plane does not run.
func (s *Site) missing(ctx context.Context, names []string) ([]string, error) {
	dataplanes, err := s.Controller.Dataplanes(ctx)
	if err != nil {
		return names, err
	}
	var missing []string
	for _, name := range names {
		if pid, connected := dataplanes[name]; !connected || !s.runs(name, pid) {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// runs tells whether a process belongs to the engine. The controller's knowledge may be about an engine that is already
// dead.
func (s *Site) runs(engine string, pid int) bool {
	space, err := s.Network.Namespace(engine)
	return err == nil && space.Runs(pid)
}

// Dataplanes are the processes of the data planes, by the names of the engines that the controller hears from.
func (c *Controller) Dataplanes(ctx context.Context) (map[string]int, error) {
	all, err := c.Session.List(ctx, "serviceengine", url.Values{"join_subresources": {"runtime"}})
	if err != nil {
		return nil, err
	}
	pids := map[string]int{}
	for _, engine := range all {
		runtime, _ := engine["runtime"].(map[string]any)
		dataplane, _ := runtime["dataplane"].(map[string]any)
		if pid, _ := dataplane["pid"].(float64); runtime["se_connected"] == true && pid > 0 {
			pids[fmt.Sprint(engine["name"])] = int(pid)
		}
	}
	return pids, nil
}
