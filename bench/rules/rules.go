// Package rules measures what rules of HTTP policies cost: nothing where there are none, and little for a thousand; and
// what it costs to answer from the cache, and to compress.
// Each row has a bar.
package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/bench/ours"
	"github.com/weir-lb/weir/bench/peers"
	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab"
)

// Options say what a run measures.
type Options struct {
	verdict.Options
	// Source is the directory of Weir's source: the counts of instructions are there.
	Source string
}

type run struct {
	Options
	programs string
}

type row struct {
	findings.Bar
	limit   time.Duration
	measure func(context.Context, *run) (findings.Finding, error)
}

// Name is what the command line calls it.
func (r row) Name() string  { return r.Row }
func (r row) Title() string { return r.Bar.Title }

var rows = []row{
	{findings.Bar{Row: "idle",
		Title: "instructions of a row more than before there were rules, with none: the largest share",
		Unit:  "%", Limit: 1}, time.Minute, measureIdle},
	{findings.Bar{Row: "host-path",
		Title: "a request that 1,000 rules by host and path try: own code more than without rules",
		Unit:  "µs", Limit: 0.5}, time.Minute, ownCode("request_rules")},
	{findings.Bar{Row: "parts", Title: "the same by parts of paths, half of them regular expressions", Unit: "µs",
		Limit: 2}, time.Minute, ownCode("request_rules_parts")},
	{findings.Bar{Row: "edit",
		Title: "a rule that adds a field and rewrites the path: own code more than without rules",
		Unit:  "µs", Limit: 0.3}, time.Minute, ownCode("request_edited")},
	{findings.Bar{Row: "rate", Title: "a check of a rate, among 10,000 clients", Unit: "ns", Limit: 40},
		building, nanos("weir-rate", "10,000 clients")},
	{findings.Bar{Row: "limits",
		Title: "10 times the limit of a virtual service, asked of 8 engines: what passes beyond the limit", Unit: "%",
		Limit: 10}, 5 * time.Minute, overshoot(limitTotal)},
	{findings.Bar{Row: "limits-client",
		Title: "the same of the limit of each client, by one client whose connections reach all 8", Unit: "%",
		Limit: 10}, 5 * time.Minute, overshoot(limitEachClient)},
	{findings.Bar{Row: "hosts",
		Title: "the virtual service of a host, by Host or server name, among 10,000: the dearest kind of name",
		Unit:  "ns", Limit: 100}, building, nanos("weir-snapshot", "exact", "wildcard", "prefix", "unknown")},
	{findings.Bar{Row: "pick", Title: "the choice of a server among 1,000 with equal ratios: the dearest algorithm",
		Unit: "ns", Limit: 60}, building, nanos("weir-balance", picks("")...)},
	{findings.Bar{Row: "pick-ratios", Title: "the same among servers with ratios of 1 to 20", Unit: "ns", Limit: 60},
		building, nanos("weir-balance", picks(", ratios")...)},
	{findings.Bar{Row: "persistence", Title: "a client that comes again, by cookie or header field", Unit: "ns",
		Limit: 150}, building, nanos("weir-policy", "cookie", "header field")},
	{findings.Bar{Row: "script", Title: "a script that looks at the path and chooses a pool", Unit: "ns", Limit: 1000},
		building, nanos("weir-script", "path, beginswith, pool")},
	{findings.Bar{Row: "peers", Title: "1,000 rules by host and path: CPU time of the best peer over Weir's", Unit: "×",
		Limit: 1.2, AtLeast: true}, 15 * time.Minute, besidePeers("R1")},
	{findings.Bar{Row: "cache-1k", Title: "a stored answer of 1 KB: CPU time of the best peer over Weir's", Unit: "×",
		Limit: 1.5, AtLeast: true}, 15 * time.Minute, besidePeers("C1")},
	{findings.Bar{Row: "cache-100k", Title: "a stored answer of 100 KB: CPU time of the best peer over Weir's",
		Unit: "×", Limit: 1.5, AtLeast: true}, 15 * time.Minute, besidePeers("C100")},
	{findings.Bar{Row: "gzip", Title: "16 KB of text compressed by gzip: CPU time of the best peer over Weir's",
		Unit: "×", Limit: 1.1, AtLeast: true}, 15 * time.Minute, besidePeers("Z-GZIP")},
	{findings.Bar{Row: "brotli", Title: "the same by Brotli", Unit: "×", Limit: 1.1, AtLeast: true},
		15 * time.Minute, besidePeers("Z-BR")},
	{findings.Bar{Row: "mutual",
		Title: "a full handshake with a client that comes again with its ECDSA certificate, over one without: all its time",
		Unit:  "×", Limit: 1.35}, time.Minute, mutual("handshake_tls13_mutual", "handshake_tls13_mutual_new")},
	{findings.Bar{Row: "mutual-rsa", Title: "the same with a certificate of RSA", Unit: "×", Limit: 1.35}, time.Minute,
		mutual("handshake_tls13_mutual_rsa")},
}

// building is enough for a crate and what it needs, if nothing of it is built.
const building = 10 * time.Minute

// List writes which rows there are.
func List(out io.Writer) error { return verdict.List(out, rows) }

const preface = `# What rules cost

Written by ` + "`weir bench rules`" + ` on %s, %d cores, Linux %s.

Own code is that of the proxy without sockets (` + "`bench/icount`" +
	`). A row that was not measured says why, and does not hold.
`

// Run measures row by row, and writes the report into options.Results, together with the rows of an earlier run.
func Run(ctx context.Context, options Options) error {
	chosen, err := verdict.Choose(rows, options.Rows)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r := &run{Options: options, programs: filepath.Dir(self)}
	if err := lab.CheckPrograms(r.programs); err != nil {
		return err
	}
	var results []findings.Result
	for _, row := range chosen {
		r.Say("%s: %s", row.Row, row.Bar.Title)
		limited, cancel := context.WithTimeout(ctx, row.limit)
		finding, err := row.measure(limited, r)
		cancel()
		results = append(results, findings.Hold(row.Bar, finding, err, r.Quick))
		r.Say("  %s", results[len(results)-1].Line())
		if ctx.Err() != nil {
			break
		}
	}
	said := findings.Report{Name: "rules", Rows: verdict.Names(rows), Preface: preface}
	return errors.Join(ctx.Err(), said.Publish(r.Options.Options, results))
}

// before is what rows of bench/icount took before requests were tried by rules.
var before = []struct {
	row          string
	instructions int
}{
	{"body_64k", 11600}, {"body_64k_tls12", 33320}, {"body_64k_tls12_both", 73592}, {"connection", 10521},
	{"handshake_tls12", 31662}, {"handshake_tls13", 43430}, {"plan_change", 19447}, {"request", 8772},
	{"request_http2", 14740},
	{"request_recorded", 9813}, {"request_tls12", 11620}, {"request_tls13", 11598}, {"transaction_tls12", 45141},
}

func measureIdle(_ context.Context, r *run) (found findings.Finding, err error) {
	for at, was := range before {
		is, err := ours.ReadCounts(r.Source, was.row)
		if err != nil {
			return found, err
		}
		share := 100 * (float64(is.Instructions)/float64(was.instructions) - 1)
		if at == 0 || share > found.Value {
			found = findings.Finding{Value: share, Note: fmt.Sprintf(
				"bench/icount: %d for the row %s, %d before. `make check` counts again, and fails at 2 %% more",
				is.Instructions, was.row, was.instructions)}
		}
	}
	return found, nil
}

// ownCode times a row of weir-icount, and takes away what a request takes without rules.
func ownCode(row string) func(context.Context, *run) (findings.Finding, error) {
	return func(ctx context.Context, r *run) (found findings.Finding, err error) {
		rounds := r.Short(3, 15)
		without, err := ours.FastestOwnCode(ctx, r.programs, "request", rounds)
		if err != nil {
			return found, err
		}
		with, err := ours.FastestOwnCode(ctx, r.programs, row, rounds)
		return findings.Finding{Value: with - without, Note: fmt.Sprintf(
			"%s %.3f µs, request %.3f µs, each the fastest of %d rounds; weir-icount --time: the proxy without sockets",
			row, with, without, rounds)}, err
	}
}

// mutual times a handshake of mutual TLS with a client whose chain the data plane has verified before, and one without
// a certificate of the client. In the note stands what it takes with a new client.
func mutual(row string, newClient ...string) func(context.Context, *run) (findings.Finding, error) {
	const oneSided = "handshake_tls13"
	return func(ctx context.Context, r *run) (found findings.Finding, err error) {
		rounds := r.Short(3, 15)
		took := map[string]float64{}
		for _, timed := range append([]string{oneSided, row}, newClient...) {
			if took[timed], err = ours.FastestWithCryptography(ctx, r.programs, timed, rounds); err != nil {
				return found, err
			}
		}
		found.Value = took[row] / took[oneSided]
		found.Note = fmt.Sprintf("%s %.1f µs, %s %.1f µs", row, took[row], oneSided, took[oneSided])
		for _, timed := range newClient {
			found.Note += fmt.Sprintf(", and with a client whose chain is new %s %.1f µs, %.2f ×", timed, took[timed],
				took[timed]/took[oneSided])
		}
		found.Note += fmt.Sprintf(", each the fastest of %d rounds; weir-icount --time: the proxy without sockets",
			rounds)
		return found, nil
	}
}

// picks are those of all algorithms; how says of what ratios.
func picks(how string) (names []string) {
	for _, algorithm := range []string{"random", "fewest servers", "fastest response", "least load", "round robin",
		"least connections", "consistent hash"} {
		names = append(names, algorithm+how+": pick")
	}
	return names
}

// nanos takes the dearest of some things that the benchmarks of a crate measure.
func nanos(crate string, things ...string) func(context.Context, *run) (findings.Finding, error) {
	return func(ctx context.Context, r *run) (found findings.Finding, err error) {
		took, err := ours.Nanos(ctx, r.Source, crate)
		if err != nil {
			return found, err
		}
		for _, thing := range things {
			nanos, there := took[thing]
			if !there {
				return found, fmt.Errorf("cargo bench -p %s says nothing of %q", crate, thing)
			}
			found.Value = max(found.Value, nanos)
		}
		found.Note = "`cargo bench -p " + crate + "`, each the best of many short runs:"
		for _, thing := range slices.Sorted(maps.Keys(took)) {
			found.Note += fmt.Sprintf(" %s %.1f,", thing, took[thing])
		}
		found.Note = strings.TrimSuffix(found.Note, ",")
		return found, nil
	}
}

// besidePeers takes the CPU time of a workload of `weir bench run`, Weir and its peers side by side.
func besidePeers(workload string) func(context.Context, *run) (findings.Finding, error) {
	return func(ctx context.Context, r *run) (findings.Finding, error) { return r.measurePeers(ctx, workload) }
}

func (r *run) measurePeers(ctx context.Context, workload string) (found findings.Finding, err error) {
	var flags []string
	if r.Quick {
		flags = []string{"--quick"}
	}
	out, err := ours.RunWorkload(ctx, r.programs, workload, flags...)
	if err != nil {
		return found, err
	}
	type sample struct {
		CPUus float64 `json:"cpu_us"`
	}
	var measured struct {
		Ratio    float64           `json:"ratio_to_best_peer"`
		BestPeer string            `json:"best_peer"`
		Weir     sample            `json:"weir"`
		Peers    map[string]sample `json:"peers"`
		Doubt    string            `json:"doubt"`
	}
	if err := json.Unmarshal([]byte(ours.LastLine(string(out))), &measured); err != nil {
		return found, fmt.Errorf("weir bench run: %w", err)
	}
	found.Value = measured.Ratio
	found.Note = fmt.Sprintf("Workload %s of `weir bench run`, CPU time of a request: weir %.1f µs", workload,
		measured.Weir.CPUus)
	for _, peer := range peers.Names() {
		if cost, there := measured.Peers[peer]; there {
			found.Note += fmt.Sprintf(", %s %.1f µs", peer, cost.CPUus)
		}
	}
	if measured.Doubt != "" {
		found.Note += "; in doubt: " + measured.Doubt
	}
	return found, nil
}
