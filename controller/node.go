package controller

import (
	"context"
	"net"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/controller/link"
	"github.com/weir-lb/weir/controller/membership"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/rest"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/web"
)

// node is what each node of a controller does: it stores the objects (data.go), serves REST, and holds the streams with
// the engines that are connected to it. Its memory is about its own connections, and is lost with it. The store has
// what other nodes need.
//
// A node asks the leader for what only the leader knows: the reports of engines, and the effects of orders.
type node struct {
	objects *store.Store
	rest    *rest.API
	link    *link.Server
}

func openNode(
	ctx context.Context, config Config, data *data, authority *pki.Authority, tokens *pki.Tokens, leader *leader,
	records *records,
) (*node, error) {
	members := membership.New(membership.Config{
		Objects: data.objects, Gate: data.gate, IsConnected: leader.fleet.IsConnected, Origin: originOf,
	})
	taken := records.intake(data.objects, config.Log)
	pages, err := web.Open()
	if err != nil {
		return nil, err
	}
	api, err := rest.Open(ctx, rest.Config{
		Store: data.objects, Gate: data.gate, Reports: reportsOf(leader.pages(), leader.grades), Tokens: tokens,
		Progress: leader.pages().Progress,
		Orders:   leader.orders(),
		Events:   leader.events,
		Pages:    pages,
		Live:     liveOf(leader.live),
		Metrics:  leader.history,
		Explain:  explainOf(leader.explain, leader.drafts), RuleFaults: ruleFaults,
		Scores:   scoresOf(leader.grades),
		Tester:   testerOf(leader.alerts),
		Habits:   habits{leader.unusual},
		Logs:     records.logs(),
		Requests: taken,
		Version:  config.Version, Logger: config.Log, EnginePort: portIn(config.EngineListen),
	})
	if err != nil {
		return nil, err
	}
	agents := link.NewServer(authority, tokens, members, ears{leader.fleet, leader.explain, leader.shares},
		leader.events, config.Log)
	agents.Records(taken)
	leader.explain.Connect(agents.Ask)
	leader.shares.Connect(agents.Share)
	return &node{objects: data.objects, rest: api, link: agents}, nil
}

func portIn(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return port
}

// run serves until ctx ends or the store fails.
func (n *node) run(ctx context.Context, api, engines net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return n.rest.Serve(ctx, api) })
	group.Go(func() error { return n.link.Serve(ctx, engines) })
	group.Go(func() error { return watch(ctx, n.objects) })
	return group.Wait()
}

// watch returns an error when the store fails while the controller runs.
func watch(ctx context.Context, objects *store.Store) error {
	select {
	case err := <-objects.Failed():
		return err
	case <-ctx.Done():
		return nil
	}
}
