package fleet_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/fleet/fleettest"
)

func TestReportsAreHeardWhileManyObjectsAreRead(t *testing.T) {
	c := fleettest.NewCrowd(t, 2, 4, 1)
	c.Pass()
	numbers, seen := make([]int, 400), []int{}
	for i := range numbers {
		numbers[i] = i
	}
	var heard atomic.Bool
	passed, heardAt := make(chan struct{}), -1
	fleet.ReadEach(c.Fleet, numbers, func(_ *fleet.Known, number int) {
		if len(seen) == 0 {
			go func() {
				c.Pass() // needs the lock of the fleet
				heard.Store(true)
				close(passed)
			}()
		}
		if seen = append(seen, number); heardAt < 0 && heard.Load() {
			heardAt = number
		}
		for begun := time.Now(); time.Since(begun) < 300*time.Microsecond; { // an object takes long
		}
	})
	<-passed
	if !slices.Equal(seen, numbers) {
		t.Errorf("these were read: %v", seen)
	}
	if heardAt < 0 {
		t.Errorf("the reports had to wait until all %d objects were read", len(numbers))
	}
}
