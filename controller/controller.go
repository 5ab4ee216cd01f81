// Package controller is the composition root. node.go starts what each node of a controller does: the store, REST and
// the engine link. leader.go starts what one node does for all nodes, such as the loop that turns each change into
// Plans (loop.go). The packages that are composed here make the decisions.
package controller

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/metrics"
	"github.com/weir-lb/weir/controller/pki"
)

// Config is what an operator chooses at start.
type Config struct {
	Version           string      // of this build
	DataDir           string      // objects, keys, admin password
	Listen            string      // REST, host:port
	EngineListen      string      // gRPC for agents, host:port
	AdminPasswordFile string      // for the first start; empty: the controller generates a password
	Engines           cloud.Cloud // starts engines of clouds of type CLOUD_NONE; nil: operators start them
	Programs          string      // the directory of weir and weir-dataplane, to copy them to hosts
	Records           RecordStore // of events and audit entries
	OutwardFile       string      // says where else numbers and rows go; empty: nowhere
	CountriesFile     string      // says in which country addresses are; empty: nobody knows
	Profile           bool        // tells where memory and processor time go, on a socket in DataDir
	// AllowLocalReceivers lets alerts, numbers and rows be sent to services of this machine and its link.
	AllowLocalReceivers bool
	Out                 io.Writer // one line for each fact that an operator needs
	Log                 *slog.Logger
}

// Run serves until ctx ends. Its error is one line that says what is wrong and what to do.
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
	beside, err := openOutside(config)
	if err != nil {
		return err
	}
	records := newRecords(config, beside.streams)
	data, err := openData(ctx, config, records)
	if err != nil {
		return err
	}
	defer data.objects.Close()
	return serve(ctx, config, data, records, beside.numbers, api, engines)
}

// serve runs the parts of this node, and those of the leader, until one part fails or ctx ends. Then it waits for the
// other parts to end. This controller has one node, which leads.
func serve(
	ctx context.Context, config Config, data *data, records *records, numbers metrics.Receiver, api,
	engines net.Listener,
) error {
	authority, err := pki.OpenAuthority(ctx, data.objects.Vault("pki"), data.sealer, time.Now())
	if err != nil {
		return err
	}
	tokens := pki.NewTokens(data.objects.Vault("join-token"), authority, time.Now)
	leader := newLeader(config, data, tokens, dialled(engines.Addr()), numbers)
	records.keepEvents(leader.events)
	records.alerts = leader.alerts
	records.follow(config, data.objects, leader.events)
	config.EngineListen = engines.Addr().String() // with the port that was chosen, if any was
	node, err := openNode(ctx, config, data, authority, tokens, leader, records)
	if err != nil {
		return err
	}
	fingerprint, err := node.rest.Fingerprint()
	if err != nil {
		return err
	}
	var profiles net.Listener
	if config.Profile {
		if profiles, err = listenProfile(ctx, config.DataDir); err != nil {
			return err
		}
	}
	announce(config.Out, data, api.Addr(), engines.Addr(), fingerprint)
	defer records.run()()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return node.run(ctx, api, engines) })
	group.Go(func() error { return leader.run(ctx, node.link) })
	if profiles != nil {
		group.Go(func() error { return serveProfile(ctx, profiles) })
	}
	return group.Wait()
}

func announce(out io.Writer, data *data, api, engines net.Addr, fingerprint string) {
	fmt.Fprintf(out, "Web pages       https://%s/\n", reachable(api))
	fmt.Fprintf(out, "REST API        https://%s\n", reachable(api))
	fmt.Fprintf(out, "Certificate     SHA-256 fingerprint %s\n", fingerprint)
	fmt.Fprintf(out, "Engines join    %s\n", reachable(engines))
	// The password itself must not be printed: output ends up in journals.
	if data.passwordFile != "" {
		fmt.Fprintf(out, "User admin      the first password is in %s\n", data.passwordFile)
	} else {
		fmt.Fprintln(out, "User admin      password as it was set before")
	}
}
