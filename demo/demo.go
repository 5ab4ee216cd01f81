// Package demo builds a small version of the HTTPS virtual service in the report on 1 million TLS transactions per
// second (Principled Technologies, 2020; "the report" in this package): nginx servers, a controller, engines and a load
// generator, each as a process. As root it uses a network of namespaces with a router, otherwise the loopback interface
// with one engine. It configures everything through the public REST API, like an operator, and leaves no process
// behind.
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
	"github.com/weir-lb/weir/lab/draw"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/teller"
)

// Options say how a demo runs.
type Options struct {
	Loopback bool   // also for root
	Once     bool   // end after the load instead of serving until ctx ends
	Picture  string // file for a picture of the figures, and of the engines that come and go; empty: none
	JSON     bool   // figures as one JSON object, last on Out; everything else goes to Progress
	Out      io.Writer
	// Progress receives the steps. Live says that it is a terminal, where a line can be rewritten.
	Progress io.Writer
	Live     bool
}

// ErrFellShort says that the demo ran and its figures are not what they must be.
var ErrFellShort = errors.New("the demo fell short")

// Run plays the demo until it is over or ctx ends.
func Run(ctx context.Context, options Options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	programs := filepath.Dir(self)
	s := &stage{told: &teller.Teller{Out: options.Progress, Live: options.Live}}
	if options.Loopback || network.CheckRoot() != nil {
		return runAtLoopback(ctx, options, programs, s)
	}
	return runOnSite(ctx, options, programs, s)
}

// act plays what is the same wherever the demo is, once its parts run.
func (s *stage) act(ctx context.Context, options Options) error {
	err := s.told.Play(ctx,
		teller.Step{Doing: "configure the profiles", Do: s.configure},
		teller.Step{Doing: "create the pool, the VIP and the virtual service", Do: s.create},
		teller.Step{Doing: "wait until it is served", Do: s.waitServed},
	)
	if err != nil {
		return err
	}
	f, err := s.load(ctx)
	if err != nil {
		return err
	}
	pictures := []draw.Picture{f.picture()}
	if s.site != nil {
		var story draw.Story
		if f.Scale, story, err = s.scale(ctx); err != nil {
			return err
		}
		pictures = append(pictures, story.Picture())
	}
	if options.Picture != "" {
		if err := os.WriteFile(options.Picture, []byte(draw.Stack(pictures...).SVG()), 0o644); err != nil {
			return err
		}
	}
	if err := report(options, s, f); err != nil {
		return err
	}
	if short := f.shortfall(); options.Once && len(short) > 0 {
		return fmt.Errorf("%w: %s", ErrFellShort, strings.Join(short, "; "))
	}
	if options.Once {
		return nil
	}
	return s.stay(ctx, options.Progress)
}

const serversCount = 3

// clientsCount is the number of hosts that send load.
func (s *stage) clientsCount() int {
	if s.site == nil {
		return 1
	}
	return s.site.Topology.Clients.Count
}

// stage is the demo while it runs.
type stage struct {
	told       *teller.Teller
	site       *lab.Site // nil: at loopback
	client     *lab.Host // the load comes from there
	servers    []*lab.Nginx
	controller *lab.Controller
	dataplanes func(context.Context) ([]int, error) // processes
	service    service
}

func (s *stage) configure(ctx context.Context) (string, error) {
	return "System-Secure-HTTP, System-TCP-Proxy, System-Standard", configureProfiles(ctx, s.controller.Session)
}

func (s *stage) create(ctx context.Context) (string, error) {
	err := s.service.create(ctx, s.controller.Session, s.servers)
	return s.service.url(), err
}

func (s *stage) waitServed(ctx context.Context) (string, error) {
	result, err := s.service.waitUp(ctx, s.controller.Session)
	if err != nil || s.site == nil {
		return result, err
	}
	return result, s.untilAnnouncing(ctx, scaleSteps[0])
}

// load drives all loads, one after the other.
func (s *stage) load(ctx context.Context) (f figures, err error) {
	for _, l := range loads {
		s.told.Begin(fmt.Sprintf("drive %s over %s for %d s", l.protocol, l.how(), l.seconds))
		m, err := s.drive(ctx, l)
		if err != nil {
			return f, s.told.Failed(err)
		}
		*l.into(&f) = m
		s.told.Done(fmt.Sprintf("%d requests", m.Transactions))
	}
	return f, nil
}

func (s *stage) drive(ctx context.Context, l load) (measured, error) {
	dataplanes, err := s.dataplanes(ctx)
	if err != nil {
		return measured{}, err
	}
	driving, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		s.watchRequests(driving)
		close(watched)
	}()
	m, err := l.drive(ctx, s.client, s.service, dataplanes)
	stop()
	<-watched
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return m, err
}

// watchRequests prints each second what the virtual service answers, as long as the API reports it.
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
		now, err := s.service.runtime(ctx, s.controller.Session)
		if err != nil {
			return
		}
		s.told.Meanwhile(now.progress())
	}
}
