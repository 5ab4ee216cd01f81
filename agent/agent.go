// Package agent composes the agent of one engine: state on disk, link to the controller, data plane, fast path, health
// monitors, routes. It serves the last good Plan before it dials the controller, and keeps serving whatever happens to
// the controller.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/weir-lb/weir/agent/dataplane"
	"github.com/weir-lb/weir/agent/fastpath/detour"
	"github.com/weir-lb/weir/agent/link"
	"github.com/weir-lb/weir/agent/monitor"
	"github.com/weir-lb/weir/agent/plan"
	"github.com/weir-lb/weir/agent/returnpath"
	"github.com/weir-lb/weir/agent/route"
	"github.com/weir-lb/weir/agent/spool"
	"github.com/weir-lb/weir/agent/state"
	"github.com/weir-lb/weir/api/engine/enrollment"
	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/host"
)

// farewellTimeout is how long the agent waits at its end for the controller to receive its last report.
const farewellTimeout = time.Second

// lettingGoFor is how long the agent waits at its end for each client's next request, whose response sends the client
// elsewhere.
const lettingGoFor = 5 * time.Second

// socketPathMax is how long the path of a unix socket may be (unix(7)).
const socketPathMax = 107

// Config is what an operator configures for an engine.
type Config struct {
	StateDir      string
	Controller    string // host:port
	Token         string // one-time join token; may be empty once the engine has joined
	Name          string // of the engine; empty: the host's
	Dataplane     string // path of the data plane's binary; empty: found beside this program or in PATH
	Workers       int    // of the data plane; 0: one for each core
	KeepDataplane bool   // leave the data plane running at the end, for the next agent
	RecordsMiB    int    // of the disk, for records of requests while the controller is away
	VIPInterface  string // that advertised VIPs are put on; empty: none
	Version       string
	Log           *slog.Logger
}

// Run serves until ctx ends. It fails when it cannot start, or when it has no Plan to serve and may not join.
func Run(ctx context.Context, config Config) error {
	token, err := config.check()
	if err != nil {
		return err
	}
	binary, err := dataplane.Find(config.Dataplane)
	if err != nil {
		return err
	}
	dir, err := state.Open(config.StateDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	identity, err := remembered(dir.Identity, config.Log, "this engine has to join again")
	if err != nil {
		return err
	}
	if identity == nil && token == nil {
		return fmt.Errorf("this engine has not joined %s yet: give it a join token with --token", config.Controller)
	}
	plan, err := keptPlan(dir, config.Log)
	if err != nil {
		return err
	}
	supervised := &supervised{}
	records, err := spool.Open(spool.Config{
		Dir: dir.File(recordsName), DiskBytes: int64(config.RecordsMiB) << 20, Taken: supervised.recordsTaken,
		Log: config.Log,
	})
	if err != nil {
		return fmt.Errorf("records of requests in %s: %w", dir.File(recordsName), err)
	}
	serve := withDataplane(config, binary, dir, plan, records, supervised)
	return newAgent(config, dir, serve, token, identity, plan, records).run(ctx)
}

// keptPlan is the last good Plan; nil: there is none, or it cannot be read.
func keptPlan(dir *state.Dir, log *slog.Logger) (*plan.Plan, error) {
	const remedy = "the controller will send the Plan again"
	wire, err := remembered(dir.Plan, log, remedy)
	if err != nil || wire == nil {
		return nil, err
	}
	kept, findings := plan.Read(wire)
	if kept == nil {
		first := findings[0]
		log.Error("the last good Plan cannot be read; "+remedy, "kind", first.Kind, "name", first.Name,
			"reason", first.Message)
	}
	return kept, nil
}

// check returns the parsed token; nil: none was given.
func (c *Config) check() (*enrollment.Token, error) {
	if c.Controller == "" {
		return nil, errors.New("say where the controller is with --controller host:port")
	}
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("name this engine with --name: %w", err)
		}
		c.Name = host
	}
	if path := filepath.Join(c.StateDir, socketName); len(path) > socketPathMax {
		return nil, fmt.Errorf("--state-dir %s is too long for the socket in it: %d characters at most", c.StateDir,
			socketPathMax-len(socketName)-1)
	}
	if c.Token == "" {
		return nil, nil
	}
	token, err := enrollment.ParseToken(c.Token)
	if err != nil {
		return nil, fmt.Errorf("--token: %w", err)
	}
	return &token, nil
}

// remembered reads a kept value. It returns nil when there is none or the file is corrupt; it logs a corrupt file, and
// the agent goes on without it.
func remembered[T any](read func() (*T, error), log *slog.Logger, remedy string) (*T, error) {
	kept, err := read()
	var corrupt *state.CorruptError
	switch {
	case errors.Is(err, state.ErrAbsent):
		return nil, nil
	case errors.As(err, &corrupt):
		log.Error(corrupt.Error() + "; " + remedy)
		return nil, nil
	default:
		return kept, err
	}
}

const (
	socketName = "dataplane.sock"
	outputName = "dataplane.log"
	// recordsName is the directory of records that the controller does not have yet.
	recordsName = "records"
)

// agent is the parts, wired to each other.
type agent struct {
	log      *slog.Logger
	serves   bool // there is a Plan to serve without the controller
	keeps    bool // the data plane goes on at the end
	idle     <-chan struct{}
	link     *link.Link
	server   server
	monitors *monitor.Set
	routes   *route.Set
	detour   *detour.Set
	path     *returnpath.Set
	preparer *preparer
	keeper   *keeper
	stateDir string
	records  *spool.Spool
}

// server serves what Plans ask for. It tells its Observer the answer to each Plan, its status, and a Sample each
// second; routes and the fast path take the Sample as a sign of life. Nothing else in the agent depends on a data
// plane. So an engine that only has a fast path could be another implementation of server.
type server interface {
	Run(context.Context) // until it ends
	Apply(*plan.Plan)
	StateChanged(plan.Member)
	LetGo()
	Ask(*dataplanev1.Question) bool
	Share(*dataplanev1.KeyShares)
}

// newServer makes a server from the other parts of the agent.
type newServer func(dataplane.Observer, dataplane.States, dataplane.Segments) server

// withDataplane serves with a data plane, and restarts the data plane when it dies. It keeps the Plan on disk.
func withDataplane(config Config, binary string, dir *state.Dir, kept *plan.Plan, records *spool.Spool,
	supervised *supervised) newServer {
	return func(observer dataplane.Observer, states dataplane.States, segments dataplane.Segments) server {
		supervised.Supervisor = dataplane.New(dataplane.Config{
			Binary: binary, Socket: dir.File(socketName), Output: dir.File(outputName), Workers: config.Workers,
			Version: config.Version, Keep: config.KeepDataplane, Kept: kept, States: states, Segments: segments,
			Observer: observer, Records: records.Received, Log: config.Log,
		})
		return supervised
	}
}

// supervised is a data plane that learns which of its records are safe.
type supervised struct{ *dataplane.Supervisor }

func (s *supervised) recordsTaken(taken *dataplanev1.RecordsTaken) { s.RecordsTaken(taken) }

func newAgent(
	config Config, dir *state.Dir, serve newServer, token *enrollment.Token, identity *state.Identity, kept *plan.Plan,
	records *spool.Spool,
) *agent {
	core := &engine{
		version: config.Version, log: config.Log, dir: dir, session: new(link.Session),
		idle: make(chan struct{}, 1),
	}
	if identity != nil {
		core.uuid = identity.EngineUUID
	}
	a := &agent{log: config.Log, serves: kept != nil, keeps: config.KeepDataplane, idle: core.idle, records: records,
		stateDir: config.StateDir}
	a.monitors = monitor.New(monitor.Config{Probe: monitor.Probe, Changed: core.verdict, Heard: core.heard})
	a.detour = detour.New(detour.Config{Addresses: route.Addresses, Keep: config.KeepDataplane, Log: config.Log})
	a.path = returnpath.New(returnpath.Config{
		EngineUUID: core.engineUUID, Keep: config.KeepDataplane, Log: config.Log,
	})
	a.preparer = newPreparer(grounds{a.detour, a.path}, core.Refused)
	a.server = serve(core, a.monitors.States, a.detour)
	a.link = link.New(link.Config{
		Address: config.Controller, Name: config.Name, Token: token, Identity: identity, Engine: core,
		Records: records, Log: config.Log,
	})
	a.keeper = newKeeper(func(plan *plan.Plan) error { return dir.SavePlan(plan.Wire()) }, config.Log)
	a.routes = route.New(route.Config{
		EngineUUID: core.engineUUID, Interface: config.VIPInterface, Keep: config.KeepDataplane, Plan: kept,
		Apply:   a.server.Apply,
		Changed: core.routed, Happened: core.happened, Log: config.Log,
	})
	core.routes, core.detour, core.preparer, core.stateChanged = a.routes, a.detour, a.preparer, a.server.StateChanged
	core.ask, core.share = a.server.Ask, a.server.Share
	core.watch, core.verdicts = a.monitors.Watch, a.monitors.Verdicts
	core.send, core.keep = a.link.Send, a.keeper.keep
	if kept != nil {
		a.preparer.expect(kept, a.server.Apply)
	}
	return a
}

// run stops step by step when ctx ends: it withdraws routes, so that routers send clients elsewhere; it asks remaining
// clients to reconnect; it drains the data plane; and only then it removes the VIPs and stops passing packets on. It
// reports each step to the controller.
func (a *agent) run(ctx context.Context) error {
	serving, stopServing := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopServing(nil)
	defer context.AfterFunc(ctx, func() {
		if led := a.routes.Leave(); led && !a.keeps {
			a.letGo()
		}
		stopServing(nil)
	})()
	telling, stopTelling := context.WithCancel(context.WithoutCancel(ctx))
	defer stopTelling()
	leading, stopLeading := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLeading()
	go a.preparer.run(telling) // Close of detour and path waits for their work in progress
	var serves, leads, tells sync.WaitGroup
	serves.Go(func() { a.server.Run(serving) })
	serves.Go(func() { a.monitors.Run(serving) })
	leads.Go(func() { a.routes.Run(leading) })
	tells.Go(func() { a.keeper.run(telling) })
	tells.Go(func() { a.tellOfHost(telling) })
	tells.Go(func() { a.records.Run(telling) })
	tells.Go(func() {
		defer stopTelling()
		if err := a.link.Run(telling); err != nil {
			a.excluded(err, stopServing)
			<-serving.Done()
		}
	})
	serves.Wait()
	stopLeading()
	leads.Wait()
	a.detour.Close()
	a.path.Close()
	lastRecords, stopWaiting := context.WithTimeout(telling, farewellTimeout)
	a.records.Drain(lastRecords)
	stopWaiting()
	a.link.HangUp()
	time.AfterFunc(farewellTimeout, stopTelling)
	tells.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(serving)
}

// hostEvery is the time between two samples of the host.
const hostEvery = 5 * time.Second

// tellOfHost reports what the kernel counts of this machine, until ctx ends.
func (a *agent) tellOfHost(ctx context.Context) {
	ticker := time.NewTicker(hostEvery)
	defer ticker.Stop()
	told := 0
	for {
		sample := wireHost(host.Read(a.stateDir), time.Now())
		sample.CheckTimes, told = checkTimes(a.monitors.Verdicts(), told)
		a.link.Send(&enginev1.Report{Body: &enginev1.Report_Host{Host: sample}})
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// letGo asks clients to reconnect, so that the router sends them to another engine, and gives them time for it.
func (a *agent) letGo() {
	a.server.LetGo()
	select {
	case <-a.idle:
	case <-time.After(lettingGoFor):
	}
}

// excluded handles a controller that refuses this engine: an engine with a Plan keeps serving, one without ends.
func (a *agent) excluded(err error, stop context.CancelCauseFunc) {
	if a.serves {
		a.log.Error("this engine serves its last Plan and gets no other", "reason", err)
		return
	}
	stop(err)
}
