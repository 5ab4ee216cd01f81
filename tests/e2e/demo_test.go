package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"testing"

	"github.com/weir-lb/weir/lab/network"
)

// demoFigures is the demo's contract with scripts.
type demoFigures struct {
	TPS    float64 `json:"tps"`
	Errors int64   `json:"errors"`
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	P999   float64 `json:"p999_us"`
	CPU    float64 `json:"cpu_us_per_transaction"`
	// Transactions are answered by who is in PerServer, and Requests by who is in PerEngine.
	Transactions int64            `json:"transactions"`
	PerServer    map[string]int64 `json:"per_server"`
	Scale        []struct {
		Engines   int              `json:"engines"`
		Requests  int64            `json:"requests"`
		Errors    int64            `json:"errors"`
		PerEngine map[string]int64 `json:"per_engine"`
		Settled   struct {
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
	if figures.TPS <= 0 || figures.Errors != 0 || figures.CPU <= 0 || len(figures.PerServer) != 3 ||
		sum(figures.PerServer) != figures.Transactions || figures.P50 <= 0 || figures.P99 < figures.P50 ||
		figures.P999 < figures.P99 {
		t.Errorf("figures: %+v", figures)
	}
	t.Logf("%s", lines[len(lines)-1])
	return figures
}

func TestDemoPlaysToItsEndAndPrintsItsFigures(t *testing.T) {
	if figures := playDemo(t, "--loopback"); len(figures.Scale) > 0 {
		t.Errorf("at loopback it scaled: %+v", figures.Scale)
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
			sum(phase.PerEngine) != phase.Requests || sum(phase.Settled.PerEngine) != phase.Settled.Requests {
			t.Errorf("%+v", phase)
		}
	}
	if !slices.Equal(engines, []int{1, 4, 2}) {
		t.Errorf("it scaled to %v", engines)
	}
}
