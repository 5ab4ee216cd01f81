package demo

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weir-lb/weir/lab"
)

const loadCipher = "ECDHE-ECDSA-AES128-GCM-SHA256"

// Names of what clients speak.
const (
	http1 = "HTTP/1.1"
	http2 = "HTTP/2"
)

// load is what clients do for some seconds. Both protocols have the same number of requests in progress: over HTTP/1.1
// each on a connection of its own, over HTTP/2 as streams that share connections.
type load struct {
	protocol string
	kept     bool // connections carry many requests; otherwise each request has a connection and a full handshake
	seconds  int
	flags    []string
	into     func(*figures) *measured
}

var loads = []load{
	{http1, false, 3, []string{"--connections", "32", "--requests-per-connection", "1"},
		func(f *figures) *measured { return &f.measured }},
	{http2, false, 3, []string{"--connections", "32", "--requests-per-connection", "1", "--http2"},
		func(f *figures) *measured { return &f.HTTP2 }},
	{http1, true, 2, []string{"--connections", "64", "--requests-per-connection", "100"},
		func(f *figures) *measured { return &f.Kept.HTTP1 }},
	{http2, true, 2, []string{"--connections", "8", "--requests-per-connection", "100", "--http2", "--streams", "8"},
		func(f *figures) *measured { return &f.Kept.HTTP2 }},
}

// how says what the requests of a load come over.
func (l load) how() string {
	if l.kept {
		return "kept connections"
	}
	return "new connections"
}

// measured are the figures of one load. Scripts rely on their JSON form.
type measured struct {
	TPS                     float64          `json:"tps"`
	Errors                  int64            `json:"errors"`
	P50us                   float64          `json:"p50_us"`
	P99us                   float64          `json:"p99_us"`
	P999us                  float64          `json:"p999_us"`
	CPUMicrosPerTransaction float64          `json:"cpu_us_per_transaction"`
	Transactions            int64            `json:"transactions"`
	PerServer               map[string]int64 `json:"per_server"` // the server that answered, for each of Transactions

	errorsBy      map[string]int64
	tls           string
	full, resumed int64 // handshakes
}

// figures are the result of all loads: those of new connections over HTTP/1.1 stand first, as they always did. Scripts
// rely on their JSON form.
type figures struct {
	measured
	HTTP2 measured `json:"http2"`
	Kept  kept     `json:"kept"`
	Scale []phase  `json:"scale,omitempty"`
}

// kept are the figures of connections that carry many requests.
type kept struct {
	HTTP1 measured `json:"http1"`
	HTTP2 measured `json:"http2"`
}

// drive sends the load, with full handshakes only, and measures the CPU time of the data planes meanwhile.
func (l load) drive(ctx context.Context, from *lab.Host, s service, dataplanes []int) (measured, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(l.seconds)*time.Second+upTimeout)
	defer cancel()
	before, err := cpuTime(dataplanes)
	if err != nil {
		return measured{}, err
	}
	report, err := from.Load(ctx, slices.Concat(l.flags, []string{"--url", s.url(), "--tls", "1.2",
		"--cipher", loadCipher,
		"--duration", fmt.Sprintf("%ds", l.seconds), "--server-header", lab.Origin})...)
	if err != nil {
		return measured{}, err
	}
	after, err := cpuTime(dataplanes)
	if err != nil {
		return measured{}, err
	}
	m := measured{
		TPS: report.TPS, Errors: report.ErrorTotal, P50us: report.P50us, P99us: report.P99us, P999us: report.P999us,
		PerServer: report.PerValue, Transactions: report.Requests, errorsBy: report.Errors,
		tls: report.TLS.Version + " " + report.TLS.Cipher, full: report.TLS.FullHandshakes, resumed: report.TLS.Resumed,
	}
	if report.Requests > 0 {
		micros := float64((after - before).Microseconds()) / float64(report.Requests)
		m.CPUMicrosPerTransaction = math.Round(10*micros) / 10
	}
	return m, nil
}

func cpuTime(pids []int) (total time.Duration, err error) {
	for _, pid := range pids {
		spent, err := lab.CPUTime(pid)
		if err != nil {
			return 0, err
		}
		total += spent
	}
	return total, nil
}
