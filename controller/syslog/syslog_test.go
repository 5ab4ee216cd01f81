package syslog

import (
	"testing"
	"time"
)

func TestHeaderHasOnlyWhatItsFieldsMayHave(t *testing.T) {
	at := time.Date(2026, 11, 26, 4, 5, 6, 7_000, time.FixedZone("", 3600))
	for _, c := range []struct{ host, process, kind, want string }{
		{"h", "7", "ALERT", "<134>1 2026-11-26T03:05:06.000007Z h weir 7 ALERT - "},
		{"", "", "", "<134>1 2026-11-26T03:05:06.000007Z - weir - - - "},
		{"a b\x1bü", "", "x\ny", "<134>1 2026-11-26T03:05:06.000007Z a_b__ weir - x_y - "},
	} {
		if got := Header(Informational, at, c.host, c.process, c.kind); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

func TestFrameCountsBytes(t *testing.T) {
	if got := string(Framed([]byte("ü!"))); got != "3 ü!" {
		t.Errorf("got %q", got)
	}
}
