package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/teller"
)

// loopback is a stage whose parts are on this machine itself.
type loopback struct {
	stage *stage
	lab   *lab.Lab
}

func runAtLoopback(ctx context.Context, options Options, programs string, s *stage) (err error) {
	if err := lab.CheckPrograms(programs); err != nil {
		return err
	}
	place, err := newPlace()
	if err != nil {
		return err
	}
	l, err := lab.New(place.dir, programs)
	if err != nil {
		return errors.Join(err, place.remove())
	}
	defer func() { err = cleanUp(err, l, place) }()
	b := &loopback{s, l}
	s.client = &l.Host
	if s.service, err = loopbackService(); err != nil {
		return err
	}
	err = s.told.Play(ctx,
		teller.Step{Doing: "start three nginx servers", Do: b.startServers},
		teller.Step{Doing: "start the controller", Do: b.startController},
		teller.Step{Doing: "start one engine", Do: b.startEngine},
	)
	if err != nil {
		return err
	}
	return s.act(ctx, options)
}

// cleanUp leaves no process. It keeps the logs only after a failure.
func cleanUp(err error, l *lab.Lab, place *place) error {
	unexpected := err != nil && !errors.Is(err, ErrFellShort) && !errors.Is(err, context.Canceled)
	if left := l.Stop(); left != nil {
		err, unexpected = errors.Join(err, left), true
	}
	if unexpected {
		return errors.Join(fmt.Errorf("%w\n(logs are in %s)", err, place.dir), place.keep())
	}
	return errors.Join(err, place.remove())
}

func (b *loopback) startServers(ctx context.Context) (string, error) {
	var ids []string
	for i := range serversCount {
		server, err := b.lab.Nginx(ctx, fmt.Sprintf("nginx-%d", i+1), 18081+i,
			map[string]string{"index.html": lab.ReportPage})
		if err != nil {
			return "", err
		}
		b.stage.servers = append(b.stage.servers, server)
		ids = append(ids, server.ID())
	}
	return strings.Join(ids, ", "), nil
}

func (b *loopback) startController(ctx context.Context) (string, error) {
	controller, err := b.lab.Controller(ctx)
	if err != nil {
		return "", err
	}
	b.stage.controller = controller
	return controller.URL, nil
}

func (b *loopback) startEngine(ctx context.Context) (string, error) {
	engine, err := b.lab.Engine(ctx, b.stage.controller, "engine-1")
	if err != nil {
		return "", err
	}
	b.stage.dataplanes = func(ctx context.Context) ([]int, error) {
		pid, err := engine.DataplanePID(ctx)
		return []int{pid}, err
	}
	pid, err := engine.DataplanePID(ctx)
	return fmt.Sprintf("engine-1, data plane is process %d", pid), err
}
