package ours

import (
	"maps"
	"testing"
)

func TestReadsWhatBenchmarksOfACratePrint(t *testing.T) {
	found := nanosIn("running\none client                5.2 ns\n10,000 clients   7 ns\n\nof 2 ns\nbad x ns\n")
	if want := map[string]float64{"one client": 5.2, "10,000 clients": 7, "of": 2}; !maps.Equal(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
}
