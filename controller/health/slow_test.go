package health

import (
	"testing"
	"time"
)

func took(answers uint64, ms float64) ServerTime {
	return ServerTime{answers, time.Duration(ms * float64(time.Millisecond))}
}

func TestServerThatNeedsFarLongerThanTheOthersIsSlow(t *testing.T) {
	slow := SlowServers([]ServerTime{took(600, 10), took(100, 400), took(300, 20)})
	if len(slow) != 1 || slow[0].Index != 1 {
		t.Fatalf("got %+v", slow)
	}
	if s := slow[0]; s.Share != 0.1 || s.Mean != 400*time.Millisecond ||
		s.Others.Round(100*time.Microsecond) != 13_300*time.Microsecond {
		t.Errorf("got %+v", s)
	}
}

func TestServerIsNotSlowForLittleReason(t *testing.T) {
	for name, servers := range map[string][]ServerTime{
		"there is no other":            {took(100, 400)},
		"no other has answered enough": {took(100, 400), took(9, 1)},
		"it has answered too little":   {took(9, 400), took(100, 1)},
		"all are as slow":              {took(100, 400), took(100, 350), took(100, 450)},
		"it is 40 times a short time":  {took(100, 40), took(100, 1)},
		"it needs 300 ms more of many": {took(100, 700), took(100, 400)},
		"nothing has happened":         nil,
	} {
		if slow := SlowServers(servers); len(slow) > 0 {
			t.Errorf("%s: %+v", name, slow)
		}
	}
}

func TestTheSlowestServerComesFirst(t *testing.T) {
	slow := SlowServers([]ServerTime{took(50, 200), took(50, 900), took(50, 1), took(50, 1), took(50, 1)})
	if len(slow) != 2 || slow[0].Index != 1 || slow[1].Index != 0 {
		t.Errorf("got %+v", slow)
	}
	if slow := SlowServers([]ServerTime{took(50, 200), took(50, 1)}); len(slow) != 1 || slow[0].Index != 0 {
		t.Errorf("of two servers: %+v", slow)
	}
}
