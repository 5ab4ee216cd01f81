package controller

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/controller/alert"
	"github.com/weir-lb/weir/controller/alert/notify"
	"github.com/weir-lb/weir/controller/attack"
	"github.com/weir-lb/weir/controller/autoscale"
	"github.com/weir-lb/weir/controller/cloud"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/explain"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/grading"
	"github.com/weir-lb/weir/controller/link"
	"github.com/weir-lb/weir/controller/live"
	"github.com/weir-lb/weir/controller/membership"
	"github.com/weir-lb/weir/controller/metrics"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/names"
	"github.com/weir-lb/weir/controller/pki"
	"github.com/weir-lb/weir/controller/revocation"
	"github.com/weir-lb/weir/controller/runtime"
	"github.com/weir-lb/weir/controller/shares"
	"github.com/weir-lb/weir/controller/slowness"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/controller/unusual"
)

// leader is what one node does for all nodes of a controller: it collects the reports of all engines, places virtual
// services, has clouds start engines, scales pools, rotates the keys of session tickets, and adds events when something
// goes up or down.
//
// The memory of a leader is lost with it. The next leader rebuilds it from the store and from the reports of engines
// that connect. The table under "Nodes and the leader" in ARCHITECTURE.md says of each state whose it is.
type leader struct {
	objects *store.Store
	log     *slog.Logger
	events  *events.Log
	fleet   *fleet.Fleet
	live    *live.Live
	grades  *grading.Grades
	reader  *reader
	keeper  *cloud.Keeper
	history *metrics.History
	alerts  *alert.Alerts
	unusual *unusual.Watch
	slow    *slowness.Watch
	attacks *attack.Watch
	explain *explain.Explainer
	drafts  *drafts
	shares  *shares.Broker
	secret  []byte // of limits
	fetched *revocation.Watch
	names   *names.Watch
	scaling *autoscale.Watch
}

// newLeader starts nothing; run does. controller is the host:port that engines dial.
func newLeader(config Config, data *data, tokens *pki.Tokens, controller string,
	numbers metrics.Receiver) *leader {
	told := events.New(config.Log, time.Now)
	find := func(engineUUID string) (name string, exists bool) {
		return membership.Find(data.objects.View(), engineUUID)
	}
	known := fleet.New(find, told, time.Now)
	grades := grading.New(known, time.Now)
	slow := slowness.New(known, told, time.Now)
	l := &leader{
		objects: data.objects, log: config.Log, events: told,
		reader: &reader{countries: data.countries, places: data.places},
		fleet:  known, live: live.New(known, grades.ServiceScore, slow.Of, time.Now), grades: grades, slow: slow,
		attacks: attack.New(known, told, time.Now),
		explain: explain.New(known),
		shares:  shares.New(known.Assigned, known.IsConnected, time.Now),
		secret:  data.sealer.Derive("limits"),
		history: historyOf(config, data, known, grades, told, numbers),
		keeper: cloud.NewKeeper(cloud.Config{
			Objects: data.objects, Gate: data.gate, Tokens: tokens, Events: told, Log: config.Log,
			Controller: controller,
			Resolve:    clouds{config.Engines, config.Programs}.of,
		}),
	}
	l.drafts = newDrafts(known, data, l.secret)
	l.unusual = unusual.New(known, l.live, told, time.Now)
	l.unusual.EngineName = find
	grades.Unusual = l.unusual.Unusual
	l.alerts = alertsOf(config, data, l)
	l.scaling = autoscale.New(autoscale.Config{
		View: data.objects.View, Fleet: known, Save: saverOfScaling(data.gate), Post: l.alerts.Post,
		Pause:  notify.Pause,
		Events: told, Log: config.Log, Now: time.Now,
	})
	l.fetched = revocation.New(revocation.Config{
		Objects: data.objects, Save: saverOfFetched(data.objects), Dialer: notify.Dialer(config.AllowLocalReceivers),
		Events: told, Log: config.Log, Now: time.Now,
		Model: func(view *store.View) (*model.Model, error) {
			content, err := l.reader.read(view)
			return content.model, err
		},
	})
	l.names = names.New(names.Config{
		Objects: data.objects, Lookup: lookup, Save: saverOfFetched(data.objects), Events: told, Log: config.Log,
		Now: time.Now,
	})
	data.gate.Check(profileKind, checkStreaming(config))
	data.gate.Check(ruleKind, checkRules(config, l.history.Catalog()))
	return l
}

// pages are the runtime pages that REST serves.
func (l *leader) pages() *runtime.Pages {
	return runtime.New(l.fleet, l.slow.Of, l.scaling.Of, time.Now)
}

// orders accepts the orders that operators send over REST. Only the leader knows the present state of engines.
func (l *leader) orders() *orders {
	return &orders{fleet: l.fleet, events: l.events, reader: l.reader}
}

// run leads until ctx ends. link sends the Plans to engines.
func (l *leader) run(ctx context.Context, link *link.Server) error {
	loop := &loop{
		objects: l.objects, fleet: l.fleet, link: link, keeper: l.keeper, events: l.events,
		log: l.log, reader: l.reader, claims: claims{}, limitSecret: l.secret,
	}
	defer l.events.Flush()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return loop.run(ctx) })
	group.Go(func() error { return l.keeper.Run(ctx) })
	group.Go(func() error { return l.live.Run(ctx) })
	group.Go(func() error { return l.grades.Run(ctx) })
	group.Go(func() error { return l.alerts.Run(ctx) })
	group.Go(func() error { return l.slow.Run(ctx) })
	group.Go(func() error { return l.attacks.Run(ctx) })
	group.Go(func() error { return l.shares.Run(ctx) })
	group.Go(func() error { return l.fetched.Run(ctx) })
	group.Go(func() error { return l.names.Run(ctx) })
	group.Go(func() error { return l.scaling.Run(ctx) })
	group.Go(func() error { return l.unusual.Run(ctx) })
	group.Go(func() error { return l.unusual.Recall(ctx, l.history.Ask) })
	group.Go(func() error { return l.history.Run(ctx) })
	group.Go(func() error { return events.NewWatcher(l.events, l.fleet).Run(ctx) })
	return group.Wait()
}
