package sorted_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weir-lb/weir/controller/sorted"
)

type item struct{ key string }

func keyOf(i *item) string { return i.key }

func TestEditedListSaysWhatAMapWouldAndDifferencesLeadFromOneToTheOther(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		list, want := []*item(nil), map[string]*item{}
		for range 20 {
			edits := map[string]*item{}
			for range random.IntN(5) {
				key := fmt.Sprintf("%02d", random.IntN(15))
				edits[key] = &item{key}
				if random.IntN(3) == 0 {
					edits[key] = nil
				}
			}
			before, was := slices.Clone(list), maps.Clone(want)
			edited := sorted.Edit(list, edits, keyOf)
			if !slices.Equal(list, before) {
				t.Fatalf("seed %d: the list before has changed", seed)
			}
			maps.Copy(want, edits)
			maps.DeleteFunc(want, func(_ string, i *item) bool { return i == nil })
			same := func(key string) bool { return sorted.Find(edited, key, keyOf) == want[key] }
			keys := slices.Sorted(maps.Keys(want))
			if len(edited) != len(want) || slices.ContainsFunc(append(keys, "none"), func(key string) bool {
				return !same(key)
			}) {
				t.Fatalf("seed %d: %v, want %v", seed, edited, want)
			}
			for before, after := range sorted.Differences(list, edited, keyOf) {
				if before == after || before != nil && was[before.key] != before || before != nil && after != nil &&
					before.key != after.key {
					t.Fatalf("seed %d: %v became %v", seed, before, after)
				}
				if after == nil {
					delete(was, before.key)
				} else {
					was[after.key] = after
				}
			}
			if !maps.Equal(was, want) {
				t.Fatalf("seed %d: differences lead to %v, want %v", seed, was, want)
			}
			list = edited
		}
	}
}
