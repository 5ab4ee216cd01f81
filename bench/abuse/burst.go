package abuse

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// burst is many attackers who connect at once, send a request, and close without waiting for the response.
type burst struct {
	arrived chan struct{}
	toll    Toll
}

// burstersMax come at the same time.
const burstersMax = 4

func beginBurst(ctx context.Context, count int, a approach, request []byte) *burst {
	b := &burst{arrived: make(chan struct{})}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range burstersMax {
		all.Go(func() {
			toll := comeAndGo(ctx, count/burstersMax+min(1, max(0, count%burstersMax-i)), a, request)
			mu.Lock()
			defer mu.Unlock()
			b.toll.Came, b.toll.Refused, b.toll.Why = b.toll.Came+toll.Came, b.toll.Refused+toll.Refused,
				cmp.Or(toll.Why, b.toll.Why)
		})
	}
	begun := time.Now()
	go func() {
		all.Wait()
		b.toll.Took = time.Since(begun).Seconds()
		close(b.arrived)
	}()
	return b
}

func comeAndGo(ctx context.Context, count int, a approach, request []byte) (toll Toll) {
	for range count {
		if ctx.Err() != nil {
			break
		}
		fd, err := a.connect(request)
		if err != nil {
			toll.Refused, toll.Why = toll.Refused+1, err.Error()
			continue
		}
		_ = unix.Close(fd)
		toll.Came++
	}
	return toll
}

// Arrived is closed when all have come and gone.
func (b *burst) Arrived() <-chan struct{} { return b.arrived }

// End says what came of them.
func (b *burst) End() Toll {
	<-b.arrived
	return b.toll
}
