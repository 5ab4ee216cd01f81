package interop

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-lb/weir/tests/built"
)

// benchRow is what the test reads of a row of `weir bench run --json`.
type benchRow struct {
	Workload    string            `json:"workload"`
	NotMeasured map[string]string `json:"not_measured"`
	Peers       map[string]struct {
		Transactions int64   `json:"transactions"`
		Errors       int64   `json:"errors"`
		IdleBytes    float64 `json:"idle_bytes"`
	} `json:"peers"`
}

// TestEveryProtocolPassesThroughNginxInTheBench runs the rows with the peer that every test machine has. Its figures
// mean nothing here.
func TestEveryProtocolPassesThroughNginxInTheBench(t *testing.T) {
	rows := []string{"H2-K", "H2-K-TLS", "H2-A", "G1", "WS", "U1", "U1-NEW", "I-H2-STREAM"}
	out, err := exec.CommandContext(t.Context(), filepath.Join(built.Programs(t), "weir"), "bench", "run", "--json",
		"--weir=false", "--peers", "nginx", "--quick", "--rounds", "1", "--syscalls=false", "--results", t.TempDir(),
		"--workload", strings.Join(rows, ",")).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seen := map[string]benchRow{}
	for line := range strings.Lines(string(out)) {
		var row benchRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		seen[row.Workload] = row
	}
	for _, id := range rows {
		// A datagram that comes late, on a machine that is busy, is lost.
		mayLose := strings.HasPrefix(id, "U1")
		nginx := seen[id].Peers["nginx"]
		if nginx.Transactions == 0 || nginx.Errors > 0 && !mayLose {
			t.Errorf("%s: %+v", id, seen[id])
		}
		if strings.HasPrefix(id, "I-") && nginx.IdleBytes <= 0 {
			t.Errorf("%s: no memory was measured: %+v", id, seen[id])
		}
	}
}
