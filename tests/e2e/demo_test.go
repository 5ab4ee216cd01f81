package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
)

func TestDemoPlaysToItsEndAndPrintsItsFigures(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "../../bin/weir", "demo", "--once", "--json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	var figures struct {
		TPS       float64          `json:"tps"`
		Errors    int64            `json:"errors"`
		P50       float64          `json:"p50_us"`
		P99       float64          `json:"p99_us"`
		P999      float64          `json:"p999_us"`
		CPU       float64          `json:"cpu_us_per_transaction"`
		PerServer map[string]int64 `json:"per_server"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &figures); err != nil {
		t.Fatalf("the last line is not the figures: %v\n%s", err, out)
	}
	if figures.TPS <= 0 || figures.Errors != 0 || figures.CPU <= 0 || len(figures.PerServer) != 3 ||
		figures.P50 <= 0 || figures.P99 < figures.P50 || figures.P999 < figures.P99 {
		t.Errorf("figures: %+v", figures)
	}
	t.Logf("%s", lines[len(lines)-1])
}
