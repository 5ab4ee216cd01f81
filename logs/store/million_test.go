package store

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

var millionRows = flag.Int("rows", 0, "how many rows TestAMillionRows stores and queries; 0: it is skipped")

// randomOf is the record of one request, of a mix with many failures.
func randomOf(random *rand.Rand, n int, at time.Time) wire.Row {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	micros := func(most int) string { return strconv.Itoa(int(float64(most) * random.ExpFloat64() / 4)) }
	service := random.IntN(50)
	status, cause, class := "200", "", "all"
	switch chance := random.IntN(100); {
	case chance < 6:
		status, cause, class = pick("500", "502", "503", "504"),
			pick("server_refused", "server_response_timeout", "no_server"), "significant"
	case chance < 20:
		status, class = pick("400", "401", "403", "404", "429"), "significant"
	case chance < 36:
		class = "significant"
	}
	row := wire.Row{Time: at, Type: query.Requests, Scope: "admin"}
	for name, value := range map[string]string{
		"service_engine_uuid": "engine-" + strconv.Itoa(random.IntN(12)), "vcpu_id": strconv.Itoa(random.IntN(4)),
		"request_id": fmt.Sprintf("%016x", n), "virtualservice": "virtualservice-" +
			strconv.Itoa(service), "class": class,
		"significant_log": map[string]string{"all": "", "significant": pick("RESPONSE_CODE_5XX",
			"SERVER_HIGH_RESPONSE_TIME")}[class],
		"weight": "1", "client_ip": fmt.Sprintf("10.%d.%d.%d", random.IntN(2), random.IntN(200),
			random.IntN(250)),
		"client_src_port": strconv.Itoa(1024 + random.IntN(60000)), "vs_ip": "10.1.0." + strconv.Itoa(service),
		"ssl_version": pick("TLS1.2", "TLS1.3", "TLS1.3"), "ssl_cipher": pick("TLS_AES_128_GCM_SHA256",
			"ECDHE-ECDSA-AES128-GCM-SHA256"),
		"ssl_group": pick("X25519", "X25519", "P-256"), "ssl_session_reused": pick("true", ""),
		"sni_hostname": "shop.example.com",
		"method":       pick("GET", "GET", "GET", "POST", "HEAD"), "http_version": pick("1.1", "2"),
		"host":      "shop.example.com",
		"uri_path":  "/" + pick("api", "shop", "static") + "/" + strconv.Itoa(random.IntN(2000)),
		"uri_query": "id=" + strconv.Itoa(random.IntN(1_000_000)),
		"user_agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/" + strconv.Itoa(100+random.IntN(40)) +
			".0 Safari/537.36",
		"referer": "https://shop.example.com/" + strconv.Itoa(random.IntN(500)), "pool": "pool-" +
			strconv.Itoa(service),
		"server_ip": fmt.Sprintf("10.2.%d.%d", service, random.IntN(20)), "response_code": status,
		"server_response_code": status,
		"request_state":        cause, "request_length": strconv.Itoa(300 + random.IntN(900)),
		"response_length": strconv.Itoa(200 + random.IntN(40000)), "wait_us": micros(400), "connect_us": micros(300),
		"client_rtt_us": micros(40000), "server_rtt_us": micros(500), "app_response_time_us": micros(30000),
		"data_transfer_time_us": micros(8000), "total_time_us": micros(80000),
	} {
		if value != "" {
			row.Fields = append(row.Fields, wire.Field{Name: name, Value: value})
		}
	}
	return row
}

// TestAMillionRows measures what rows cost, and how long queries take over a day of them.
func TestAMillionRows(t *testing.T) {
	if *millionRows == 0 {
		t.Skip("it measures: give -rows 1000000")
	}
	r := newRig(t)
	whole := *millionRows
	random := rand.New(rand.NewPCG(1, 2))
	day := 23 * time.Hour
	r.now = r.now.Truncate(time.Hour)
	var spent, busy time.Duration
	raw := 0
	for n := 0; n < whole; {
		var rows []wire.Row
		for range min(1000, whole-n) {
			rows = append(rows, randomOf(random, n, r.now.Add(-day+
				time.Duration(float64(day)*float64(n)/float64(whole)))))
			n++
		}
		batch := wire.Append(nil, rows)
		raw += len(batch)
		r.sequence++
		began, used := time.Now(), processorTime(t)
		if ack, err := r.Add(r.origin(), batch); err != nil || ack.Refusals > 0 {
			t.Fatal(ack, err)
		}
		if n%100_000 == 0 {
			if err := r.settle(); err != nil {
				t.Fatal(err)
			}
		}
		spent, busy = spent+time.Since(began), busy+processorTime(t)-used
	}
	perRow := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(whole) }
	t.Logf("ingest: %.1f µs of a processor for a row, with journal and merges: %.0f rows/s a core; %.1f µs elapsed",
		perRow(busy), 1e6/perRow(busy), perRow(spent))
	t.Logf("disk: %.0f bytes a row of %d bytes; memory: %d MiB", float64(bytesIn(t, r.dir))/float64(whole), raw/whole,
		resident(t)>>20)
	every := r.asking()
	every.Type = query.Requests
	if stored := r.ask(every).Count; stored != uint64(whole) {
		t.Fatalf("%d of %d rows are stored", stored, whole)
	}
	for _, asked := range questions(r, whole) {
		first, best := time.Duration(0), time.Hour
		var answer query.Answer
		for n := range 4 {
			began := time.Now()
			answer = r.ask(asked.query)
			took := time.Since(began)
			if n == 0 {
				first = took
			}
			best = min(best, took)
		}
		t.Logf("%-46s %5d / %5d ms, %d found", asked.name, first.Milliseconds(), best.Milliseconds(), answer.Count)
	}
	t.Logf("memory: %d MiB", resident(t)>>20)
}

type question struct {
	name  string
	query query.Query
}

func questions(r *rig, rows int) []question {
	every := r.asking()
	every.Type, every.From, every.To, every.Rows = query.Requests, r.now.Add(-24*time.Hour), r.now.Add(time.Minute), nil
	list := func(where ...query.Expr) query.Query {
		q := every
		q.Where, q.Rows = query.All(where...), &query.Rows{Limit: 100, Count: true}
		return q
	}
	histogram := func(where ...query.Expr) query.Query {
		q := every
		q.Where, q.Histogram = query.All(where...), &query.Histogram{Step: 15 * time.Minute}
		return q
	}
	top := func(field string, where ...query.Expr) query.Query {
		q := every
		q.Where, q.Values = query.All(where...), &query.Values{Field: field, Limit: 20}
		return q
	}
	failed := query.Compare("response_code", query.Ge, "500")
	one := query.Compare("virtualservice", query.Eq, "virtualservice-7")
	slow := every
	slow.Groups = &query.Groups{By: []string{"response_code"}, Limit: 20,
		Aggregates: []query.Aggregate{{Function: "quantile", Field: "total_time_us", Phi: 0.99}}}
	uncounted := list()
	uncounted.Rows = &query.Rows{Limit: 100}
	return []question{
		{"newest 100", uncounted}, {"newest 100, and their number", list()}, {"number per 15 min", histogram()},
		{"newest 100 of 5xx, and their number", list(failed)},
		{"one client", list(query.Compare("client_ip", query.Eq, "10.1.7.7"))},
		{"one request", list(query.Compare("request_id", query.Eq, fmt.Sprintf("%016x", rows/2)))},
		{"word in the user agent", list(query.Compare("user_agent", query.Contains, "Chrome/117"))},
		{"top paths", top("uri_path")}, {"top servers", top("server_ip")}, {"top status", top("response_code")},
		{"top clients", top("client_ip")}, {"p99 by status", slow},
		{"one service: number per 15 min", histogram(one)}, {"one service: newest 100 of 5xx", list(one, failed)},
		{"one service: top paths", top("uri_path", one)},
	}
}

func processorTime(t *testing.T) time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func bytesIn(t *testing.T, dir string) (bytes int64) {
	err := filepath.WalkDir(filepath.Join(dir, "requests"), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func resident(t *testing.T) int {
	runtime.GC()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
