package column

import (
	"testing"
	"time"
)

func TestSaysHowLongAgo(t *testing.T) {
	for stamp, want := range map[string]string{
		"2026-11-21T11:59:18Z": "42s", "2026-11-21T11:55:00Z": "5m", "2026-11-21T08:48:00Z": "3h12m",
		"2026-11-17T12:00:00Z": "4d", "2026-11-21T12:00:05Z": "0s", "": "", "soon": "",
	} {
		if got := Age(stamp, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)); got != want {
			t.Errorf("%q: got %q, want %q", stamp, got, want)
		}
	}
}
