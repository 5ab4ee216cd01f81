package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/weir-lb/weir/bench/workloads"
)

func growth() *Row {
	row := NewRow(workloads.Workload{ID: "S-SERVERS", Title: "cost growth", Source: "a paper", Kind: workloads.Growth,
		Service: workloads.Service{Layer: 7}, Growth: workloads.Steps{Of: workloads.GrowServers, Steps: []int{1, 100}},
		Bar: workloads.Bar{GrowthMax: 0.03}}, 1)
	row.Curve = []Point{
		{Step: 1, Slices: samplesOf(10, 12, 10, 10, 20, 10, 11)},
		{Step: 100, Slices: samplesOf(10.2, 12.3, 10.1, 10.2, 20.4, 10.2, 11.2)},
	}
	return row
}

// grownBy has pairs of which each grew by one of the percentages.
func grownBy(percents ...float64) *Row {
	row := growth()
	row.Curve[0].Slices, row.Curve[1].Slices = nil, nil
	for _, percent := range percents {
		row.Curve[0].Slices = append(row.Curve[0].Slices, sampleOf(10))
		row.Curve[1].Slices = append(row.Curve[1].Slices, sampleOf(10+percent/10))
	}
	return row
}

func TestGrowthIsThatOfThePairsAndItsBarIsHeld(t *testing.T) {
	row := growth()
	// The machine slows down to half within the run: no pair grew by more than before.
	if grown := row.Grown(); grown.Pairs != 7 || round(grown.Median) != 1.02 ||
		round(grown.High) != 1.025 || grown.Low < 1 {
		t.Errorf("%+v", grown)
	}
	if against := row.AgainstBar(); against != "ok" {
		t.Errorf("grown by %.3f: %s", row.Grown().Median, against)
	}
	row.Workload.Bar.GrowthMax = 0.01
	if against := row.AgainstBar(); against != "short" {
		t.Errorf("grown by %.3f: %s", row.Grown().Median, against)
	}
	row.Curve[1].Slices[0].Errors = 1
	if grown := row.Grown(); grown.Pairs != 6 {
		t.Errorf("a slice with errors counts: %+v", grown)
	}
}

func TestGrowthIsInDoubtWhenItsIntervalHoldsTheBarOrSaysLittle(t *testing.T) {
	many := func(percents ...float64) []float64 { return slices.Repeat(percents, 5) }
	for _, c := range []struct {
		percents []float64
		doubt    string
	}{
		{many(0.5, 1, 1.5, 2), ""},
		{many(9, 10, 20, 30), ""}, // wide, and dearer for sure
		{many(-4, 2, 4, 8), "on both sides of the bar"},
		{many(-9, -8, 0.5, 1), "wider than the bar"},
		{[]float64{1, 1, 1, 1, 1}, "5 pairs are too few"},
		{nil, ""},
	} {
		if doubt := grownBy(c.percents...).Grown().Doubt(0.03); !strings.Contains(doubt, c.doubt) ||
			(c.doubt == "") != (doubt == "") {
			t.Errorf("%v: %q", c.percents, doubt)
		}
	}
}

func TestSignTestLeavesOutAsManyAsItsTableSays(t *testing.T) {
	for n, want := range map[int]int{6: 0, 8: 0, 9: 1, 20: 5, 40: 13, 100: 39} {
		if got := signsAside(n); got != want {
			t.Errorf("of %d pairs %d are left out at each end, want %d", n, got, want)
		}
	}
}
