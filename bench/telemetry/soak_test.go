package telemetry

import (
	"strings"
	"testing"
	"time"
)

func looksOf(of func(n int) amounts) (looks []amounts) {
	for n := range 40 {
		looks = append(looks, of(n))
	}
	return looks
}

func TestSoakFindsWhatGrowsAfterAllIsWarm(t *testing.T) {
	level := looksOf(func(n int) amounts { return amounts{"controller MiB": float64(min(n, 10)), "series": 500} })
	if found := judgeSoak(level, soakMost); found.Value != 0 || found.Fault != "" {
		t.Errorf("what is level grows: %+v", found)
	}
	growing := looksOf(func(n int) amounts {
		return amounts{"controller MiB": 200, "agent descriptors": 100 + float64(n)}
	})
	found := judgeSoak(growing, 8*time.Hour)
	if found.Value < 15 || found.Value > 25 || found.Fault != "8h0m0s, and the bar is for 24h0m0s" ||
		!strings.Contains(found.Note, "agent descriptors 115, then 135 (+4.0 an hour)") {
		t.Errorf("got %+v", found)
	}
	falling := looksOf(func(n int) amounts { return amounts{"series": 100 - float64(n)} })
	if found := judgeSoak(falling, soakMost); found.Value != 0 {
		t.Errorf("what falls grows: %+v", found)
	}
}

func TestSoakOfFewLooksIsAFault(t *testing.T) {
	if found := judgeSoak(nil, soakMost); found.Fault == "" {
		t.Error("it holds")
	}
}
