package elastic

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/bench/report"
	"github.com/weir-lb/weir/bench/verdict"
	"github.com/weir-lb/weir/lab/clients"
	"github.com/weir-lb/weir/lab/draw"
)

var start = time.UnixMicro(1_700_000_000_000_000)

func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

func TestARowIsOkOnlyOnItsSideOfTheBarWithNothingBroken(t *testing.T) {
	most, least := row{name: "most", bar: 3}, row{name: "least", bar: 0.9, atLeast: true}
	for _, c := range []struct {
		row  row
		f    Finding
		want bool
	}{
		{most, Finding{Value: 3}, true},
		{most, Finding{Value: 3.001}, false},
		{most, Finding{Value: 1, Broken: []string{"7 of 8 answered"}}, false},
		{least, Finding{Value: 0.9}, true},
		{least, Finding{Value: 0.899}, false},
	} {
		if got := c.row.judge(c.f).OK; got != c.want {
			t.Errorf("%s with %+v: %v", c.row.name, c.f, got)
		}
	}
}

func TestAFaultLastsUntilTheLastRequestThatFailsIsBegun(t *testing.T) {
	seen := clients.Seen{Requests: 5, Failed: 2, Failures: []clients.Failure{
		{Engine: victim, Begun: after(0.2), Failed: after(10.2), Cause: "timeout"},
		{Engine: victim, Begun: after(0.75), Failed: after(0.8), Cause: "reset"},
	}}
	var f Finding
	if took := f.fault(seen, after(0), after(0.7)); math.Abs(took-0.75) > 1e-6 || f.Value != took || len(f.Broken) > 0 {
		t.Errorf("took %v: %+v", took, f)
	}
	f.fault(seen, after(0.9), after(1))
	if want := "1 requests failed before anything happened"; !slices.Contains(f.Broken, want) {
		t.Errorf("%q is not in %q", want, f.Broken)
	}
}

func TestASpreadCountsEnginesThatGotNothing(t *testing.T) {
	least, most := spread(map[string]int64{"a": 90, "b": 110}, 2)
	if math.Abs(least+0.1) > 1e-9 || math.Abs(most-0.1) > 1e-9 {
		t.Errorf("%v to %v", least, most)
	}
	if least, _ := spread(map[string]int64{"a": 10}, 2); least != -1 {
		t.Errorf("%v", least)
	}
}

func TestWhatIsLeftIsNamed(t *testing.T) {
	before := census{"namespace engine-1": 1, "socket open in weir of engine-1": 9}
	after := census{"namespace engine-1": 1, "socket open in weir of engine-1": 11, "namespace engine-2": 1}
	want := []string{"1 × namespace engine-2", "2 × socket open in weir of engine-1"}
	if got := after.beyond(before); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := before.beyond(after); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestEachNumberOfEnginesIsHeldToAsManyTimesTheOneBeside(t *testing.T) {
	f := Finding{Curve: []Point{
		{Engines: 1, Samples: []Sample{{TPS: 100, One: 100}, {TPS: 50, One: 50}, {TPS: 70, One: 100}}},
		{Engines: 2, Samples: []Sample{{TPS: 190, One: 100}, {TPS: 300, One: 150}, {TPS: 90, One: 50}}},
	}}
	f.judgeCurve()
	if f.Value != 0.95 || f.Curve[0].Against != 1 || f.Curve[1].TPS != 190 {
		t.Errorf("%v: %+v", f.Value, f.Curve)
	}
}

func TestTheReportHoldsEachRowItsPicturesAndItsFailures(t *testing.T) {
	dir := t.TempDir()
	result := rows[2].judge(Finding{Value: 0.8, Facts: []string{"a fact"},
		Failures: []clients.Failure{{Begun: start, Failed: after(0.25), Client: "client-1", Over: clients.Kept,
			Cause: "reset", Engine: "engine-2"}},
		Stories: []draw.Story{{Title: "a story",
			Seconds: []draw.Second{{PerEngine: map[string]int64{"engine-1": 3}}}}}})
	files, err := write(dir, report.Machine{CPU: "a CPU", Cores: 2}, []Result{result})
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	text := page(report.Machine{}, []Result{result})
	for _, want := range []string{"| 0.8 s | 1.2 | ok |", "* a fact", "![a story](kill-1.svg)",
		"| 0.250 s | client-1 | kept alive | reset | engine-2 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if picture := table(report.Machine{Cores: 2}, []Result{result}); !strings.Contains(picture, "0.8 s; bar 1.2") {
		t.Errorf("the table has no value:\n%s", picture)
	}
	var said bytes.Buffer
	if err := verdict.Conclude(&said, []Result{result}, verdict.Verdicts([]Result{result})); err != nil ||
		said.String() != `{"row":"kill","value":0.8,"bar":1.2,"ok":true}`+"\n" {
		t.Errorf("%s, %v", &said, err)
	}
}

func TestARunLeavesTheRowsThatItDidNotMeasure(t *testing.T) {
	dir := t.TempDir()
	kill, drain := rows[2].judge(Finding{Value: 0.8}), rows[5].judge(Finding{Value: 7, Facts: []string{"a fact"}})
	again := rows[2].judge(Finding{Value: 0.7})
	for _, results := range [][]Result{{kill, drain}, {again}} {
		if _, err := write(dir, report.Machine{}, results); err != nil {
			t.Fatal(err)
		}
	}
	all, err := verdict.Besides[Result](filepath.Join(dir, linesFile), verdict.Names(rows), nil)
	if err != nil || len(all) != 2 || all[0].Verdict != again.Verdict || all[1].Verdict != drain.Verdict ||
		!slices.Equal(all[1].Facts, drain.Facts) {
		t.Errorf("%+v, %v", all, err)
	}
}
