package ours

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// RunWorkload has `weir bench run` measure a workload, and returns what it prints for scripts: a process of its own,
// because it pins itself to cores.
func RunWorkload(ctx context.Context, programs, workload string, flags ...string) ([]byte, error) {
	results, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(results)
	args := append([]string{"bench", "run", "--workload", workload, "--json", "--results", results}, flags...)
	command := exec.CommandContext(ctx, filepath.Join(programs, "weir"), args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("weir bench run: %w: %s", err, LastLine(said.String()))
	}
	return out, nil
}

// LastLine is what a program that fails mostly says why in.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
