package ours

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// TLSLibrary asks the data plane in a directory of programs for the TLS library that it was built with.
func TLSLibrary(ctx context.Context, programs string) (string, error) {
	program := filepath.Join(programs, "weir-dataplane")
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", program, err)
	}
	_, library, found := strings.Cut(string(out), "\nTLS: ")
	if !found {
		return "", fmt.Errorf("%s --version names no TLS library: run `make build`", program)
	}
	return strings.TrimSpace(library), nil
}
