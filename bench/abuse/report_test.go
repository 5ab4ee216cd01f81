package abuse

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/bench/golden"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
)

func calm(p99us float64) map[string]Seen {
	return both(Seen{Asked: 1000, P50us: 300, P99us: p99us}, Seen{Asked: 1000, P50us: 500, P99us: p99us})
}

// measured are two rows: one that holds, beside a peer that does not, and one that misses its bar.
func measured() []Result {
	silent := Seen{Asked: 1500, Failed: 800, Causes: map[string]int64{"timeout": 800}, P50us: 5e6, P99us: 5e6}
	vanish := judge(calm(900), calm(7000), calm(1800))
	vanish.Toll = Toll{Came: 9400, Took: 0.34}
	unread := judge(calm(800), nil, both(Seen{Asked: 1500, P50us: 400, P99us: 1200}, silent))
	unread.Toll, unread.KiBPerClient = Toll{Came: 9500, Gone: 100, Most: 9232, Refused: 168,
		Why: "resource temporarily unavailable"}, 358.4
	nginx := judge(calm(700), nil, calm(2000))
	nginx.Toll, nginx.KiBPerClient = Toll{Came: 9400, Most: 9400}, 96
	results := []Result{
		rows[0].judge(Finding{Outcome: vanish, Peers: map[string]Outcome{"haproxy": judge(calm(900), calm(900),
			both(silent, silent))}}),
		rows[2].judge(Finding{Outcome: unread, Peers: map[string]Outcome{"nginx": nginx},
			NotMeasured: map[string]string{"haproxy": "it is not installed"},
			Facts:       []string{"A fact."}}),
	}
	for i := range results {
		results[i].Measured = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	results[1].Quick = true
	return results
}

func TestTheReportReadsAsWritten(t *testing.T) {
	machine := report.Machine{CPU: "a CPU", Cores: 2, Kernel: "6.1", Versions: []string{"nginx 1.2", "haproxy 3.4"}}
	files, err := write(t.TempDir(), machine, measured())
	if err != nil || len(files) != 3 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		golden.Check(t, file)
	}
}

func TestScriptsReadTheVerdictFirst(t *testing.T) {
	var text strings.Builder
	if err := verdict.WriteLines(&text, measured()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	for i, want := range []string{`{"row":"vanish","value":1.8,"bar":3,"ok":true,`,
		`{"row":"unread","value":5000,"bar":3,"ok":false,`} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("%s", lines[i])
		}
	}
	var row struct {
		Failed    int64
		P99us     float64 `json:"p99_us"`
		RestP99us float64 `json:"rest_p99_us"`
		KiB       float64 `json:"kib_per_client"`
		Peers     map[string]struct {
			KiB float64 `json:"kib_per_client"`
		}
	}
	if err := json.Unmarshal([]byte(lines[1]), &row); err != nil || row.Failed != 800 || row.P99us != 5e6 ||
		row.RestP99us != 800 || row.KiB != 358.4 ||
		row.Peers["nginx"].KiB != 96 {
		t.Errorf("%+v: %v", row, err)
	}
}

func TestARunLeavesTheRowsThatItDidNotMeasure(t *testing.T) {
	dir, all := t.TempDir(), measured()
	for _, results := range [][]Result{all, all[:1]} {
		if _, err := write(dir, report.Machine{}, results); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || !strings.Contains(string(page), "## unread") {
		t.Errorf("%v:\n%s", err, page)
	}
}

func TestScriptsGetTheWholeResultOfEachRow(t *testing.T) {
	var text strings.Builder
	r := run{Options: Options{Options: verdict.Options{
		JSON: true, Results: t.TempDir(), Out: &text, Progress: io.Discard}}}
	if err := r.publish(measured()); !errors.Is(err, verdict.ErrMissed) {
		t.Errorf("got %v, and a bar is missed", err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	for _, line := range lines {
		if !strings.Contains(line, `"during":{`) || !strings.Contains(line, `"attackers":{`) {
			t.Errorf("not all of it: %s", line)
		}
	}
}
