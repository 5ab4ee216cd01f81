package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

const (
	loadSeconds     = 10
	loadConnections = 32
	loadCipher      = "ECDHE-ECDSA-AES128-GCM-SHA256"
)

// figures are what the load showed; the JSON form is the demo's contract with scripts.
type figures struct {
	TPS                     float64          `json:"tps"`
	Errors                  int64            `json:"errors"`
	P50us                   float64          `json:"p50_us"`
	P99us                   float64          `json:"p99_us"`
	P999us                  float64          `json:"p999_us"`
	CPUMicrosPerTransaction float64          `json:"cpu_us_per_transaction"`
	PerServer               map[string]int64 `json:"per_server"`

	transactions int64
	errorsBy     map[string]int64
	handshake    string
}

// loadReport is what weir-load prints with --json.
type loadReport struct {
	Requests   int64            `json:"requests"`
	TPS        float64          `json:"tps"`
	ErrorTotal int64            `json:"error_total"`
	Errors     map[string]int64 `json:"errors"`
	P50us      float64          `json:"p50_us"`
	P99us      float64          `json:"p99_us"`
	P999us     float64          `json:"p999_us"`
	TLS        struct {
		Version        string `json:"version"`
		Cipher         string `json:"cipher"`
		FullHandshakes int64  `json:"full_handshakes"`
		Resumed        int64  `json:"resumed"`
	} `json:"tls"`
	PerValue map[string]int64 `json:"per_value"`
}

// driveLoad sends transactions as the seed does (new connection, full handshake, one GET, close) and measures the CPU
// time that the kernel gave the data plane meanwhile.
func driveLoad(ctx context.Context, program string, s service, dataplanePID int) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*loadSeconds*time.Second)
	defer cancel()
	before, err := cpuTime(dataplanePID)
	if err != nil {
		return figures{}, err
	}
	var out bytes.Buffer
	load := exec.CommandContext(ctx, program, "--url", s.url(), "--json", "--tls", "1.2", "--cipher", loadCipher,
		"--connections", strconv.Itoa(loadConnections), "--requests-per-connection", "1",
		"--duration", fmt.Sprintf("%ds", loadSeconds), "--server-header", "X-Origin")
	load.Stdout, load.Stderr = &out, os.Stderr
	if err := load.Run(); err != nil {
		return figures{}, fmt.Errorf("%s: %w", program, err)
	}
	after, err := cpuTime(dataplanePID)
	if err != nil {
		return figures{}, err
	}
	var report loadReport
	if err := json.Unmarshal(lastLine(out.Bytes()), &report); err != nil {
		return figures{}, fmt.Errorf("%s printed no report: %w", program, err)
	}
	return report.figures(after - before), nil
}

func (r loadReport) figures(cpu time.Duration) figures {
	f := figures{
		TPS: r.TPS, Errors: r.ErrorTotal, P50us: r.P50us, P99us: r.P99us, P999us: r.P999us, PerServer: r.PerValue,
		transactions: r.Requests, errorsBy: r.Errors,
		handshake: fmt.Sprintf("%s %s, %d full handshakes, %d resumed", r.TLS.Version, r.TLS.Cipher, r.TLS.FullHandshakes, r.TLS.Resumed),
	}
	if r.Requests > 0 {
		f.CPUMicrosPerTransaction = float64(cpu.Microseconds()) / float64(r.Requests)
	}
	return f
}

// shortfall says what is not as it should be, one line each.
func (f figures) shortfall() []string {
	var lines []string
	if f.transactions == 0 {
		lines = append(lines, "no transaction was completed")
	}
	if f.Errors > 0 {
		lines = append(lines, fmt.Sprintf("%d transactions failed: %v", f.Errors, f.errorsBy))
	}
	if len(f.PerServer) != originsCount {
		lines = append(lines, fmt.Sprintf("%d of %d servers answered", len(f.PerServer), originsCount))
	}
	return lines
}

func lastLine(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[bytes.LastIndexByte(text, '\n')+1:]
}
