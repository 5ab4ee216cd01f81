package telemetry

import (
	"context"
	"time"

	"github.com/weir-lb/weir/bench/findings"
)

// row is a line of the table.
type row struct {
	name, title string
	unit        string
	bar         float64
	atLeast     bool // the bar is the least; otherwise the most
	limit       time.Duration
	measure     func(context.Context, *run) (findings.Finding, error)
}

// Name is what the command line calls it.
func (r row) Name() string  { return r.name }
func (r row) Title() string { return r.title }

const (
	short  = 2 * time.Minute
	middle = 6 * time.Minute
	long   = 25 * time.Minute // rows that store millions of records, or thousands of services
	// longest is for ten million requests, where others use the machine, too.
	longest = 60 * time.Minute
)

// rows are in the order of the bars in the table of the report. Rows that share a measurement stand together.
var rows = []row{
	{"own-code", "own code of a request, with records off and on: the longer of both", "µs", 2, false, short,
		measureOwnCode},
	{"instructions", "instructions for a request more than before it was timed, records off", "", 700, false, short,
		instructions("request")},
	{"instructions-kept", "the same, with a record of the request that is kept", "", 1500, false, short,
		instructions("request_recorded")},
	{"allocations", "allocations for a request, keep-alive, without and with a record: the more of both", "", 0, false,
		short, allocations},
	{"syscalls-keepalive", "system calls for a request, keep-alive", "", 5, false, middle, systemCalls("K")},
	{"syscalls-connection", "system calls for a connection with one request", "", 8, false, middle, systemCalls("N1")},
	{"syscalls-tls", "system calls for a TLS 1.2 handshake with one request", "", 12, false, middle, systemCalls("A1")},
	{"logging", "throughput of keep-alive requests with full logging, in percent of that without",
		"%", 97, true, middle,
		logging(saturated)},
	{"logging-light", "the same under a light load: by CPU time of the data plane for a request", "%", 97, true, long,
		logging(light)},
	{"weights",
		"requests that are neither in the weight of a record nor pending, and records that are there twice, after kills of the record store",
		"", 0,
		false, longest, measureWeights},
	{"percentiles", "p50, p95 and p99 against the load generator's own: largest difference", "%", 5, false, short,
		measurePercentiles},
	{"segments", "time of the application against servers with delays of 5, 50 and 500 ms: largest difference", "ms", 1,
		false, short, measureSegments},
	{"round-trips",
		"round trips to servers and clients at 5, 50 and 500 ms, and the time of these servers: largest difference",
		"ms", 1, false, middle, measureRoundTrips},
	{"sums", "records whose parts of the total time do not add up to it", "", 0, false, middle, measureSums},
	{"visible-metric", "from the end of a request until the live stream shows it, p99", "ms", 2000, false, middle,
		measureVisibleMetric},
	{"visible-record", "from the end of a request until its record is found, p99", "ms", 3000, false, middle,
		measureVisibleRecord},
	{"webhook", "from the cause of an alert until its webhook is called", "ms", 10000, false, short, measureWebhook},
	{"records-ingest", "records that a core stores in a second", "", 20000, true, long, recordRow(
		func(t recordTimes) float64 { return t.perSecond })},
	{"records-list", "of all records: newest 100 and number per 15 min, together", "ms", 1000, false, long,
		recordRow(func(t recordTimes) float64 { return t.list })},
	{"records-id", "of all records: one by its id", "ms", 100, false, long,
		recordRow(func(t recordTimes) float64 { return t.id })},
	{"records-service", "of one service: the slowest of list, histogram, top values and percentiles", "ms", 600, false,
		long, recordRow(func(t recordTimes) float64 { return t.service })},
	{"records-facets", "of all records: top values of nine named fields", "ms", 1500, false, long,
		recordRow(func(t recordTimes) float64 { return t.facets })},
	{"records-first", "of all records: the newest hour of list and histogram", "ms", 300, false, long,
		recordRow(func(t recordTimes) float64 { return t.first })},
	{"records-memory", "resident memory of the record store after that", "MiB", 1024, false, long,
		recordRow(func(t recordTimes) float64 { return t.residentMiB })},
	{"controller-memory", "resident memory of the controller with 5,000 services, 500 of them active",
		"MiB", 700, false,
		long, fleetRow(func(t fleetTimes) float64 { return t.residentMiB })},
	{"controller-memory-all", "resident memory of the controller with 5,000 services, all of them active", "MiB", 2048,
		false, long, fleetRow(func(t fleetTimes) float64 { return t.allMiB })},
	{"controller-start",
		"from the start of the controller with these services and engines, and a week of history, until its API answers", "s",
		10, false, long, fleetRow(func(t fleetTimes) float64 { return t.startS })},
	{"change", "a change under the telemetry of 64 engines: from when it is due until its Ack, p99", "ms", 100, false,
		long, fleetRow(func(t fleetTimes) float64 { return t.changeP99Ms })},
	{"records-killed", "answers of the API that change, and requests that fail, while the record store is killed",
		"", 0,
		false, short, measureKilled},
	{"page-size", "what the first page loads, gzipped", "KiB", 260, false, short,
		pageRow(func(t pageTimes) float64 { return t.KiB })},
	{"page-paint", "from the request of the first page until something is painted", "ms", 1000, false, short,
		pageRow(func(t pageTimes) float64 { return t.PaintMs })},
	{"page-usable", "from the request of the first page until it shows its figures", "ms", 2000, false, short,
		pageRow(func(t pageTimes) float64 { return t.UsableMs })},
	{"page-interaction", "from a click or a key until the page is painted again, p95", "ms", 100, false, short,
		pageRow(func(t pageTimes) float64 { return t.InteractionMs })},
	{"page-scroll", "frames a second while a table of 5,000 services scrolls", "", 50, true, middle, measureScroll},
	{"page-heap", "growth of the heap of the pages in an hour of use", "MiB", 10, false, long, measureHeap},
	{"new-service", "from the page that creates a service until its first answer, in a browser", "s", 60, false, middle,
		measureNewService},
	{"foreign-clients", "clients of Avi's analytics API and of Prometheus that do not run unmodified",
		"", 0, false, middle, measureForeignClients},
	{soakRow, "growth of memory, descriptors or series, from the second quarter of the time to the last", "%", 5, false,
		middle, measureSoak},
}
