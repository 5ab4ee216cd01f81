package ours

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadsTheTLSLibraryOutOfWhatTheDataPlaneSays(t *testing.T) {
	dir := t.TempDir()
	for said, want := range map[string]string{
		"weir-dataplane 0.1.0\nTLS: rustls 0.23.46, aws-lc-rs 1.19.0": "rustls 0.23.46, aws-lc-rs 1.19.0",
		"weir-dataplane 0.1.0": "",
	} {
		script := "#!/bin/sh\ncat <<'END'\n" + said + "\nEND\n"
		if err := os.WriteFile(filepath.Join(dir, "weir-dataplane"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := TLSLibrary(t.Context(), dir); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", said, got, err)
		}
	}
}
