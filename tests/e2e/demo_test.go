package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weir-lb/weir/lab/network"
)

// loadFigures are those of one load.
type loadFigures struct {
	TPS    float64 `json:"tps"`
	Errors int64   `json:"errors"`
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	P999   float64 `json:"p999_us"`
	CPU    float64 `json:"cpu_us_per_transaction"`
	// Transactions are answered by who is in PerServer.
	Transactions int64            `json:"transactions"`
	PerServer    map[string]int64 `json:"per_server"`
}

// demoFigures is the demo's contract with scripts.
type demoFigures struct {
	loadFigures
	HTTP2 loadFigures `json:"http2"`
	Kept  struct {
		HTTP1 loadFigures `json:"http1"`
		HTTP2 loadFigures `json:"http2"`
	} `json:"kept"`
	// Requests are answered by who is in PerEngine, and are of a protocol in PerProtocol.
	Scale []struct {
		Engines     int              `json:"engines"`
		Requests    int64            `json:"requests"`
		Errors      int64            `json:"errors"`
		PerEngine   map[string]int64 `json:"per_engine"`
		PerProtocol map[string]int64 `json:"per_protocol"`
		Settled     struct {
			Requests  int64            `json:"requests"`
			PerEngine map[string]int64 `json:"per_engine"`
		} `json:"settled"`
	} `json:"scale"`
}

func sum(counts map[string]int64) (total int64) {
	for _, count := range counts {
		total += count
	}
	return total
}

func playDemo(t *testing.T, flags ...string) demoFigures {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), weir(t), append([]string{"demo", "--once", "--json"},
		flags...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = append(out, exit.Stderr...)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var figures demoFigures
	if err := json.Unmarshal(lines[len(lines)-1], &figures); err != nil {
		t.Fatalf("the last line is not the figures: %v\n%s", err, out)
	}
	for name, load := range map[string]loadFigures{"HTTP/1.1": figures.loadFigures, "HTTP/2": figures.HTTP2,
		"HTTP/1.1, kept": figures.Kept.HTTP1, "HTTP/2, kept": figures.Kept.HTTP2} {
		if load.TPS <= 0 || load.Errors != 0 || load.CPU <= 0 || len(load.PerServer) != 3 ||
			sum(load.PerServer) != load.Transactions || load.P50 <= 0 || load.P99 < load.P50 || load.P999 < load.P99 {
			t.Errorf("%s: %+v", name, load)
		}
	}
	t.Logf("%s", lines[len(lines)-1])
	return figures
}

func TestDemoPlaysToItsEndAndPrintsItsFigures(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "demo.svg")
	if figures := playDemo(t, "--loopback", "--picture", picture); len(figures.Scale) > 0 {
		t.Errorf("at loopback it scaled: %+v", figures.Scale)
	}
	svg, err := os.ReadFile(picture)
	if err != nil || !bytes.Contains(svg, []byte(">HTTP/1.1<")) || !bytes.Contains(svg, []byte(">HTTP/2<")) {
		t.Errorf("the picture: %v\n%s", err, svg)
	}
}

func TestDemoScalesUnderLoadBehindARouter(t *testing.T) {
	if err := network.CheckRoot(); err != nil {
		t.Skip(err)
	}
	var engines []int
	for _, phase := range playDemo(t).Scale {
		engines = append(engines, phase.Engines)
		if phase.Errors > 0 || phase.Requests == 0 || len(phase.Settled.PerEngine) != phase.Engines ||
			sum(phase.PerEngine) != phase.Requests || sum(phase.PerProtocol) != phase.Requests ||
			phase.PerProtocol["HTTP/1.1"] == 0 || phase.PerProtocol["HTTP/2"] == 0 ||
			sum(phase.Settled.PerEngine) != phase.Settled.Requests {
			t.Errorf("%+v", phase)
		}
	}
	if !slices.Equal(engines, []int{1, 4, 2}) {
		t.Errorf("it scaled to %v", engines)
	}
}
