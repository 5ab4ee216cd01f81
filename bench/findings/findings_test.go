package findings

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-lb/weir/bench/verdict"
)

var reported = Report{Name: "table", Rows: []string{"percentiles", "segments", "change", "webhook"},
	Preface: "# A table\n\nOf %s, %d cores, Linux %s.\n"}

func TestRowHoldsWithinItsBar(t *testing.T) {
	most, least := Bar{Row: "most", Limit: 5}, Bar{Row: "least", Limit: 97, AtLeast: true}
	for _, c := range []struct {
		bar   Bar
		found Finding
		err   error
		want  bool
	}{
		{most, Finding{Value: 5}, nil, true},
		{most, Finding{Value: 5.001}, nil, false},
		{most, Finding{Value: 1, Fault: "3 requests failed"}, nil, false},
		{most, Finding{}, errors.New("there is no nginx"), false},
		{most, Finding{Value: math.NaN()}, nil, false},
		{least, Finding{Value: 97}, nil, true},
		{least, Finding{Value: 96.9}, nil, false},
	} {
		if got := Hold(c.bar, c.found, c.err, false); got.OK != c.want {
			t.Errorf("%+v, %v: %+v", c.found, c.err, got)
		}
	}
}

func TestScriptsReadALineForEachRowAlsoWithoutAValue(t *testing.T) {
	var out bytes.Buffer
	options := verdict.Options{JSON: true, Results: t.TempDir(), Out: &out, Progress: io.Discard}
	results := []Result{Hold(Bar{Row: "change", Limit: 100}, Finding{Value: 12.3456}, nil, false),
		Hold(Bar{Row: "webhook", Limit: 10}, Finding{}, errors.New("there are no webhooks"), false),
		Hold(Bar{Row: "segments", Limit: 1}, Finding{Value: 0.5, Fault: "2 requests failed"}, nil, false)}
	if err := reported.Publish(options, results); !errors.Is(err, verdict.ErrMissed) {
		t.Errorf("got %v", err)
	}
	want := `{"row":"change","value":12.346,"bar":100,"ok":true}
{"row":"webhook","value":null,"bar":10,"ok":false,"reason":"there are no webhooks"}
{"row":"segments","value":0.5,"bar":1,"ok":false,"reason":"2 requests failed"}
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
	text, err := os.ReadFile(filepath.Join(options.Results, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"| webhook |", "Not measured: there are no webhooks",
		"**missed**: 2 requests failed"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the page lacks %q:\n%s", part, text)
		}
	}
}

func TestReportKeepsRowsOfEarlierRunsInTheOrderOfTheTable(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"change", "percentiles"} {
		options := verdict.Options{Results: dir, Progress: io.Discard}
		results := []Result{{Verdict: verdict.Verdict{Row: name, Value: 1, OK: true}}}
		if err := reported.Publish(options, results); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "table.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for line := range strings.Lines(string(text)) {
		var result Result
		if err := json.Unmarshal([]byte(line), &result); err != nil {
			t.Fatal(err)
		}
		order = append(order, result.Row)
	}
	if strings.Join(order, " ") != "percentiles change" {
		t.Errorf("got %v", order)
	}
}
