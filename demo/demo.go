// Package demo builds the seed's HTTPS virtual service in small, out of real parts: three nginx servers, a controller, an
// engine and a load generator, each a process of its own. It configures everything through the public REST API, as an
// operator would, and leaves no process behind.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/teller"
)

// Options say how a demo runs.
type Options struct {
	Once bool // end after the load instead of serving until ctx ends
	JSON bool // figures as one JSON object, last on Out; everything else goes to Progress
	Out  io.Writer
	// Progress is where the steps are told; Live when it is a terminal, where a line can be told again.
	Progress io.Writer
	Live     bool
}

// ErrFellShort says that the demo ran and its figures are not what they must be.
var ErrFellShort = errors.New("the demo fell short")

// Run plays the demo until it is over or ctx ends.
func Run(ctx context.Context, options Options) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	programs := filepath.Dir(self)
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
	return play(ctx, options, &stage{lab: l, told: &teller.Teller{Out: options.Progress, Live: options.Live}})
}

// cleanUp leaves no process, and the logs only where they may tell why something failed.
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

func play(ctx context.Context, options Options, s *stage) error {
	if err := s.build(ctx); err != nil {
		return err
	}
	f, err := s.load(ctx)
	if err != nil {
		return err
	}
	if err := report(options, s, f); err != nil {
		return err
	}
	if short := f.shortfall(); options.Once && len(short) > 0 {
		return fmt.Errorf("%w: %s", ErrFellShort, strings.Join(short, "; "))
	}
	if !options.Once {
		fmt.Fprintln(options.Progress, "Serving until Ctrl-C.")
		<-ctx.Done()
	}
	return nil
}

const serversCount = 3

// stage is the demo while it runs.
type stage struct {
	lab        *lab.Lab
	told       *teller.Teller
	servers    []*lab.Nginx
	controller *lab.Controller
	engine     *lab.Engine
	service    service
}

func (s *stage) build(ctx context.Context) error {
	return s.told.Play(ctx,
		teller.Step{Doing: "start three nginx servers", Do: s.startServers},
		teller.Step{Doing: "start the controller", Do: s.startController},
		teller.Step{Doing: "start one engine", Do: s.startEngine},
		teller.Step{Doing: "configure the profiles", Do: s.configure},
		teller.Step{Doing: "create the pool, the VIP and the virtual service", Do: s.create},
		teller.Step{Doing: "wait until the engine serves it", Do: s.waitServed},
	)
}

func (s *stage) startServers(ctx context.Context) (string, error) {
	var ids []string
	for i := range serversCount {
		server, err := s.lab.Nginx(ctx, fmt.Sprintf("nginx-%d", i+1), 18081+i, map[string]string{"index.html": lab.SeedPage})
		if err != nil {
			return "", err
		}
		s.servers = append(s.servers, server)
		ids = append(ids, server.ID())
	}
	return strings.Join(ids, ", "), nil
}

func (s *stage) startController(ctx context.Context) (string, error) {
	controller, err := s.lab.Controller(ctx)
	if err != nil {
		return "", err
	}
	s.controller = controller
	return controller.URL, nil
}

func (s *stage) startEngine(ctx context.Context) (string, error) {
	engine, err := s.lab.Engine(ctx, s.controller, "engine-1")
	if err != nil {
		return "", err
	}
	s.engine = engine
	pid, err := engine.DataplanePID(ctx)
	return fmt.Sprintf("engine-1, data plane is process %d", pid), err
}

func (s *stage) configure(ctx context.Context) (string, error) {
	return "System-Secure-HTTP, System-TCP-Proxy, System-Standard", configureProfiles(ctx, s.controller.Session)
}

func (s *stage) create(ctx context.Context) (string, error) {
	created, err := createService(ctx, s.controller.Session, s.servers)
	s.service = created
	return created.url(), err
}

func (s *stage) waitServed(ctx context.Context) (string, error) {
	return s.service.waitUp(ctx, s.controller.Session)
}

func (s *stage) load(ctx context.Context) (figures, error) {
	s.told.Begin(fmt.Sprintf("drive TLS transactions for %d s", loadSeconds))
	pid, err := s.engine.DataplanePID(ctx)
	if err != nil {
		return figures{}, s.told.Failed(err)
	}
	driving, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		s.watchRequests(driving)
		close(watched)
	}()
	f, err := driveLoad(ctx, s.lab, s.service, pid)
	stop()
	<-watched
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return f, s.told.Failed(err)
	}
	s.told.Done(fmt.Sprintf("%d transactions", f.transactions))
	return f, nil
}

// watchRequests tells each second how many requests the virtual service has answered, for as long as the API knows.
func (s *stage) watchRequests(ctx context.Context) {
	if !s.told.Live {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		requests, err := s.service.requests(ctx, s.controller.Session)
		if err != nil {
			return
		}
		s.told.Meanwhile(fmt.Sprintf("%d requests", requests))
	}
}
