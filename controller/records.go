package controller

import (
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/intake"
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

// records is the record store of this node; nil: it has none. What is added before run waits.
type records struct{ keeper *logs.Keeper }

func newRecords(config Config) *records {
	if config.Records.Program == "" {
		return nil
	}
	return &records{logs.NewKeeper(logs.Config{
		Program: config.Records.Program, Dir: filepath.Join(config.DataDir, recordsName),
		Days: config.Records.Days, DiskMiB: config.Records.DiskMiB, RequestDays: config.Records.RequestDays,
		RequestDiskMiB: config.Records.RequestDiskMiB, MemoryMiB: config.Records.MemoryMiB, Log: config.Log,
	})}
}

// keepAudit has the store keep what the gate audits.
func (r *records) keepAudit(gate *admit.Gate) {
	if r == nil {
		return
	}
	gate.Audit.Keep = func(entry admit.Entry) {
		r.keeper.Add(rowOf(query.Audit, entry.Time, admit.AdminTenant, entry.Fields()))
	}
}

// keepEvents has the store keep events, and tells operators as events how the store is.
func (r *records) keepEvents(log *events.Log) {
	if r == nil {
		return
	}
	log.Keep = func(entry events.Entry) {
		scope := entry.Tenant
		if entry.ForAll() {
			scope = wire.Everyone
		}
		r.keeper.Add(rowOf(query.Events, entry.Time, scope, entry.Fields()))
	}
	r.keeper.Told = func(id, message string) {
		log.Add(events.Entry{ID: id, Kind: "CONTROLLER", Name: "record store", Tenant: admit.AdminTenant,
			Message: message})
	}
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
	if r == nil {
		return nil
	}
	return r.keeper
}

// intake takes records of requests and connections from engines. Without a store it takes none.
func (r *records) intake(objects *store.Store, log *slog.Logger) *intake.Intake {
	var into intake.Store
	if r != nil {
		into = r.keeper
	}
	return intake.New(into, &intake.ObjectNames{View: objects.View}, log, time.Now)
}

// run keeps the store running until stop is called, which stores what came before.
func (r *records) run() (stop func()) {
	if r == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); r.keeper.Run(ctx) }()
	return func() { cancel(); <-ended }
}
