package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/bench/verdict"
)

func TestBenchMeasuresWeirBesideNginxAndWritesItsReport(t *testing.T) {
	results := t.TempDir()
	bench := exec.CommandContext(t.Context(), weir(t), "bench", "run", "--workload", "K-1SEG", "--peers", "nginx",
		"--quick", "--rounds", "1", "--json", "--results", results)
	var said bytes.Buffer
	bench.Stderr = &said
	out, err := bench.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	type figures struct {
		CPU    float64 `json:"cpu_us"`
		RPS    float64 `json:"rps"`
		Errors int64   `json:"errors"`
		Fault  string  `json:"fault"`
	}
	var row struct {
		Workload string             `json:"workload"`
		Weir     figures            `json:"weir"`
		Peers    map[string]figures `json:"peers"`
		Ratio    float64            `json:"ratio_to_best_peer"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(out), &row); err != nil {
		t.Fatalf("not one JSON object: %v\n%s", err, out)
	}
	for name, f := range map[string]figures{"weir": row.Weir, "nginx": row.Peers["nginx"]} {
		if f.CPU <= 0 || f.RPS <= 0 || f.Errors != 0 || f.Fault != "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if row.Workload != "K-1SEG" || row.Ratio <= 0 {
		t.Errorf("%+v", row)
	}
	for _, file := range []string{"README.md", "bench.jsonl", "cpu.svg"} {
		if text, err := os.ReadFile(filepath.Join(results, file)); err != nil ||
			!bytes.Contains(text, []byte("nginx")) {
			t.Errorf("%s does not tell of nginx: %v", file, err)
		}
	}
}

func TestBenchOfAbuseWatchesOtherClientsAndWritesItsReport(t *testing.T) {
	results := t.TempDir()
	bench := exec.CommandContext(t.Context(), weir(t), "bench", "abuse", "--row", "drip", "--peers", "", "--quick",
		"--json", "--results", results)
	var said bytes.Buffer
	bench.Stderr = &said
	out, err := bench.Output()
	// Whether the bar is met depends on what else this machine does: what is tested is that it was measured.
	if err != nil && !strings.Contains(said.String(), verdict.ErrMissed.Error()) {
		t.Fatalf("%v\n%s", err, said.String())
	}
	var row struct {
		Row       string                                   `json:"row"`
		Value     float64                                  `json:"value"`
		Bar       float64                                  `json:"bar"`
		During    map[string]struct{ Asked, Failed int64 } `json:"during"`
		Attackers struct{ Most, Refused int64 }            `json:"attackers"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(out), &row); err != nil {
		t.Fatalf("not one JSON object: %v\n%s", err, out)
	}
	if row.Row != "drip" || row.Value <= 0 || row.Bar != 3 || row.Attackers.Most < 1 || row.Attackers.Refused > 0 {
		t.Errorf("%+v\n%s", row, said.String())
	}
	for _, over := range []string{"kept alive", "new connection"} {
		if seen := row.During[over]; seen.Asked-seen.Failed < 1 {
			t.Errorf("%s: nobody was answered: %+v", over, seen)
		}
	}
	if page, err := os.ReadFile(filepath.Join(results, "README.md")); err != nil ||
		!bytes.Contains(page, []byte("## drip")) {
		t.Errorf("the report does not tell of it: %v", err)
	}
}

func TestBenchThatIsInterruptedLeavesNoProcessAndNoFile(t *testing.T) {
	place, err := os.MkdirTemp("", "b") // short: a unix socket is in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(place) })
	bench := exec.CommandContext(t.Context(), weir(t), "bench", "run", "--workload", "K", "--peers", "nginx",
		"--results", place)
	bench.Env = append(os.Environ(), "TMPDIR="+place)
	var said bytes.Buffer
	bench.Stderr = &said
	if err := bench.Start(); err != nil {
		t.Fatal(err)
	}
	deadline, poll := time.After(eventTimeout), time.NewTicker(20*time.Millisecond)
	defer poll.Stop()
	for spinning := false; !spinning; {
		select {
		case <-deadline:
			t.Fatalf("the first round does not begin:\n%s", said.String())
		case <-poll.C:
			logs, _ := filepath.Glob(filepath.Join(place, "weir-bench-*", "spinner-*.log"))
			spinning = len(logs) > 0
		}
	}
	if err := bench.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := bench.Wait(); err == nil {
		t.Error("it ended as if it had measured everything")
	}
	if left, _ := filepath.Glob(filepath.Join(place, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), place) {
			t.Errorf("still runs: %s", bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
		}
	}
}
