// Program abreast runs the tests of packages side by side: each test function in a process of its own, a few at once.
// It is for tests that mostly wait. They take their addresses and the names of their networks from the number of their
// process, so that they do not meet. It shows the output of tests that fail, and what took longest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

// options say what to run, and how.
type options struct {
	atOnce   int
	alone    *regexp.Regexp // names of tests that run after all others, one at a time; nil: none
	only     *regexp.Regexp // names of the tests to run; nil: all
	timeout  time.Duration  // of one test
	packages []string
}

func main() {
	asked, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "abreast:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, asked, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "abreast:", err)
		os.Exit(1)
	}
}

func parse(args []string) (asked options, err error) {
	flags := flag.NewFlagSet("abreast", flag.ContinueOnError)
	alone := flags.String("alone", "", "tests that run after all others, one at a time")
	only := flags.String("run", "", "run these tests alone")
	flags.IntVar(&asked.atOnce, "at-once", 3, "how many tests run at once")
	flags.DurationVar(&asked.timeout, "timeout", 15*time.Minute, "how long one test may take")
	if err := flags.Parse(args); err != nil {
		return asked, err
	}
	if asked.packages = flags.Args(); len(asked.packages) == 0 || asked.atOnce < 1 {
		return asked, errors.New("give packages, and let at least one test run")
	}
	for into, text := range map[**regexp.Regexp]string{&asked.alone: *alone, &asked.only: *only} {
		if text == "" {
			continue
		}
		if *into, err = regexp.Compile(text); err != nil {
			return asked, err
		}
	}
	return asked, nil
}

// run builds the packages, runs their tests and says how it went.
func run(ctx context.Context, asked options, out io.Writer) error {
	dir, err := os.MkdirTemp("", "abreast-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tests, err := build(ctx, asked.packages, dir)
	if err != nil {
		return err
	}
	together, alone := divide(tests, asked.only, asked.alone)
	began := time.Now()
	report := &report{out: out}
	runAll(ctx, together, asked.atOnce, asked.timeout, report.add)
	runAll(ctx, alone, 1, asked.timeout, report.add)
	if err := ctx.Err(); err != nil {
		return err
	}
	return report.conclude(time.Since(began))
}

// divide sorts out what is not asked for, and what runs alone.
func divide(tests []test, only, alone *regexp.Regexp) (together, apart []test) {
	for _, t := range tests {
		switch {
		case only != nil && !only.MatchString(t.name):
		case alone != nil && alone.MatchString(t.name):
			apart = append(apart, t)
		default:
			together = append(together, t)
		}
	}
	return together, apart
}
