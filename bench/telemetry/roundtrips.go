package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/topology"
)

// Addresses of the two ends of the slow link (RFC 2544: for benchmarks). The far end has one for each round trip.
var (
	nearEnd = netip.MustParsePrefix("198.18.0.1/24")
	farEnds = []netip.Addr{netip.MustParseAddr("198.18.0.11"), netip.MustParseAddr("198.18.0.12"),
		netip.MustParseAddr("198.18.0.13")}
)

// farLag is how long the servers need for an answer, apart from the way to them.
const farLag = 20 * time.Millisecond

// afar is a stage in a namespace, and another namespace behind a slow link.
type afar struct {
	*stage
	near, far *network.Namespace
	link      *network.SlowLink
}

// fromAfar does something on such a stage, from nothing to nothing.
func (r *run) fromAfar(ctx context.Context, do func(*afar) error) (err error) {
	n, err := network.Create(fmt.Sprintf("telemetry-%d", os.Getpid()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Remove()) }()
	a := &afar{}
	for name, space := range map[string]**network.Namespace{"near": &a.near, "far": &a.far} {
		if *space, err = n.Attach(topology.Node{Name: name}); err != nil {
			return err
		}
	}
	spans := map[netip.Addr]time.Duration{}
	for i, end := range farEnds {
		spans[end] = delays[i]
	}
	if a.link, err = network.Slow(a.near, a.far, nearEnd, spans); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.link.Close()) }()
	return lab.During("weir-telemetry", r.programs, func(l *lab.Lab, _ string) error {
		a.stage = &stage{run: r, lab: l, vip: nearEnd.Addr().String()}
		if err := a.begin(ctx, l.At(a.near, "127.0.0.1")); err != nil {
			return err
		}
		return do(a)
	})
}

// measureRoundTrips compares the round trips to servers and to clients that are far away, and the time of these
// servers, with what the link and the servers really took.
func measureRoundTrips(ctx context.Context, r *run) (found findings.Finding, err error) {
	err = r.fromAfar(ctx, func(a *afar) error {
		for _, toServers := range []bool{true, false} {
			if err := a.compare(ctx, toServers, &found); err != nil {
				return err
			}
		}
		found.Note += fmt.Sprintf("means of %d requests a second. A process holds all packets between two namespaces, "+
			"the ones of handshakes, too, and says how long it held them: the means of both ways", delayedRate)
		return nil
	})
	return found, err
}

// compare has either the servers or the clients at the far end of the link.
func (a *afar) compare(ctx context.Context, toServers bool, found *findings.Finding) error {
	from, serverSpace, clientSpace := "clients", a.near, a.far
	if toServers {
		from, serverSpace, clientSpace = "servers", a.far, a.near
	}
	servers, services := make([]*lagging, len(delays)), make([]service, len(delays))
	for i, delay := range delays {
		servers[i] = &lagging{by: farLag}
		host := "127.0.0.1"
		if toServers {
			host = farEnds[i].String()
		}
		address, end, err := listenIn(serverSpace, host, servers[i])
		if err != nil {
			return err
		}
		defer end()
		if services[i], err = a.serveServers(ctx, fmt.Sprintf("%s-%v", from, delay), []string{address},
			nil); err != nil {
			return err
		}
	}
	var loading sync.WaitGroup
	errs := make([]error, len(delays))
	for i := range delays {
		loading.Go(func() {
			flags := append(clients.Rate(32, 0, delayedRate), "--url", services[i].url("/"), "--duration",
				strconv.Itoa(a.Short(10, 30))+"s")
			if !toServers {
				flags = append(flags, "--source", farEnds[i].String())
			}
			_, errs[i] = a.loadFirst(ctx, a.lab.At(clientSpace, ""), flags...)
		})
	}
	loading.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, server := range servers {
		told, err := a.timesOf(ctx, services[i], server.answers.Load())
		if err != nil {
			return err
		}
		rtt := told.ClientRTT.Mean
		if toServers {
			rtt = told.ServerRTT.Mean
		}
		held := milliseconds(a.link.RoundTrip(farEnds[i]))
		found.Value = max(found.Value, math.Abs(rtt-held), math.Abs(told.App.Mean-server.meanMs()))
		found.Note += fmt.Sprintf("%s at %v: round trip %.2f ms of %.2f, time of the application %.2f ms of %.2f; ",
			from,
			delays[i], rtt, held, told.App.Mean, server.meanMs())
	}
	return nil
}

// listenIn starts a server in a namespace.
func listenIn(space *network.Namespace, host string, handler *lagging) (address string, end func(), err error) {
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	if err := space.Run(func() (err error) {
		server.Listener, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
		return err
	}); err != nil {
		return "", nil, err
	}
	server.Start()
	return server.Listener.Addr().String(), server.Close, nil
}
