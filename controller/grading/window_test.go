package grading

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestAWindowHasTheLastPointsInTheirOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var w window[int]
	var all []int
	for range 2000 {
		point := random.IntN(3) * random.IntN(2) // often the same as before
		w.put(point)
		all = append(all, point)
		want := all[max(0, len(all)-points):]
		var got []int
		for at, point := range w.all() {
			if at != len(got) {
				t.Fatalf("the point %d has the place %d", len(got), at)
			}
			got = append(got, point)
		}
		if !slices.Equal(got, want) || w.length != len(want) {
			t.Fatalf("the window has %d points, %v, want %v", w.length, got, want)
		}
	}
}

func TestAWindowOfOneThatDoesNothingKeepsOnePoint(t *testing.T) {
	var w window[serverPoint]
	for range 100 {
		w.put(serverPoint{up: 1, known: true})
	}
	if len(w.runs) != 1 || w.length != points {
		t.Errorf("it keeps %d points for %d", len(w.runs), w.length)
	}
}
