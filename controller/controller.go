// Package controller is the composition root: it opens the store, starts REST and the engine link, and runs the loop
// that turns each change into a Plan for each engine (loop.go). Decisions live in the packages it composes.
package controller

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/link"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/rest"
	"github.com/weir-lb/weir/controller/store"
)

// Config is what an operator decides at start.
type Config struct {
	Version           string      // of this build
	DataDir           string      // objects, keys, admin password
	Listen            string      // REST, host:port
	EngineListen      string      // gRPC for agents, host:port
	AdminPasswordFile string      // for the first start; empty: one is generated
	Engines           cloud.Cloud // starts engines of clouds of type CLOUD_NONE; nil: operators do
	Programs          string      // the directory of weir and weir-dataplane, which are copied to hosts
	Out               io.Writer   // one line each for what an operator needs to know
	Log               *slog.Logger
}

// Run serves until ctx ends. An error is one line that says what is wrong and what to do.
func Run(ctx context.Context, config Config) error {
	api, err := listen(ctx, "--listen", config.Listen)
	if err != nil {
		return err
	}
	defer api.Close()
	engines, err := listen(ctx, "--engine-listen", config.EngineListen)
	if err != nil {
		return err
	}
	defer engines.Close()
	data, err := openData(ctx, config)
	if err != nil {
		return err
	}
	defer data.objects.Close()
	return serve(ctx, config, data, api, engines)
}

// serve runs all parts until one fails or ctx ends, and then waits for the others.
func serve(ctx context.Context, config Config, data *data, api, engines net.Listener) error {
	log := config.Log
	authority, err := pki.OpenAuthority(ctx, data.objects.Vault("pki"), data.sealer, time.Now())
	if err != nil {
		return err
	}
	tokens := pki.NewTokens(data.objects.Vault("join-token"), authority, time.Now)
	events := events.New(log, time.Now)
	fleet := fleet.New(data.objects, log, events, time.Now)
	link := link.NewServer(authority, tokens, fleet, events, log)
	gate, err := admit.Open(ctx, data.objects, time.Now, log)
	if err != nil {
		return err
	}
	known := &known{}
	surface, err := rest.Open(ctx, rest.Config{
		Store: data.objects, Gate: gate, Reports: reportsOf(fleet), Tokens: tokens,
		Orders: orders{fleet, events, known}, Events: events, Version: config.Version, Logger: log,
	})
	if err != nil {
		return err
	}
	fingerprint, err := surface.Fingerprint()
	if err != nil {
		return err
	}
	keeper := cloud.NewKeeper(cloud.Config{
		Objects: data.objects, Tokens: tokens, Events: events, Log: log, Controller: dialled(engines.Addr()), Resolve: clouds{config.Engines, config.Programs}.of,
	})
	announce(config.Out, data, api.Addr(), engines.Addr(), fingerprint)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return surface.Serve(ctx, api) })
	group.Go(func() error { return link.Serve(ctx, engines) })
	loop := &loop{objects: data.objects, fleet: fleet, link: link, keeper: keeper, events: events, log: log, known: known}
	group.Go(func() error { return loop.run(ctx) })
	group.Go(func() error { return keeper.Run(ctx) })
	group.Go(func() error { return fleet.Watch(ctx) })
	group.Go(func() error { return watch(ctx, data.objects) })
	return group.Wait()
}

// watch ends with an error when the store dies under the running controller.
func watch(ctx context.Context, objects *store.Store) error {
	select {
	case err := <-objects.Failed():
		return err
	case <-ctx.Done():
		return nil
	}
}

func announce(out io.Writer, data *data, api, engines net.Addr, fingerprint string) {
	fmt.Fprintf(out, "REST API        https://%s\n", reachable(api))
	fmt.Fprintf(out, "Certificate     SHA-256 fingerprint %s\n", fingerprint)
	fmt.Fprintf(out, "Engines join    %s\n", reachable(engines))
	// Not the password itself: what is printed ends up in journals.
	if data.passwordFile != "" {
		fmt.Fprintf(out, "User admin      the first password is in %s\n", data.passwordFile)
	} else {
		fmt.Fprintln(out, "User admin      password as it was set before")
	}
}
