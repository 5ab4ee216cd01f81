package controller

import (
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/alert"
	"github.com/weir-lb/weir/controller/alert/notify"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/intake"
	"github.com/weir-lb/weir/controller/outward"
	"github.com/weir-lb/weir/controller/rest"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// recordsName is the directory of the record store in the data directory. It is of this node.
const recordsName = "records"

// RecordStore says how to keep events and audit entries on disk.
type RecordStore struct {
	Program string // weir, which is also the record store; empty: events and audit entries are in memory only
	Days    int    // how long they are kept
	DiskMiB int    // how much they may take; the oldest days go first
	// The same of records of requests and connections.
	RequestDays    int
	RequestDiskMiB int
	MemoryMiB      int // of the record store
}

// records is where rows go: to the record store of this node, and to the receivers beside it. What is added before run
// waits.
type records struct {
	keeper  *logs.Keeper     // nil: there is no store
	streams *outward.Streams // to receivers; perhaps none
	alerts  *alert.Alerts    // with rules on records of requests
	// profiles have receivers of the records of their virtual services.
	profiles *profileStreams
}

func newRecords(config Config, streams *outward.Streams) *records {
	if config.Records.Program == "" {
		return &records{streams: streams}
	}
	return &records{streams: streams, keeper: logs.NewKeeper(logs.Config{
		Program: config.Records.Program, Dir: filepath.Join(config.DataDir, recordsName),
		Days: config.Records.Days, DiskMiB: config.Records.DiskMiB, RequestDays: config.Records.RequestDays,
		RequestDiskMiB: config.Records.RequestDiskMiB, MemoryMiB: config.Records.MemoryMiB, Log: config.Log,
	})}
}

func (r *records) add(row wire.Row) {
	if r.keeper != nil {
		r.keeper.Add(row)
	}
	r.streams.Add(row)
}

// keepAudit keeps what the gate audits.
func (r *records) keepAudit(gate *admit.Gate) {
	gate.Audit.Keep = func(entry admit.Entry) {
		r.add(rowOf(query.Audit, entry.Time, admit.AdminTenant, entry.Fields()))
	}
}

// keepEvents keeps events, and tells operators as events how the store and the receivers are.
func (r *records) keepEvents(log *events.Log) {
	log.Keep = func(entry events.Entry) {
		scope := entry.Tenant
		if entry.ForAll() {
			scope = wire.Everyone
		}
		r.add(rowOf(query.Events, entry.Time, scope, entry.Fields()))
	}
	tell := telling(log)
	r.streams.Tell(func(target, id, message string) { tell("streams", target, id, message) })
	if r.keeper != nil {
		r.keeper.Told = func(id, message string) { tell("record store", "", id, message) }
	}
}

// telling adds events about parts of the controller.
func telling(log *events.Log) func(name, part, id, message string) {
	return func(name, part, id, message string) {
		log.Add(events.Entry{ID: id, Kind: "CONTROLLER", Name: name, Part: part, Tenant: admit.AdminTenant,
			Message: message})
	}
}

// follow has records sent where analytics profiles say.
func (r *records) follow(config Config, objects *store.Store, log *events.Log) {
	tell := telling(log)
	r.profiles = newProfileStreams(objects, notify.Dialer(config.AllowLocalReceivers), config,
		func(target, id, message string) { tell("streams", "analyticsprofile "+target, id, message) })
}

func rowOf(kind string, at time.Time, scope string, fields iter.Seq2[string, string]) wire.Row {
	row := wire.Row{Time: at, Type: kind, Scope: scope}
	for name, value := range fields {
		if value != "" {
			row.Fields = append(row.Fields, wire.Field{Name: name, Value: value})
		}
	}
	return row
}

// logs is what REST asks; nil: there is no store.
func (r *records) logs() rest.Logs {
	if r.keeper == nil {
		return nil
	}
	return r.keeper
}

// intake takes records of requests and connections from engines. Without a store it takes none.
func (r *records) intake(objects *store.Store, log *slog.Logger) *intake.Intake {
	var into intake.Store
	if r.keeper != nil {
		into = streamed{r.keeper, r.streams, r.profiles, r.alerts}
	}
	return intake.New(into, &intake.ObjectNames{View: objects.View}, log, time.Now)
}

// streamed is a store of records whose rows go to the receivers and to the rules for alerts, once they are stored.
type streamed struct {
	*logs.Keeper
	streams  *outward.Streams
	profiles *profileStreams
	alerts   *alert.Alerts
}

// Store stores a batch. One that came before goes to nobody again.
func (s streamed) Store(ctx context.Context, origin wire.Origin, rows []wire.Row) (logs.Ack, error) {
	ack, err := s.Keeper.Store(ctx, origin, rows)
	if err == nil && ack.Stored > 0 {
		for _, row := range rows {
			s.streams.Add(row)
			s.profiles.add(row)
		}
		s.alerts.See(rows)
	}
	return ack, err
}

// run keeps the store and the streams running until stop is called, which stores and sends what came before.
func (r *records) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.streams.Run(ctx) })
	running.Go(func() { r.profiles.run(ctx) })
	if r.keeper != nil {
		running.Go(func() { r.keeper.Run(ctx) })
	}
	return func() { cancel(); running.Wait() }
}
