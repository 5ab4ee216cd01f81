package notify

import (
	"context"
	"time"
)

// TriesMost is how often a receiver is tried.
const TriesMost = 5

// pauses are those between tries.
var pauses = [TriesMost - 1]time.Duration{time.Second, 4 * time.Second, 16 * time.Second, 64 * time.Second}

// Pause waits after a try that failed, or until ctx ends. The first try is 1.
func Pause(ctx context.Context, try int) {
	timer := time.NewTimer(pauses[try-1])
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
