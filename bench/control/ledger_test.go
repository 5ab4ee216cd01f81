package control

import (
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// after is a moment some milliseconds past noon.
func after(milliseconds int) time.Time {
	return noon.Add(time.Duration(milliseconds) * time.Millisecond)
}

func TestAnAcknowledgementIsGoodForChangesBeforeItsOwn(t *testing.T) {
	l, web := newLedger(), &service{uuid: "web"}
	first, second, third := l.expect(web, "a", after(0)), l.expect(web, "b", after(20)), l.expect(web, "c", after(40))
	other := l.expect(&service{uuid: "other"}, "b", after(0))
	l.acknowledged("web", "nobody asked for this", after(50))
	l.acknowledged("web", "b", after(100))
	expired := make(chan time.Time)
	close(expired)
	spans, failed := acknowledgements([]*change{first, second, third, other}, expired)
	want := []time.Duration{100 * time.Millisecond, 80 * time.Millisecond, changePatience, changePatience}
	if failed != 2 || !slices.Equal(spans, want) {
		t.Errorf("got %v, %d failed", spans, failed)
	}
	l.acknowledged("web", "c", after(110))
	l.acknowledged("other", "b", after(120))
	spans, failed = acknowledgements([]*change{third, other}, nil)
	if failed != 0 || spans[0] != 70*time.Millisecond || len(l.pending) != 0 {
		t.Errorf("got %v, %d failed, pending %v", spans, failed, l.pending)
	}
}

func TestAChangeThatIsGivenUpIsNotAcknowledgedLater(t *testing.T) {
	l, web := newLedger(), &service{uuid: "web"}
	late := l.expect(web, "a", noon)
	l.forget()
	l.acknowledged("web", "a", noon)
	select {
	case <-late.done:
		t.Error("it was acknowledged after it was given up")
	default:
	}
}
