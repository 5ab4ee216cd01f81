package recent

import (
	"slices"
	"testing"
)

func TestOldestGoesFirst(t *testing.T) {
	ring := NewRing[int](3)
	for n := range 5 {
		ring.Add(n)
	}
	if got := ring.NewestFirst(); !slices.Equal(got, []int{4, 3, 2}) {
		t.Errorf("kept are %v", got)
	}
}
