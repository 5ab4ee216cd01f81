package rules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/teller"
	"github.com/weir-lb/weir/lab/topology"
)

const (
	limitEngines = 8
	limitPerS    = 200
	askedTimes   = 10  // as much as the limit
	limitLinks   = 256 // which routers spread over all engines
	limitSettle  = time.Minute
	limitPoll    = 100 * time.Millisecond
)

// limitVIP is in a prefix of lab/seed.toml.
var limitVIP = netip.MustParseAddr("3.3.3.3")

// limitTotal is a limit of the virtual service, which all of its engines share.
func limitTotal(ctx context.Context, site *lab.Site, service string) error {
	return site.Controller.Session.Patch(ctx, "virtualservice", service,
		client.Object{"requests_rate_limit": limited()})
}

// limitEachClient is a limit of each client, of which there is one.
func limitEachClient(ctx context.Context, site *lab.Site, service string) error {
	session := site.Controller.Session
	_, err := session.Create(ctx, "applicationprofile", client.Object{"name": "limited",
		"type":           "APPLICATION_PROFILE_TYPE_HTTP",
		"http_profile":   client.Object{},
		"dos_rl_profile": client.Object{"rl_profile": client.Object{"client_ip_requests_rate_limit": limited()}}})
	if err != nil {
		return err
	}
	return session.Patch(ctx, "virtualservice", service,
		client.Object{"application_profile_ref": client.Ref("applicationprofile", "limited")})
}

func limited() client.Object {
	return client.Object{"rate_limiter": client.Object{"count": limitPerS, "period": 1, "burst_sz": 0},
		"action": client.Object{"type": "RL_ACTION_LOCAL_RSP", "status_code": "HTTP_LOCAL_RESPONSE_STATUS_CODE_429"}}
}

// overshoot asks ten times as much as a limit lets pass, of eight engines behind a router, and tells what came beyond
// it. The bucket of the limit is full at the beginning, and what is in it is not beyond.
func overshoot(limit func(context.Context, *lab.Site, string) error,
) func(context.Context, *run) (findings.Finding, error) {
	return func(ctx context.Context, r *run) (found findings.Finding, err error) {
		if err := network.CheckRoot(); err != nil {
			return found, err
		}
		top, err := lab.Seed()
		if err != nil {
			return found, err
		}
		top.Name = fmt.Sprintf("limits-%d", os.Getpid())
		top.Engines.Count, top.Servers.Count, top.Clients.Count = limitEngines, 1, 1
		site, err := lab.OpenSite(top, r.programs, &teller.Teller{Out: io.Discard})
		if err != nil {
			return found, err
		}
		defer func() { err = errors.Join(err, site.Close()) }()
		if err := serveLimited(ctx, site, limit); err != nil {
			return found, err
		}
		host, err := site.Client(1)
		if err != nil {
			return found, err
		}
		seconds := r.Short(5, 30)
		// One address is one client.
		flags := append(clients.Sources(site.Topology.ClientNodes()[0])[:2], "--url", "http://"+limitVIP.String()+"/",
			"--rate", fmt.Sprint(askedTimes*limitPerS), "--connections", fmt.Sprint(limitLinks),
			"--requests-per-connection", "0", "--duration", fmt.Sprintf("%ds", seconds), "--server-header", lab.AskedBy)
		report, err := host.Load(ctx, flags...)
		if err != nil {
			return found, err
		}
		passes := float64(limitPerS * (seconds + 1))
		found.Value = max(0, 100*(float64(report.Requests)/passes-1))
		delete(report.PerValue, "(none)") // what engines answered themselves
		engines := len(report.PerValue)
		found.Note = fmt.Sprintf(
			"%d engines behind a router, %d connections of one client, %d requests a second in %d s of a "+
				"limit of %d: %d passed, %d were refused; %d engines answered", limitEngines, limitLinks,
			(report.Requests+report.ErrorTotal)/int64(seconds), seconds, limitPerS, report.Requests, report.ErrorTotal,
			engines)
		if engines != limitEngines || float64(report.Requests) < 0.9*passes {
			return found, fmt.Errorf("the limit lets %.0f pass over %d engines: %s", passes, limitEngines, found.Note)
		}
		if others := report.ErrorTotal - report.Errors["status"]; others > 0 {
			err = fmt.Errorf("%d requests failed: %v", others, report.Errors)
		}
		return found, err
	}
}

// serveLimited has all engines of a site serve a virtual service with a limit.
func serveLimited(ctx context.Context, site *lab.Site, limit func(context.Context, *lab.Site, string) error) error {
	if err := site.Build(ctx); err != nil {
		return err
	}
	session := site.Controller.Session
	group, err := session.ByName(ctx, "serviceenginegroup", "Default-Group")
	if err != nil {
		return err
	}
	err = session.Patch(ctx, "serviceenginegroup", fmt.Sprint(group["uuid"]), client.Object{
		"min_scaleout_per_vs": limitEngines, "max_scaleout_per_vs": limitEngines, "max_se": limitEngines})
	if err != nil {
		return err
	}
	service, err := site.Serve(ctx, "web", limitVIP)
	if err != nil {
		return err
	}
	router, err := site.Network.Namespace(topology.RouterName)
	if err != nil {
		return err
	}
	settling, cancel := context.WithTimeout(ctx, limitSettle)
	defer cancel()
	if err := router.UntilHopCount(settling, netip.PrefixFrom(limitVIP, 32), limitEngines); err != nil {
		return err
	}
	if err := limit(ctx, site, service); err != nil {
		return err
	}
	return untilApplied(settling, site, service)
}

// untilApplied waits until all engines serve the newest state of a virtual service.
func untilApplied(ctx context.Context, site *lab.Site, service string) error {
	poll := time.NewTicker(limitPoll)
	defer poll.Stop()
	for {
		var runtime struct {
			Status struct {
				State string `json:"state"`
			} `json:"oper_status"`
		}
		if err := site.Controller.Session.Get(ctx, "virtualservice/"+service+"/runtime", &runtime); err != nil {
			return err
		}
		if runtime.Status.State == "OPER_UP" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the virtual service is %s: %w", runtime.Status.State, ctx.Err())
		case <-poll.C:
		}
	}
}
