package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"
)

// slowestShown is how many of the longest tests are shown at the end.
const slowestShown = 10

// report says how tests ended.
type report struct {
	out    io.Writer
	ended  []outcome
	failed int
}

// add tells of a test that failed or was skipped; tests that pass are only counted.
func (r *report) add(o outcome) {
	r.ended = append(r.ended, o)
	switch {
	case o.err != nil:
		r.failed++
		fmt.Fprintf(r.out, "%s\nFAIL  %s  %s  %.1fs: %v\n", o.output, o.dir, o.name, o.took.Seconds(), o.err)
	case o.skipped != "":
		fmt.Fprintf(r.out, "skip  %s  %s\n", o.dir, o.skipped)
	}
}

// saidShown is how many lines of a failed test are repeated at the end.
const saidShown = 5

// saidAt finds what a test said, with the place in its source.
var saidAt = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: .*`)

// conclude shows the sums, and last why tests failed. A run in which no test ran is an error, too.
func (r *report) conclude(took time.Duration) error {
	slices.SortStableFunc(r.ended, func(a, b outcome) int { return cmp.Compare(b.took, a.took) })
	var sum time.Duration
	for n, o := range r.ended {
		sum += o.took
		if n < slowestShown {
			fmt.Fprintf(r.out, "%6.1fs  %s  %s\n", o.took.Seconds(), o.dir, o.name)
		}
	}
	fmt.Fprintf(r.out, "%d tests in %.0fs, %.0fs one after the other\n", len(r.ended), took.Seconds(), sum.Seconds())
	for _, o := range r.ended {
		if o.err == nil {
			continue
		}
		fmt.Fprintf(r.out, "FAIL  %s  %s\n", o.dir, o.name)
		for _, line := range saidAt.FindAll(o.output, saidShown) {
			fmt.Fprintf(r.out, "%s\n", line)
		}
	}
	if len(r.ended) == 0 {
		return fmt.Errorf("there is no such test")
	}
	if r.failed > 0 {
		return fmt.Errorf("%d of %d tests failed", r.failed, len(r.ended))
	}
	return nil
}
