package telemetry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/api/engine/enrollment"
	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
)

const (
	fleetServices = 5000
	fleetEngines  = 64
	serversEach   = 4
	activeOneIn   = 10 // virtual services have traffic
	changeEvery   = 20 * time.Millisecond
	// changesMade take a minute: what the controller does each second, each 5 s, each 15 s and each minute, it does
	// meanwhile.
	changesMade   = 3000
	changePatient = 30 * time.Second
)

// fleetTimes is how the controller does with many services and the telemetry of many engines.
type fleetTimes struct {
	residentMiB, changeP99Ms float64
	allMiB, startS           float64 // with traffic of all, and from a start with that
	services                 int
	note                     string
}

func fleetRow(of func(fleetTimes) float64) func(context.Context, *run) (findings.Finding, error) {
	return func(ctx context.Context, r *run) (findings.Finding, error) {
		times, err := r.fleet.get(func() (fleetTimes, error) { return r.manage(ctx) })
		if err != nil {
			return findings.Finding{}, err
		}
		found := findings.Finding{Value: of(times), Note: times.note}
		if times.services < fleetServices {
			found.Fault = fmt.Sprintf("%d virtual services, and the bar is for %d", times.services, fleetServices)
		}
		return found, nil
	}
}

// fleet is a controller with tellers.
type fleet struct {
	*run
	controller *lab.Controller
	tellers    []*teller
	clients    []*client.Session
	uuids      []string

	mu      sync.Mutex
	pending map[string]chan time.Time // by uuid and name: what gets the moment of its Ack
}

// manage loads the controller, lets engines tell for a while, and makes changes.
func (r *run) manage(ctx context.Context) (times fleetTimes, err error) {
	times.services = r.Short(200, fleetServices)
	engines := r.Short(8, fleetEngines)
	err = lab.During("weir-fleet", r.programs, func(l *lab.Lab, _ string) (err error) {
		f := &fleet{run: r, pending: map[string]chan time.Time{}}
		var flags []string
		if r.Profiles != "" {
			flags = append(flags, "--profile")
		}
		if f.controller, err = l.Controller(ctx, flags...); err != nil {
			return err
		}
		profiles := newProfiler(r.Profiles, f.controller)
		defer func() {
			for _, teller := range f.tellers {
				teller.end()
			}
		}()
		if err := f.fill(ctx, times.services, engines); err != nil {
			return err
		}
		watching, stop := context.WithCancel(ctx)
		defer stop()
		go func() { // somebody has the overview open
			_ = f.controller.Session.Live(watching, []string{"overview", "engines"}, "", func(client.LiveEvent) error {
				return nil
			})
		}()
		told := time.Duration(r.Short(10, 120)) * time.Second
		busy, err := f.watch(ctx, profiles, "told", told)
		if err != nil {
			return err
		}
		before, err := f.usage()
		if err != nil {
			return err
		}
		begun := time.Now()
		var changes changes
		if err := profiles.while(ctx, "trace", "change.trace", func() (err error) {
			changes, err = f.change(ctx, r.Short(50, changesMade))
			return err
		}); err != nil {
			return err
		}
		spans := changes.spans()
		if err := profiles.write("changes.txt", changes.listed()); err != nil {
			return err
		}
		usage, err := f.usage()
		if err != nil {
			return err
		}
		changing, took := usage.Since(before), time.Since(begun)
		times.residentMiB = float64(usage.RSSBytes) / (1 << 20)
		times.changeP99Ms = milliseconds(quantile(spans, 0.99))
		times.note = fmt.Sprintf(
			"%d services with %d servers each on %d engines, one in %d with %d requests a second, "+
				"told each second for %.0f s, the overview open. An engine is the agent's own link without a data plane. "+
				"The controller needs %.0f %% of a core for it, the engines %.0f %%. "+
				"%d changes, one every %v: p50 %.1f ms, the slowest %.0f ms; meanwhile, the controller ran %.0f %% of the "+
				"time, and its threads "+
				"waited for a core %.0f %% of it", times.services, serversEach, engines, activeOneIn, perSecond,
			told.Seconds(), 100*busy.controller, 100*busy.engines,
			len(spans), changeEvery, milliseconds(quantile(spans, 0.5)), milliseconds(slices.Max(spans)),
			100*changing.Run.Seconds()/took.Seconds(), 100*changing.Waited.Seconds()/took.Seconds())
		if err := profiles.take(ctx, "heap", "change.heap"); err != nil {
			return err
		}
		return f.measureAll(ctx, profiles, &times)
	})
	return times, err
}

// fill has engines join and creates the objects.
func (f *fleet) fill(ctx context.Context, services, engines int) error {
	if err := makeRoom(ctx, f.controller.Session, 1000); err != nil {
		return err
	}
	for number := range engines {
		text, err := f.controller.Token(ctx)
		if err != nil {
			return err
		}
		token, err := enrollment.ParseToken(text)
		if err != nil {
			return err
		}
		teller := &teller{acked: f.acked, isActive: isActive}
		teller.dial(f.controller.EngineAddress, fmt.Sprintf("engine-%d", number+1), token)
		f.tellers = append(f.tellers, teller)
	}
	for range 16 {
		session, err := client.Resume(f.controller.Session.Saved())
		if err != nil {
			return err
		}
		f.clients = append(f.clients, session)
	}
	f.uuids = make([]string, services)
	for _, make := range []func(context.Context, *client.Session, int) error{f.createParts, f.createService} {
		if err := f.each(ctx, services, make); err != nil {
			return err
		}
	}
	return until(ctx, 200*time.Millisecond, func() error {
		served := 0
		for _, teller := range f.tellers {
			count, err := teller.state()
			if err != nil {
				return err
			}
			served += count
		}
		if served < services {
			return fmt.Errorf("engines serve %d of %d virtual services", served, services)
		}
		return nil
	})
}

// each has all clients do something with the numbers below a count.
func (f *fleet) each(ctx context.Context, count int, do func(context.Context, *client.Session, int) error) error {
	working, ctx := errgroup.WithContext(ctx)
	for first, session := range f.clients {
		working.Go(func() error {
			for index := first; index < count; index += len(f.clients) {
				if err := do(ctx, session, index); err != nil {
					return fmt.Errorf("number %d: %w", index, err)
				}
			}
			return nil
		})
	}
	return working.Wait()
}

func fleetName(index int) string {
	if index%activeOneIn == 0 {
		return fmt.Sprintf("active-%05d", index)
	}
	return fmt.Sprintf("idle-%05d", index)
}

func isActive(name string) bool { return len(name) > 0 && name[0] == 'a' }

func (f *fleet) createParts(ctx context.Context, c *client.Session, index int) error {
	var servers []any
	for number := range serversEach {
		at := index*serversEach + number
		servers = append(servers, client.Object{"port": 9000, "ip": client.Object{"type": "V4",
			"addr": fmt.Sprintf("127.%d.%d.%d", 128+at>>16, at>>8&0xff, at&0xff)}})
	}
	_, err := c.Create(ctx, "pool", client.Object{"name": fleetName(index), "servers": servers})
	if err != nil {
		return fmt.Errorf("pool: %w", err)
	}
	if _, err = c.Create(ctx, "vsvip", client.Object{"name": fleetName(index), "vip": []any{client.Object{"vip_id": "1",
		"ip_address": client.Object{"type": "V4", "addr": fmt.Sprintf("127.%d.%d.%d", 64+index>>16, index>>8&0xff,
			index&0xff)}}}}); err != nil {
		return fmt.Errorf("vsvip: %w", err)
	}
	return nil
}

func (f *fleet) createService(ctx context.Context, c *client.Session, index int) error {
	created, err := c.Create(ctx, "virtualservice", client.Object{"name": fleetName(index),
		"services":  []any{client.Object{"port": 8000}},
		"vsvip_ref": client.Ref("vsvip", fleetName(index)), "pool_ref": client.Ref("pool", fleetName(index))})
	f.uuids[index] = fmt.Sprint(created["uuid"])
	return err
}

// changed is when a change was due, when the controller had stored it, and when its engine acknowledged it.
type changed struct{ due, stored, acked time.Time }

type changes []changed

func (c changes) spans() []time.Duration {
	spans := make([]time.Duration, len(c))
	for i, one := range c {
		spans[i] = one.acked.Sub(one.due)
	}
	return spans
}

// listed is a line for each change, to find what else happened at the time of slow ones.
func (c changes) listed() []byte {
	text := []byte("due, ms until it is stored, ms until its Ack\n")
	for _, one := range c {
		text = fmt.Appendf(text, "%s %6.1f %6.1f\n", one.due.UTC().Format("15:04:05.000"),
			milliseconds(one.stored.Sub(one.due)), milliseconds(one.acked.Sub(one.due)))
	}
	return text
}

// change gives one virtual service after the other a new name, at a fixed rate.
func (f *fleet) change(ctx context.Context, count int) (changes, error) {
	begun, made := time.Now(), make(changes, count)
	var working errgroup.Group
	working.SetLimit(len(f.clients))
	for number := range count {
		due := begun.Add(time.Duration(number) * changeEvery)
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), working.Wait())
		}
		working.Go(func() (err error) {
			made[number], err = f.changeOne(ctx, number, due)
			return err
		})
	}
	return made, working.Wait()
}

// stride has no common factor with the numbers of services, so neighbours are far apart and none comes twice.
const stride = 7919

func (f *fleet) changeOne(ctx context.Context, number int, due time.Time) (changed, error) {
	index, made := number*stride%len(f.uuids), changed{due: due}
	name := fmt.Sprintf("%s-change-%d", fleetName(index), number)
	done := f.expect(f.uuids[index], name)
	session := f.clients[number%len(f.clients)]
	if err := session.Patch(ctx, "virtualservice", f.uuids[index], client.Object{"name": name}); err != nil {
		return made, err
	}
	made.stored = time.Now()
	select {
	case made.acked = <-done:
		return made, nil
	case <-time.After(changePatient):
		return made, fmt.Errorf("a change is not acknowledged within %v", changePatient)
	case <-ctx.Done():
		return made, ctx.Err()
	}
}

func (f *fleet) expect(uuid, name string) <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	done := make(chan time.Time, 1)
	f.pending[uuid+" "+name] = done
	return done
}

// acked tells whoever waits for a name.
func (f *fleet) acked(uuid, name string, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if done := f.pending[uuid+" "+name]; done != nil {
		done <- at
		delete(f.pending, uuid+" "+name)
	}
}
