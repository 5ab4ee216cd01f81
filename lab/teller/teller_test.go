package teller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"
)

func TestTellsEachStepOnceWhereNoTerminalIs(t *testing.T) {
	var out bytes.Buffer
	told := Teller{Out: &out}
	told.Begin("start")
	told.Meanwhile("half")
	told.Done("it runs")
	told.Begin("stop")
	err := told.Failed(fmt.Errorf("no way: %w", errors.ErrUnsupported))
	if err == nil || err.Error() != "stop: no way: unsupported operation" {
		t.Errorf("got %v", err)
	}
	told.Begin("wait")
	if err := told.Failed(context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	want := regexp.MustCompile(
		`^  ✓ start +0\.\d s  it runs\n  ✗ stop +0\.\d s  failed\n  - wait +0\.\d s  interrupted\n$`)
	if !want.Match(out.Bytes()) {
		t.Errorf("got\n%s", &out)
	}
}

func TestTellsALineAgainOnATerminal(t *testing.T) {
	var out bytes.Buffer
	told := Teller{Out: &out, Live: true}
	told.Begin("start")
	told.Meanwhile("half")
	told.Done("it runs")
	want := regexp.MustCompile(
		`^\r\x1b\[K  … start  0 s  \r\x1b\[K  … start  0 s  half\r\x1b\[K  ✓ start +0\.\d s  it runs\n$`)
	if !want.Match(out.Bytes()) {
		t.Errorf("got %q", &out)
	}
}

func TestPlaysStepsToTheFirstThatFails(t *testing.T) {
	var out bytes.Buffer
	step := func(err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return "well", err }
	}
	err := (&Teller{Out: &out}).Play(t.Context(), Step{"one", step(nil)}, Step{"two", step(errors.New("no"))},
		Step{"three", step(nil)})
	if err == nil || err.Error() != "two: no" {
		t.Errorf("got %v", err)
	}
	if want := regexp.MustCompile(`^  ✓ one .*well\n  ✗ two .*failed\n$`); !want.Match(out.Bytes()) {
		t.Errorf("got\n%s", &out)
	}
}
