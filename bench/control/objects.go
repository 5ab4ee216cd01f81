package control

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/client"
)

// serversEach are in each pool.
const serversEach = 4

const (
	servicePort = 8000 // of virtual services, or another one where somebody listens there already
	poolPort    = 9000
)

// service is a virtual service that was created.
type service struct {
	index      int
	uuid, name string
}

func nameOf(index int) string { return fmt.Sprintf("web-%05d", index) }

// addressOf is the VIP of a virtual service: one of 127.64.0.0/10, which has 4 million.
func addressOf(index int) string {
	return fmt.Sprintf("127.%d.%d.%d", 64+index>>16, index>>8&0xff, index&0xff)
}

// growTo creates objects until there is this number of virtual services, and waits until engines serve them.
func (s *stage) growTo(ctx context.Context, size int) error {
	begun := time.Now()
	makers := []struct {
		what     string
		from, to int
		make     func(context.Context, *client.Session, int) error
	}{
		{"pools and VIPs", s.made, size + s.spares(), s.createParts},
		{"virtual services", len(s.services), size, func(ctx context.Context, c *client.Session,
			index int) (err error) {
			s.services[index], err = s.createService(ctx, c, index)
			return err
		}},
	}
	s.services = append(s.services, make([]*service, size-len(s.services))...)
	for _, m := range makers {
		if err := s.createAll(ctx, m.what, m.from, m.to, m.make); err != nil {
			return err
		}
	}
	s.made, s.size = size+s.spares(), size
	loaded := time.Since(begun)
	if err := s.settled(ctx, size); err != nil {
		return err
	}
	s.Say("%d virtual services: loaded in %.1f s, at rest after %.1f s",
		size, loaded.Seconds(), time.Since(begun).Seconds())
	return nil
}

// progressEvery is how often it is told how far loading has come.
const progressEvery = 10 * time.Second

// createAll has all clients create the objects between two numbers, and reports progress.
func (s *stage) createAll(ctx context.Context, what string, from, to int,
	create func(context.Context, *client.Session, int) error) error {
	var next, done atomic.Int64
	next.Store(int64(from))
	creating, ctx := errgroup.WithContext(ctx)
	for _, session := range s.clients {
		creating.Go(func() error {
			for index := int(next.Add(1)) - 1; index < to; index = int(next.Add(1)) - 1 {
				if err := create(ctx, session, index); err != nil {
					return fmt.Errorf("%s, number %d: %w", what, index, err)
				}
				done.Add(1)
			}
			return nil
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- creating.Wait() }()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			s.Say("  %d of %d %s", done.Load(), to-from, what)
		}
	}
}

// createParts makes what a virtual service refers to.
func (s *stage) createParts(ctx context.Context, c *client.Session, index int) error {
	var servers []any
	for _, server := range s.serversOf(index) {
		host, port, err := net.SplitHostPort(server)
		if err != nil {
			return err
		}
		servers = append(servers, client.Object{"ip": client.Object{"addr": host, "type": "V4"}, "port": port})
	}
	if _, err := c.Create(ctx, "pool", client.Object{"name": nameOf(index), "servers": servers}); err != nil {
		return fmt.Errorf("pool: %w", err)
	}
	vip := client.Object{"name": nameOf(index), "vip": []any{
		client.Object{"vip_id": "1", "ip_address": client.Object{"addr": addressOf(index), "type": "V4"}}}}
	if _, err := c.Create(ctx, "vsvip", vip); err != nil {
		return fmt.Errorf("vsvip: %w", err)
	}
	return nil
}

// serversOf are the servers of a pool. Only the first virtual service gets requests, so only its servers exist.
func (s *stage) serversOf(index int) []string {
	if index == loaded {
		return s.servers
	}
	var servers []string
	for i := range serversEach {
		number := index*serversEach + i
		address := fmt.Sprintf("127.%d.%d.%d", 128+number>>16, number>>8&0xff, number&0xff)
		servers = append(servers, net.JoinHostPort(address, strconv.Itoa(poolPort)))
	}
	return servers
}

func (s *stage) createService(ctx context.Context, c *client.Session, index int) (*service, error) {
	created, err := c.Create(ctx, "virtualservice", client.Object{
		"name": nameOf(index), "services": []any{client.Object{"port": s.port}},
		"vsvip_ref": client.Ref("vsvip", nameOf(index)), "pool_ref": client.Ref("pool", nameOf(index)),
	})
	if err != nil {
		return nil, err
	}
	return &service{index: index, uuid: fmt.Sprint(created["uuid"]), name: nameOf(index)}, nil
}
