// Package teller runs steps and prints progress, for demo and lab.
package teller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Step is one thing to do. What it returns is printed at the end of its line.
type Step struct {
	Doing string
	Do    func(context.Context) (string, error)
}

// Teller prints each step, and at its end the result and the duration. On a terminal it prints the line at the
// beginning, and rewrites it; elsewhere it prints it once, at the end.
type Teller struct {
	Out   io.Writer
	Live  bool // Out is a terminal
	doing string
	since time.Time
}

// clearLine clears a terminal's line and moves to its beginning.
const clearLine = "\r\x1b[K"

// Play runs the steps in order, until one fails or ctx ends.
func (t *Teller) Play(ctx context.Context, steps ...Step) error {
	for _, step := range steps {
		t.Begin(step.Doing)
		result, err := step.Do(ctx)
		if ctx.Err() != nil {
			err = ctx.Err() // whatever it led to
		}
		if err != nil {
			return t.Failed(err)
		}
		t.Done(result)
	}
	return nil
}

// Begin says what is done from now on.
func (t *Teller) Begin(doing string) {
	t.doing, t.since = doing, time.Now()
	t.Meanwhile("")
}

// Meanwhile tells how far it is.
func (t *Teller) Meanwhile(progress string) {
	if t.Live {
		fmt.Fprintf(t.Out, "%s  … %s  %.0f s  %s", clearLine, t.doing, time.Since(t.since).Seconds(), progress)
	}
}

// Done says what came of it.
func (t *Teller) Done(result string) {
	if t.Live {
		fmt.Fprint(t.Out, clearLine)
	}
	fmt.Fprintf(t.Out, "  ✓ %-48s %4.1f s  %s\n", t.doing, time.Since(t.since).Seconds(), result)
}

// Failed ends the line of what was being done and adds that to the error.
func (t *Teller) Failed(err error) error {
	mark, result := "✗", "failed"
	if errors.Is(err, context.Canceled) {
		mark, result = "-", "interrupted"
	}
	if t.Live {
		fmt.Fprint(t.Out, clearLine)
	}
	fmt.Fprintf(t.Out, "  %s %-48s %4.1f s  %s\n", mark, t.doing, time.Since(t.since).Seconds(), result)
	return fmt.Errorf("%s: %w", t.doing, err)
}
