package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

func runMixed(t *testing.T, args ...string) (string, error) {
	t.Helper()
	asked, err := parse(append(args, "./testdata/mixed"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = run(t.Context(), asked, &out)
	return out.String(), err
}

func TestRunFailsWithEachTestThatFails(t *testing.T) {
	out, err := runMixed(t)
	if err == nil || err.Error() != "2 of 5 tests failed" {
		t.Errorf("got %v", err)
	}
	for _, part := range []string{"it is broken on purpose", "FAIL  ./testdata/mixed  TestFails",
		"FAIL  ./testdata/mixed  TestPanics", "there is no moon", "5 tests in "} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing in\n%s", part, out)
		}
	}
}

func TestWhyTestsFailedIsSaidLast(t *testing.T) {
	out, _ := runMixed(t)
	_, end, _ := strings.Cut(out, "5 tests in ")
	if !strings.Contains(end, "FAIL  ./testdata/mixed  TestFails\n") ||
		!strings.Contains(end, "it is broken on purpose") {
		t.Errorf("the end does not say it:\n%s", end)
	}
}

func TestRunOfTestsThatPassSaysHowMany(t *testing.T) {
	out, err := runMixed(t, "-run", "^TestPasses", "-alone", "Too")
	if err != nil || !strings.Contains(out, "2 tests in ") {
		t.Errorf("%v in\n%s", err, out)
	}
}

func TestRunWithoutATestIsAnError(t *testing.T) {
	if out, err := runMixed(t, "-run", "Nothing"); err == nil {
		t.Errorf("it passes:\n%s", out)
	}
}

func TestTestsThatRunAloneComeApart(t *testing.T) {
	tests := []test{{name: "TestA"}, {name: "TestBench"}, {name: "TestC"}}
	together, apart := divide(tests, regexp.MustCompile("A|Bench"), regexp.MustCompile("Bench"))
	if fmt.Sprint(together, apart) != fmt.Sprint([]test{{name: "TestA"}}, []test{{name: "TestBench"}}) {
		t.Errorf("got %v and %v", together, apart)
	}
}

func TestNoTestBeginsAfterAnInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var ended []string
	tests := make([]test, 50)
	for i := range tests {
		tests[i] = test{program: "true", name: fmt.Sprint("Test", i)}
	}
	runAll(ctx, tests, 2, time.Minute, func(o outcome) {
		mu.Lock()
		defer mu.Unlock()
		ended = append(ended, o.name)
		cancel()
	})
	if len(ended) == 0 || len(ended) > 5 {
		t.Errorf("%d of %d tests ran", len(ended), len(tests))
	}
}

func TestTestsOfAPackageAreSpreadOverTheList(t *testing.T) {
	tests, err := build(t.Context(), []string{"./testdata/mixed", "./testdata/few"}, t.TempDir())
	if err != nil || len(tests) != 6 {
		t.Fatalf("got %v, %v", tests, err)
	}
	if tests[3].name != "TestOfAPackageWithFew" {
		t.Errorf("the only test of a package is not in the middle: %v", tests)
	}
}
