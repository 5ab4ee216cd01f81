package control

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// startup is how the controller started on the data of so many virtual services.
type startup struct {
	size                   int
	first, every, answered time.Duration // until an engine, and all of them, had a Plan, and a login was answered
	residentMiB            float64       // at rest afterwards
}

func measureStart(ctx context.Context, s *stage) (Point, error) {
	up, err := s.restarted(ctx)
	note := fmt.Sprintf("all engines had their Plans after %.2f s, a login was answered after %.2f s",
		up.every.Seconds(), up.answered.Seconds())
	return Point{Value: milliseconds(up.first) / 1000, Count: 1, Note: note}, err
}

func measureMemory(ctx context.Context, s *stage) (Point, error) {
	up, err := s.restarted(ctx)
	return Point{Value: up.residentMiB, Count: 1}, err
}

// restarted starts the controller again, unless that was done since services were loaded.
func (s *stage) restarted(ctx context.Context) (startup, error) {
	if s.startup.size == s.size {
		return s.startup, nil
	}
	for _, engine := range s.engines {
		engine.hangUp()
	}
	if err := s.controller.Stop(); err != nil {
		return startup{}, err
	}
	up, err := s.start(ctx)
	if err != nil {
		return up, err
	}
	if err := s.settled(ctx, s.size); err != nil {
		return up, err
	}
	up.residentMiB, err = s.residentMiB()
	s.startup = up
	return up, err
}

// start starts the controller. Engines dial it from the first moment on, as agents do.
func (s *stage) start(ctx context.Context) (up startup, err error) {
	up.size = s.size
	begun := time.Now()
	for _, engine := range s.engines {
		engine.dial(s.controller.EngineAddress, nil)
	}
	var starting errgroup.Group
	starting.Go(func() error {
		if err := s.controller.Restart(ctx); err != nil {
			return err
		}
		up.answered = time.Since(begun)
		return s.openClients()
	})
	up.first = settleTimeout
	for _, engine := range s.engines {
		at, missing := engine.firstPlan(ctx)
		if missing != nil {
			err = missing
			break
		}
		up.first, up.every = min(up.first, at.Sub(begun)), max(up.every, at.Sub(begun))
	}
	if failed := starting.Wait(); failed != nil {
		return up, failed
	}
	return up, err
}
