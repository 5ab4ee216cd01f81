package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// teller says what is being done and, when it is done, what came of it and how long it took. On a terminal the line is
// there from the beginning and told again; elsewhere it is told once, at the end.
type teller struct {
	out   io.Writer
	live  bool
	doing string
	since time.Time
}

// clearLine goes back to the beginning of a terminal's line and empties it.
const clearLine = "\r\x1b[K"

func (t *teller) begin(doing string) {
	t.doing, t.since = doing, time.Now()
	t.meanwhile("")
}

// meanwhile tells how far it is.
func (t *teller) meanwhile(progress string) {
	if t.live {
		fmt.Fprintf(t.out, "%s  … %s  %.0f s  %s", clearLine, t.doing, time.Since(t.since).Seconds(), progress)
	}
}

func (t *teller) done(result string) {
	if t.live {
		fmt.Fprint(t.out, clearLine)
	}
	fmt.Fprintf(t.out, "  ✓ %-48s %4.1f s  %s\n", t.doing, time.Since(t.since).Seconds(), result)
}

// failed ends the line of what was being done and adds that to the error.
func (t *teller) failed(err error) error {
	mark, result := "✗", "failed"
	if errors.Is(err, context.Canceled) {
		mark, result = "-", "interrupted"
	}
	if t.live {
		fmt.Fprint(t.out, clearLine)
	}
	fmt.Fprintf(t.out, "  %s %-48s %4.1f s  %s\n", mark, t.doing, time.Since(t.since).Seconds(), result)
	return fmt.Errorf("%s: %w", t.doing, err)
}
