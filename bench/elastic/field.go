package elastic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/network"
	"github.com/weir-lb/weir/lab/teller"
	"github.com/weir-lb/weir/lab/topology"
)

// The VIP of lab/seed.toml; clients ask there.
var (
	vip       = netip.MustParseAddr("3.3.3.3")
	vipPrefix = netip.PrefixFrom(vip, 32)
)

const (
	secureURL = "https://3.3.3.3/index.html"
	clearURL  = "http://3.3.3.3/index.html"

	settleTimeout = 60 * time.Second
	settlePoll    = 20 * time.Millisecond
)

// field is a lab in which engines serve one virtual service to two clients with eight addresses each.
type field struct {
	*run
	site    *lab.Site
	router  *network.Namespace
	service string // uuid
}

// openField builds a lab with idle engines, for a virtual service on a number of them. With no engines, the controller
// has to start them.
func (r *run) openField(ctx context.Context, engines, serving int) (*field, error) {
	return r.openNamed(ctx, "field", engines, serving)
}

// openNamed is openField where there is more than one at once.
func (r *run) openNamed(ctx context.Context, name string, engines, serving int) (*field, error) {
	top, err := lab.Seed()
	if err != nil {
		return nil, err
	}
	top.Name = fmt.Sprintf("elastic-%d-%s", os.Getpid(), name)
	top.Router.Kind = cmp.Or(r.Router, top.Router.Kind)
	top.Engines.Count, top.Servers.Count, top.Clients.Count = engines, 2, 2
	top.Elastic = engines == 0
	site, err := lab.OpenSite(top, r.programs, r.told)
	if err != nil {
		return nil, err
	}
	f := &field{run: r, site: site}
	err = site.Build(ctx)
	if err == nil {
		f.router, err = site.Network.Namespace(topology.RouterName)
	}
	if err == nil {
		err = f.setGroup(ctx, client.Object{"min_scaleout_per_vs": serving, "max_scaleout_per_vs": 64, "max_se": 64,
			"min_se": 0, "buffer_se": 0, "se_deprovision_delay": 0})
	}
	if err == nil && engines == 0 {
		err = f.untilNoEngine(ctx) // there was one for the moment in which the group asked for it
	}
	if err != nil {
		return nil, errors.Join(err, site.Close())
	}
	return f, nil
}

// openServing is a field whose virtual service is on engines already.
func (r *run) openServing(ctx context.Context, engines, serving int) (*field, error) {
	f, err := r.openField(ctx, engines, serving)
	if err != nil {
		return nil, err
	}
	if err := f.serveOn(ctx, serving); err != nil {
		return nil, errors.Join(err, f.site.Close())
	}
	return f, nil
}

func (f *field) serveOn(ctx context.Context, engines int) error {
	return f.told.Play(ctx, teller.Step{Doing: fmt.Sprintf("serve on %d engines", engines),
		Do: func(ctx context.Context) (string, error) {
			if err := f.serve(ctx); err != nil {
				return "", err
			}
			return secureURL, errors.Join(f.untilHops(ctx, engines), f.untilOn(ctx, engines))
		}})
}

func (f *field) serve(ctx context.Context) (err error) {
	f.service, err = f.site.Serve(ctx, "web", vip)
	return err
}

// untilNoEngine waits until the controller has retired all engines that it started.
func (f *field) untilNoEngine(ctx context.Context) error {
	return until(ctx, func(context.Context) error {
		left, err := f.site.Engines.List()
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%v are there", left)
		}
		return err
	})
}

// setGroup is one PATCH of the engine group.
func (f *field) setGroup(ctx context.Context, fields client.Object) error {
	session := f.site.Controller.Session
	group, err := session.ByName(ctx, "serviceenginegroup", "Default-Group")
	if err != nil {
		return err
	}
	return session.Patch(ctx, "serviceenginegroup", fmt.Sprint(group["uuid"]), fields)
}

// order asks for something that can be done with a virtual service.
func (f *field) order(ctx context.Context, verb string) error {
	return f.site.Controller.Session.Post(ctx, "virtualservice/"+f.service+"/"+verb, client.Object{}, nil)
}

// untilHops waits until the router sends clients to this number of engines.
func (f *field) untilHops(ctx context.Context, engines int) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	return f.router.UntilHopCount(ctx, vipPrefix, engines)
}

// untilOn waits until the API says that this number of engines serves the virtual service, and that no change is in
// progress.
func (f *field) untilOn(ctx context.Context, engines int) error {
	return until(ctx, func(ctx context.Context) error {
		seats, err := f.seats(ctx)
		if err != nil {
			return err
		}
		for _, seat := range seats {
			if seat.State != "serving" || !seat.Advertised {
				return fmt.Errorf("%s is %s", seat.Name, seat.State)
			}
		}
		if len(seats) != engines {
			return fmt.Errorf("it is on %d engines, and not on %d", len(seats), engines)
		}
		return nil
	})
}

// seat is what the API says of an engine of the virtual service.
type seat struct {
	Name       string `json:"name"`
	State      string `json:"state"`
	Advertised bool   `json:"advertised"`
}

func (f *field) seats(ctx context.Context) ([]seat, error) {
	var runtime struct {
		Engines []seat `json:"service_engine"`
	}
	err := f.site.Controller.Session.Get(ctx, "virtualservice/"+f.service+"/runtime", &runtime)
	return runtime.Engines, err
}

// untilWatched waits until BFD between an engine and the router is up. Before that, BFD would not notice a fault.
func (f *field) untilWatched(ctx context.Context, engine string) error {
	object, err := f.site.Controller.Session.ByName(ctx, "serviceengine", engine)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("serviceengine/%v/bfd/session_status", object["uuid"])
	return until(ctx, func(ctx context.Context) error {
		var sessions struct {
			Results []struct {
				State string `json:"session_state"`
			} `json:"results"`
		}
		if err := f.site.Controller.Session.Get(ctx, path, &sessions); err != nil {
			return err
		}
		for _, session := range sessions.Results {
			if session.State != "Up" {
				return fmt.Errorf("BFD of %s is %s", engine, session.State)
			}
		}
		if len(sessions.Results) == 0 {
			return fmt.Errorf("%s has no session of BFD", engine)
		}
		return nil
	})
}

// until waits until check succeeds.
func until(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	poll := time.NewTicker(settlePoll)
	defer poll.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %v: %w", settleTimeout, err)
		case <-poll.C:
		}
	}
}

// pass lets time go by under load.
func pass(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(span):
		return nil
	}
}
