package control

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/bench/golden"
	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
)

// measured are a row that misses its bar, one that is not judged, and one that meets its bar.
func measured() []Result {
	few, many := pointOf(spans(7, 8, 9), 0), pointOf(spans(20, 30, 700), 1)
	few.Services, many.Services = 1, fullServices
	change := rows[0].judge(Finding{[]Point{few, many}})
	start := rows[6].judge(Finding{[]Point{{Services: 200, Value: 1.5, Count: 1, Note: "a note"}}})
	memory := rows[7].judge(Finding{[]Point{{Services: fullServices, Value: 120, Count: 1}}})
	results := []Result{change, start, memory}
	for i := range results {
		results[i].Measured = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	results[1].Quick = true
	return results
}

func TestTheReportReadsAsWritten(t *testing.T) {
	files, err := write(t.TempDir(), report.Machine{CPU: "a CPU", Cores: 2, Kernel: "6.1"}, measured())
	if err != nil || len(files) != 6 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, file := range files {
		golden.Check(t, file)
	}
}

func TestScriptsReadAVerdictOfEachRow(t *testing.T) {
	var text strings.Builder
	if err := verdict.Conclude(&text, measured(), verdict.Verdicts(measured())); !errors.Is(err, verdict.ErrMissed) {
		t.Errorf("got %v, and a bar is missed", err)
	}
	want := `{"row":"change","value":700,"bar":100,"ok":false}
{"row":"start","value":1.5,"bar":5,"ok":false}
{"row":"memory","value":120,"bar":600,"ok":true}
`
	if text.String() != want {
		t.Errorf("got %s", text.String())
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
	if err != nil || !strings.Contains(string(page), "## memory") {
		t.Errorf("%v:\n%s", err, page)
	}
}

func TestEachRowSaysHowItIsMeasured(t *testing.T) {
	for _, row := range rows {
		if how[row.name] == "" {
			t.Errorf("%s does not", row.name)
		}
	}
}
