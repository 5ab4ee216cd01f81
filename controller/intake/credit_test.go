package intake

import (
	"context"
	"sync"
	"testing"
	"time"
)

// clock is set by a test.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(passed time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(passed)
}

// waits tells whether one more offer would have to wait.
func waits(t *testing.T, c *credit, bytes, records int) bool {
	t.Helper()
	ended, end := context.WithCancel(t.Context())
	end()
	return c.acquire(ended, bytes, records) != nil
}

func TestCreditBoundsWhatIsOnItsWay(t *testing.T) {
	time := &clock{at: time.Now()}
	c := newCredit(time.now)
	const batch = 1 << 20
	for range inFlightBytesMax / batch {
		if waits(t, c, batch, 1) {
			t.Fatal("there is room")
		}
	}
	if !waits(t, c, batch, 1) {
		t.Error("it grants more than there is room for")
	}
	c.release(batch)
	if waits(t, c, batch, 1) {
		t.Error("a place that was given back is lost")
	}
}

func TestCreditGrantsSoManyRowsASecond(t *testing.T) {
	time := &clock{at: time.Now()}
	c := newCredit(time.now)
	granted := 0
	for range 1000 {
		for !waits(t, c, 0, 1000) {
			granted += 1000
		}
		time.add(20_000_000) // 20 ms
	}
	if most := rowsPerSecond * 21; granted > most+1000 || granted < most*9/10 {
		t.Errorf("granted %d rows in 20 s and a burst, of %d", granted, most)
	}
	time.add(-3_600_000_000_000) // the clock is set back
	for !waits(t, c, 0, 1000) {
	}
	time.add(1_000_000_000)
	if waits(t, c, 0, 1000) {
		t.Error("no rows are granted after the clock was set back")
	}
}

func TestCreditServesThoseThatWaitInTheirOrder(t *testing.T) {
	time := &clock{at: time.Now()}
	c := newCredit(time.now)
	if waits(t, c, inFlightBytesMax, 0) {
		t.Fatal("there is room")
	}
	order := make(chan int, 2)
	for n := range 2 {
		go func() {
			if c.acquire(t.Context(), inFlightBytesMax, 0) == nil {
				order <- n
			}
		}()
		for { // until it waits
			c.mu.Lock()
			waiting := len(c.waiting)
			c.mu.Unlock()
			if waiting == n+1 {
				break
			}
		}
	}
	c.release(inFlightBytesMax)
	if first := <-order; first != 0 {
		t.Errorf("the first is %d", first)
	}
	c.release(inFlightBytesMax)
	<-order
}
