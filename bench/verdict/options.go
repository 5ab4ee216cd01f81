package verdict

import (
	"fmt"
	"io"
)

// Options are what everybody can ask of a bench whose rows have bars.
type Options struct {
	Rows     []string // by name; empty: all
	Quick    bool     // a look, not a measurement
	JSON     bool     // one object per row, last on Out
	Results  string   // directory of the report
	Out      io.Writer
	Progress io.Writer
}

// Say reports progress.
func (o Options) Say(format string, values ...any) { fmt.Fprintf(o.Progress, format+"\n", values...) }

// Short is the first of two where only a look is wanted.
func (o Options) Short(quick, full int) int {
	if o.Quick {
		return quick
	}
	return full
}

// Publish has the report written, and concludes the run. Scripts read the lines: results, or their Verdicts.
func Publish[R Result, L any](
	o Options, results []R, lines []L, write func([]R) (files []string, err error),
) error {
	files, err := write(results)
	if err != nil {
		return fmt.Errorf("the report cannot be written: %w", err)
	}
	o.Say("report: %v", files)
	if !o.JSON {
		return Conclude(nil, results, lines)
	}
	return Conclude(o.Out, results, lines)
}
