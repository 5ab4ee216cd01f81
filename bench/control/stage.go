package control

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/weir-lb/weir/api/engine/enrollment"
	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/origin"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/ports"
)

const (
	enginesCount = 8
	// clientsCount clients call the REST API at the same time while objects are created and changed. Each has its own
	// connections.
	clientsCount = 32
)

// stage is what runs: a controller, engines, and the servers behind one of the pools.
type stage struct {
	*run
	lab        *lab.Lab
	dir        string
	controller *lab.Controller
	clients    []*client.Session
	engines    []*engine
	ledger     *ledger
	servers    []string // that answer, host:port
	port       int      // at which all virtual services listen, each at an address of its own
	services   []*service
	made       int // pools and VIPs; more than services, for those that the row create makes and deletes
	size       int // services by now
	changes    int // that were made so far
	startup    startup
}

// onStage does something on a stage, from nothing to nothing.
func (r *run) onStage(ctx context.Context, do func(*stage) error) error {
	return lab.During("weir-control", r.programs, func(l *lab.Lab, dir string) error {
		s := &stage{run: r, lab: l, dir: dir, ledger: newLedger()}
		defer func() {
			for _, engine := range s.engines {
				engine.stop()
			}
		}()
		if err := s.build(ctx); err != nil {
			return err
		}
		return do(s)
	})
}

// build starts everything and has all engines join.
func (s *stage) build(ctx context.Context) (err error) {
	s.servers, err = origin.Start(ctx, s.lab, origin.Setup{
		Dir: filepath.Join(s.dir, "servers"), Servers: serversEach, Host: "127.0.0.1", ObjectBytes: 128})
	if err != nil {
		return fmt.Errorf("servers: %w", err)
	}
	// Two runs at the same time must not share a port, because data planes of both would get its connections.
	if s.port, err = ports.Free(addressOf(loaded), servicePort); err != nil {
		return err
	}
	if s.controller, err = s.lab.Controller(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.openClients(), s.setGroup(ctx)); err != nil {
		return err
	}
	for i := range enginesCount {
		if err := s.join(ctx, fmt.Sprintf("engine-%d", i+1)); err != nil {
			return err
		}
	}
	for _, engine := range s.engines {
		if _, err := engine.firstPlan(ctx); err != nil {
			return err
		}
	}
	return nil
}

// openClients gives each client connections of its own, by one login.
func (s *stage) openClients() error {
	s.clients = nil
	for range clientsCount {
		session, err := client.Resume(s.controller.Session.Saved())
		if err != nil {
			return err
		}
		s.clients = append(s.clients, session)
	}
	return nil
}

// setGroup has each virtual service be on one engine, and the engines share them evenly.
func (s *stage) setGroup(ctx context.Context) error {
	group, err := s.clients[0].ByName(ctx, "serviceenginegroup", "Default-Group")
	if err != nil {
		return err
	}
	group["max_vs_per_se"], group["algo"] = servicesMax/enginesCount, "PLACEMENT_ALGO_DISTRIBUTED"
	_, err = s.clients[0].Replace(ctx, "serviceenginegroup", group)
	return err
}

func (s *stage) join(ctx context.Context, name string) error {
	text, err := s.controller.Token(ctx)
	if err != nil {
		return err
	}
	token, err := enrollment.ParseToken(text)
	if err != nil {
		return err
	}
	engine, err := startEngine(name, s.dir, s.programs, 1, s.ledger)
	if err != nil {
		return err
	}
	s.engines = append(s.engines, engine)
	engine.dial(s.controller.EngineAddress, &token)
	return nil
}

const (
	settleTimeout = 10 * time.Minute
	settlePoll    = 50 * time.Millisecond
)

// settled waits until engines serve this number of virtual services, and the controller is idle.
func (s *stage) settled(ctx context.Context, services int) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	poll := time.NewTicker(settlePoll)
	defer poll.Stop()
	for {
		serving, err := s.serving()
		if err == nil && serving == services {
			return s.atRest(ctx)
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("engines serve %d of %d virtual services: %w", serving, services, ctx.Err()),
				err)
		case <-poll.C:
		}
	}
}

func (s *stage) serving() (sum int, err error) {
	for _, engine := range s.engines {
		sum += engine.serves()
		err = errors.Join(err, engine.broken())
	}
	return sum, err
}

const (
	restSpan = time.Second
	restMax  = 30 * time.Second
	// restShare of a core is more than heartbeats and samples need, and less than a decision about objects.
	restShare = 0.25
)

// atRest waits until the controller is idle, or until the time for that is over.
func (s *stage) atRest(ctx context.Context) error {
	for deadline := time.Now().Add(restMax); time.Now().Before(deadline); {
		used, err := s.spend(ctx, restSpan)
		if err != nil || used < restShare {
			return err
		}
	}
	return nil
}

// spend is the share of a core that the controller uses for some time.
func (s *stage) spend(ctx context.Context, span time.Duration) (cores float64, err error) {
	before, begun := time.Duration(0), time.Now()
	if before, err = lab.CPUTime(s.controller.PID()); err != nil {
		return 0, err
	}
	select {
	case <-time.After(span):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := lab.CPUTime(s.controller.PID())
	return (after - before).Seconds() / time.Since(begun).Seconds(), err
}

// residentMiB is the memory that the controller has.
func (s *stage) residentMiB() (float64, error) {
	usage, err := meter.Read(s.controller.PID())
	return float64(usage.RSSBytes) / (1 << 20), err
}
