package demo

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/clients"
)

const (
	loadSeconds     = 10
	loadConnections = 32
	loadCipher      = "ECDHE-ECDSA-AES128-GCM-SHA256"
)

// figures are the result of the load. Scripts rely on their JSON form.
type figures struct {
	TPS                     float64          `json:"tps"`
	Errors                  int64            `json:"errors"`
	P50us                   float64          `json:"p50_us"`
	P99us                   float64          `json:"p99_us"`
	P999us                  float64          `json:"p999_us"`
	CPUMicrosPerTransaction float64          `json:"cpu_us_per_transaction"`
	Transactions            int64            `json:"transactions"`
	PerServer               map[string]int64 `json:"per_server"` // the server that answered, for each of Transactions
	Scale                   []phase          `json:"scale,omitempty"`

	errorsBy  map[string]int64
	handshake string
	resumed   int64
}

// driveLoad sends transactions like the seed's (new connection, full handshake, one GET, close), and measures the CPU
// time of the data planes meanwhile.
func driveLoad(ctx context.Context, from *lab.Host, s service, dataplanes []int) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, loadSeconds*time.Second+upTimeout)
	defer cancel()
	before, err := cpuTime(dataplanes)
	if err != nil {
		return figures{}, err
	}
	load, err := from.Load(ctx, "--url", s.url(), "--tls", "1.2", "--cipher", loadCipher,
		"--connections", strconv.Itoa(loadConnections), "--requests-per-connection", "1",
		"--duration", fmt.Sprintf("%ds", loadSeconds), "--server-header", lab.Origin)
	if err != nil {
		return figures{}, err
	}
	after, err := cpuTime(dataplanes)
	if err != nil {
		return figures{}, err
	}
	f := figures{
		TPS: load.TPS, Errors: load.ErrorTotal, P50us: load.P50us, P99us: load.P99us, P999us: load.P999us,
		PerServer: load.PerValue, Transactions: load.Requests, errorsBy: load.Errors,
		handshake: fmt.Sprintf("%s %s, %d full handshakes, %d resumed",
			load.TLS.Version, load.TLS.Cipher, load.TLS.FullHandshakes, load.TLS.Resumed),
		resumed: load.TLS.Resumed,
	}
	if load.Requests > 0 {
		micros := float64((after - before).Microseconds()) / float64(load.Requests)
		f.CPUMicrosPerTransaction = math.Round(10*micros) / 10
	}
	return f, nil
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

// shortfall says what is not as it should be, one line each.
func (f figures) shortfall() []string {
	var lines []string
	if f.Transactions == 0 {
		lines = append(lines, "no transaction was completed")
	}
	if f.Errors > 0 {
		lines = append(lines, fmt.Sprintf("%d transactions failed: %v", f.Errors, f.errorsBy))
	}
	if f.resumed > 0 {
		lines = append(lines, fmt.Sprintf("%d sessions were resumed: not every handshake was a full one", f.resumed))
	}
	if answered := sum(f.PerServer); answered != f.Transactions {
		lines = append(lines, fmt.Sprintf("%d of %d transactions do not tell which server answered",
			f.Transactions-answered, f.Transactions))
	}
	if len(f.PerServer) != serversCount {
		lines = append(lines, fmt.Sprintf("%d of %d servers answered", len(f.PerServer), serversCount))
	}
	for _, p := range f.Scale {
		if p.Errors > 0 {
			lines = append(lines, fmt.Sprintf("%d requests failed while %d engines were to serve%s", p.Errors,
				p.Engines, clients.Causes(p.Failures)))
		}
		if answered := len(p.Settled.PerEngine); answered != p.Engines {
			lines = append(lines, fmt.Sprintf("%d engines answered where %d were to serve", answered, p.Engines))
		}
	}
	return lines
}
