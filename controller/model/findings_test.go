package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestFindingsAreThoseOfAllSourcesEachOnceAndSorted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	var all Findings
	sources, before := make([][]Finding, 3), []Finding(nil)
	for step := range 2000 {
		var has []Finding
		for range random.IntN(5) {
			has = append(has, Finding{Kind: fmt.Sprint(random.IntN(2)), UUID: fmt.Sprint(random.IntN(2)),
				Name: fmt.Sprint(random.IntN(2)), Field: fmt.Sprint(random.IntN(2)),
				Message: fmt.Sprint(random.IntN(2))})
		}
		source := random.IntN(len(sources))
		was := slices.Clone(before)
		all.Replace(sources[source], has)
		sources[source] = has
		want := slices.Concat(sources...)
		slices.SortFunc(want, Finding.Compare)
		if want = slices.Compact(want); !slices.Equal(all.List(), want) {
			t.Fatalf("step %d: %v, want %v", step, all.List(), want)
		}
		if !slices.Equal(before, was) {
			t.Fatalf("step %d changed the list before", step)
		}
		if slices.Equal(was, want) && len(was) > 0 && &all.List()[0] != &before[0] {
			t.Fatalf("step %d made a new list of the same findings", step)
		}
		before = all.List()
	}
}
