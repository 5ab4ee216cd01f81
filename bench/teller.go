package bench

import (
	"fmt"
	"io"
	"time"
)

// teller reports progress: on a terminal in one line that is rewritten, elsewhere once per round.
type teller struct {
	out   io.Writer
	live  bool
	begun time.Time
	done  int
	all   int
}

const clearLine = "\r\x1b[K"

// say tells something that stays.
func (t *teller) say(format string, values ...any) {
	if t.live {
		fmt.Fprint(t.out, clearLine)
	}
	fmt.Fprintf(t.out, format+"\n", values...)
}

// measured counts one measurement and tells how far the whole run is.
func (t *teller) measured(what string) {
	t.done++
	t.meanwhile(what)
}

// meanwhile tells what is being done.
func (t *teller) meanwhile(what string) {
	if !t.live {
		return
	}
	passed := time.Since(t.begun)
	left := time.Duration(float64(passed) / float64(max(1, t.done)) * float64(max(0, t.all-t.done)))
	fmt.Fprintf(t.out, "%s  … %3d %%  %s left  %s", clearLine, 100*t.done/max(1, t.all), left.Round(time.Second), what)
}
