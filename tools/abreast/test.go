package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// test is a test function, and the program that has it.
type test struct {
	program, dir string // the program runs in the directory of its package
	name         string
}

// outcome is how a test ended.
type outcome struct {
	test
	took    time.Duration
	err     error
	skipped string // why; empty: it ran
	output  []byte
}

// build makes a program of the tests of each package in dir, and lists their tests. Those of each package are spread
// over the whole list, because some packages need the cores more than others.
func build(ctx context.Context, packages []string, dir string) (all []test, err error) {
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-c", "-o", dir + "/"}, packages...)...)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("go test -c: %w", err)
	}
	at := map[test]float64{}
	for _, name := range packages {
		t := test{program: filepath.Join(dir, path.Base(name)+".test"), dir: name}
		list := exec.CommandContext(ctx, t.program, "-test.list", "^(Test|Fuzz|Example)")
		list.Dir = name
		listed, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the tests of %s: %w", name, err)
		}
		names := strings.Fields(string(listed))
		for n, name := range names {
			t.name = name
			at[t] = (float64(n) + 0.5) / float64(len(names))
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b test) int { return cmp.Compare(at[a], at[b]) })
	return all, nil
}

// runAll runs tests, a few at once, and tells how each ended, one at a time. When ctx ends, no other test begins.
func runAll(ctx context.Context, tests []test, atOnce int, timeout time.Duration, tell func(outcome)) {
	waiting := make(chan test)
	var mu sync.Mutex
	var running sync.WaitGroup
	for range atOnce {
		running.Go(func() {
			for t := range waiting {
				ended := t.run(ctx, timeout)
				mu.Lock()
				tell(ended)
				mu.Unlock()
			}
		})
	}
	for _, t := range tests {
		if ctx.Err() != nil {
			break
		}
		waiting <- t
	}
	close(waiting)
	running.Wait()
}

// leaveWithin is how long a test that is interrupted may take to remove what it has made.
const leaveWithin = 30 * time.Second

func (t test) run(ctx context.Context, timeout time.Duration) outcome {
	command := exec.CommandContext(ctx, t.program, "-test.run", "^"+regexp.QuoteMeta(t.name)+"$", "-test.v",
		"-test.timeout", timeout.String())
	command.Dir, command.WaitDelay = t.dir, leaveWithin
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	began := time.Now()
	err := command.Run()
	ended := outcome{test: t, took: time.Since(began), err: err, output: output.Bytes()}
	if err == nil && bytes.Contains(ended.output, []byte("--- SKIP: "+t.name+" ")) {
		ended.skipped = strings.Join(strings.Fields(string(ended.output)), " ")
	}
	return ended
}
