// Package rest is the HTTP API of the controller, as existing clients of Avi use it. Writes go through admit, reads
// through store, and runtime pages come from the fleet.
//
// The way of a request is: server → route → session → handler → admit or a view of the store → render. Handlers serve
// all kinds. Only problem.go turns errors into statuses. The package never decides whether a change is valid.
package rest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/health/score"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/port"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/web"
)

// APIVersion is the newest version of the API that Weir knows. Requests for a newer one are refused.
const APIVersion = "30.2.1"

// Reports are the pages with what engines report about an object: by kind, and by the path below the object, "runtime"
// or "runtime/server". A client can also read the page "runtime" together with the object.
type Reports map[string]map[string]Report

// Report makes a page for the existing object with this uuid: a schema.Object, or a list of them, ready for JSON.
// References have the stored form "/api/<kind>/<uuid>".
type Report func(uuid string) any

// Progress says how far a write has come that the store has since a revision. uuid is that of an object; empty: all.
type Progress func(revision int64, uuid string) schema.Object

// JoinTokens makes the one-time tokens with which engines join.
type JoinTokens interface {
	Issue(ctx context.Context) (string, error)
}

// Orders accepts operators' requests about one virtual service, or about a group. Error: *place.Refusal.
type Orders interface {
	// Order writes an order into tx. It returns how many engines should serve from then on. Call tell after the commit:
	// it adds the events.
	Order(tx *admit.Tx, virtualServiceUUID string, order place.Order) (engines int, tell func(), err error)
	// Purge has engines answer no more with what they have stored of some URIs of a virtual service, or of all if there
	// are none. It tells whether all is purged. Error: *place.Refusal.
	Purge(tx *admit.Tx, virtualServiceUUID string, uris []string, prefix bool) (all bool, err error)
	// RotateKeys turns the rings of session ticket keys. It returns the uuids of the SSL profiles that the rings belong
	// to, that of ssl_profile_ref first.
	RotateKeys(tx *admit.Tx, virtualServiceUUID string) (profiles []string, err error)
	// Redistribute swaps virtual services of a group with their standbys, and returns how many.
	Redistribute(tx *admit.Tx, groupUUID string) (virtualServices int, err error)
}

// Config is what the API needs.
type Config struct {
	Store      *store.Store
	Gate       *admit.Gate
	Reports    Reports
	Progress   Progress
	Tokens     JoinTokens
	Orders     Orders
	Events     *events.Log
	Pages      *web.Site // the web UI; nil: none
	Live       Live
	Metrics    Metrics
	Explain    Explain
	RuleFaults RuleFaults       // nil: none are looked for
	Scores     Scores           // nil: no object has a score
	Tester     Tester           // nil: nothing is sent
	Habits     Habits           // nil: none are known
	Logs       Logs             // nil: only what is in memory is listed
	Requests   Requests         // nil: there are no records of requests
	Version    string           // of this build
	EnginePort string           // that agents dial, for the command with which an engine joins
	Logger     *slog.Logger     // nil: slog.Default()
	Now        func() time.Time // nil: time.Now
}

// API answers requests.
type API struct {
	store    *store.Store
	gate     *admit.Gate
	reports  Reports
	progress Progress
	tokens   JoinTokens
	orders   Orders
	events   *events.Log
	pages    *web.Site
	live     Live
	metrics  Metrics
	explain  Explain
	faults   RuleFaults
	scores   Scores
	tester   Tester
	habits   Habits // nil: none are known
	logs     Logs   // nil: there is no record store
	requests Requests
	log      *slog.Logger
	now      func() time.Time
	cluster  cluster

	connections port.Bounds
	timeouts    timeouts
	streams     *streams
	enginePort  string
}

// Open makes the API. It reads the uuid of the cluster; at the first start, it writes one.
func Open(ctx context.Context, config Config) (*API, error) {
	a := &API{store: config.Store, gate: config.Gate, reports: config.Reports,
		progress: config.Progress, tokens: config.Tokens, orders: config.Orders, events: config.Events,
		live: config.Live, metrics: config.Metrics, logs: config.Logs, requests: config.Requests, pages: config.Pages,
		scores: config.Scores, tester: config.Tester, habits: config.Habits, explain: config.Explain,
		faults: config.RuleFaults,
		log:    config.Logger, now: config.Now, connections: connections, timeouts: usualTimeouts,
		streams: newStreams(), enginePort: config.EnginePort}
	if a.log == nil {
		a.log = slog.Default()
	}
	if a.scores == nil {
		a.scores = func(string, string) (score.Report, bool) { return score.Report{}, false }
	}
	if a.faults == nil {
		a.faults = func(string, schema.Object, *store.View) []schema.Warning { return nil }
	}
	if a.tester == nil {
		a.tester = func(context.Context, string, string, string) []Tested { return nil }
	}
	if a.now == nil {
		a.now = time.Now
	}
	if a.metrics != nil {
		a.metrics = fairMetrics{a.metrics, newTurns()}
	}
	if a.logs != nil {
		a.logs = fairLogs{a.logs, newTurns()}
	}
	id, err := clusterUUID(ctx, config.Store.Vault("cluster"))
	if err != nil {
		return nil, fmt.Errorf("cluster identity: %w", err)
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("host name: %w", err)
	}
	a.cluster = cluster{uuid: id, node: name, version: config.Version, since: a.now()}
	return a, nil
}

func clusterUUID(ctx context.Context, vault *store.Vault) (string, error) {
	known, err := vault.Get(ctx, "uuid")
	if err != nil || known != nil {
		return string(known), err
	}
	made := "cluster-" + uuid.NewString()
	return made, vault.Put(ctx, "uuid", []byte(made))
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{api: a, w: w, r: r, view: a.store.View(), conn: port.Of(r.Context())}
	c.conn.Work()
	defer c.conn.Rest()
	defer a.survive(c)
	secured(w.Header())
	if err := c.serve(); err != nil {
		c.refuse(err)
	}
}

// survive keeps a bug in one handler from ending the controller.
func (a *API) survive(c *call) {
	if cause := recover(); cause != nil {
		if cause == http.ErrAbortHandler {
			panic(cause)
		}
		c.refuse(fmt.Errorf("defect while answering %s %s: %v", c.r.Method, c.r.URL.Path, cause))
	}
}
