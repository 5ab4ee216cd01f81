package demo

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/weir-lb/weir/lab"
)

// runOnSite plays the demo in the topology of lab/seed.toml, in a lab of its own.
func runOnSite(ctx context.Context, options Options, programs string, s *stage) (err error) {
	t, err := lab.Seed()
	if err != nil {
		return err
	}
	t.Name = fmt.Sprintf("demo-%d", os.Getpid())
	t.Engines.Count = enginesMost()
	if err := lab.CheckSite(t, programs); err != nil {
		return err
	}
	if s.site, err = lab.OpenSite(t, programs, s.told); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.site.Close()) }()
	if err := s.site.Build(ctx); err != nil {
		return err
	}
	if s.client, err = s.site.Client(1); err != nil {
		return err
	}
	s.controller, s.servers, s.service = s.site.Controller, s.site.Servers, siteService
	s.dataplanes = func(ctx context.Context) ([]int, error) {
		var pids []int
		of, err := s.controller.Dataplanes(ctx)
		for _, pid := range of {
			pids = append(pids, pid)
		}
		return pids, err
	}
	return s.act(ctx, options)
}
