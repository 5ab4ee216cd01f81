package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/ports"
)

// stage is a controller with one engine on loopback, and servers in this process.
type stage struct {
	*run
	lab        *lab.Lab
	vip        string // of all virtual services; empty: each has one of its own on loopback
	controller *lab.Controller
	engine     *lab.Engine
	made       int
}

// service is a virtual service that the engine serves.
type service struct {
	uuid, pool, vsvip string
	address           string // host:port
}

func (s service) url(path string) string { return "http://" + s.address + path }

// onStage does something on a stage, from nothing to nothing.
func (r *run) onStage(ctx context.Context, do func(*stage) error) error {
	return lab.During("weir-telemetry", r.programs, func(l *lab.Lab, _ string) error {
		s := &stage{run: r, lab: l}
		if err := s.begin(ctx, &l.Host); err != nil {
			return err
		}
		return do(s)
	})
}

// begin starts the controller and the engine on a host.
func (s *stage) begin(ctx context.Context, host *lab.Host) (err error) {
	if s.controller, err = host.Controller(ctx, s.flags...); err != nil {
		return err
	}
	if err := makeRoom(ctx, s.controller.Session, 1000); err != nil {
		return err
	}
	if s.engine, err = host.Engine(ctx, s.controller, "engine-1"); err != nil {
		return err
	}
	return s.untilCounting(ctx)
}

// makeRoom allows an engine so many virtual services.
func makeRoom(ctx context.Context, session *client.Session, services int) error {
	group, err := session.ByName(ctx, "serviceenginegroup", "Default-Group")
	if err != nil {
		return err
	}
	group["max_vs_per_se"] = services
	_, err = session.Replace(ctx, "serviceenginegroup", group)
	return err
}

// untilCounting waits until the controller can take differences: what an engine counts before its first sample belongs
// to no time.
func (s *stage) untilCounting(ctx context.Context) error {
	engine, err := s.controller.Session.ByName(ctx, "serviceengine", "engine-1")
	if err != nil {
		return err
	}
	return until(ctx, 100*time.Millisecond, func() error {
		var runtime struct {
			Dataplane struct {
				CPUPercent *float64 `json:"cpu_percent"`
			}
		}
		err := s.controller.Session.Get(ctx, fmt.Sprintf("serviceengine/%v/runtime", engine["uuid"]), &runtime)
		if err == nil && runtime.Dataplane.CPUPercent == nil {
			err = errors.New("the engine has not sent two samples")
		}
		return err
	})
}

// serve creates a virtual service with one server, and waits until it is up. more has further fields of it.
func (s *stage) serve(ctx context.Context, name string, handler http.Handler, more client.Object) (service, func(),
	error) {
	server := httptest.NewServer(handler)
	made, err := s.serveServers(ctx, name, []string{strings.TrimPrefix(server.URL, "http://")}, more)
	return made, server.Close, err
}

// place is where the next virtual service listens.
func (s *stage) place() (host string, port int, err error) {
	s.made++
	const first = 8000
	if s.vip != "" {
		return s.vip, first + s.made, nil
	}
	host = fmt.Sprintf("127.%d.%d.%d", 20+os.Getpid()>>8%200, os.Getpid()%256, s.made)
	port, err = ports.Free(host, first)
	return host, port, err
}

func (s *stage) serveServers(ctx context.Context, name string, servers []string, more client.Object) (made service,
	err error) {
	host, port, err := s.place()
	if err != nil {
		return made, err
	}
	made.address = fmt.Sprintf("%s:%d", host, port)
	var list []any
	for _, server := range servers {
		address, number, _ := strings.Cut(server, ":")
		list = append(list, client.Object{"ip": client.Object{"addr": address, "type": "V4"}, "port": number})
	}
	object := client.Object{"name": name, "services": []any{client.Object{"port": port}},
		"vsvip_ref": client.Ref("vsvip", name), "pool_ref": client.Ref("pool", name)}
	for field, value := range more {
		object[field] = value
	}
	for _, part := range []struct {
		kind   string
		object client.Object
		uuid   *string
	}{
		{"pool", client.Object{"name": name, "servers": list}, &made.pool},
		{"vsvip", client.Object{"name": name, "vip": []any{client.Object{"vip_id": "1",
			"ip_address": client.Object{"addr": host, "type": "V4"}}}}, &made.vsvip},
		{"virtualservice", object, &made.uuid},
	} {
		created, err := s.controller.Session.Create(ctx, part.kind, part.object)
		if err != nil {
			return made, fmt.Errorf("%s: %w", part.kind, err)
		}
		*part.uuid = fmt.Sprint(created["uuid"])
	}
	return made, s.untilUp(ctx, made)
}

func (s *stage) untilUp(ctx context.Context, of service) error {
	return until(ctx, 50*time.Millisecond, func() error {
		var runtime struct {
			OperStatus struct {
				State  string
				Reason []any
			} `json:"oper_status"`
		}
		err := s.controller.Session.Get(ctx, "virtualservice/"+of.uuid+"/runtime", &runtime)
		if err == nil && runtime.OperStatus.State != "OPER_UP" {
			err = fmt.Errorf("it is %s: %v", runtime.OperStatus.State, runtime.OperStatus.Reason)
		}
		return err
	})
}

// loadFirst runs a load from a host to its end. Meanwhile all processes of the stage go before what else the machine
// does: their times are compared with those of clients, and not with those of an idle machine. The load has to be
// light. Without the right to do so, they do not go first.
func (s *stage) loadFirst(ctx context.Context, from *lab.Host, flags ...string) (report lab.LoadReport, err error) {
	var preferred error
	report, err = from.LoadBetween(ctx, func() { preferred = meter.Prefer(os.Getpid(), nil) }, func() {}, flags...)
	if errors.Is(preferred, fs.ErrPermission) {
		preferred = nil
	}
	return report, errors.Join(err, preferred)
}

// until tries again and again until there is no error, or ctx ends.
func until(ctx context.Context, every time.Duration, try func() error) error {
	poll := time.NewTicker(every)
	defer poll.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-poll.C:
		}
	}
}
