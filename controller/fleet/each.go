package fleet

import (
	"runtime"
	"time"
)

// turnMost is about how long one turn of ReadEach has the lock.
const turnMost = 250 * time.Microsecond

// ReadEach calls look with each of many objects, as Read does. It does so in short turns. Between two of them, the lock
// and the core are free for others: a Plan that waits for the lock, or for a core, is on its way after a moment. The
// model may change between two turns.
func ReadEach[T any](from *Fleet, objects []T, look func(known *Known, object T)) {
	for next := 0; next < len(objects); {
		from.Read(func(known *Known) {
			for end := time.Now().Add(turnMost); next < len(objects); {
				look(known, objects[next])
				if next++; time.Now().After(end) {
					return
				}
			}
		})
		runtime.Gosched()
	}
}
