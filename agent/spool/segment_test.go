package spool

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// twoBatches are the bytes of a segment.
func twoBatches(t testing.TB) []byte {
	t.Helper()
	dir := t.TempDir()
	written, err := createSegment(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := written.write([]*enginev1.RecordBatch{{Epoch: 7, Number: 1}, {Epoch: 7, Number: 2}}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(written.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// openBytes opens a spool with one segment. It returns the batches, and how many bytes the segment has then.
func openBytes(t testing.TB, content []byte) (numbers []uint64, left []byte) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, segmentName(1))
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := Open(Config{Dir: dir, DiskBytes: 1 << 20, Log: slog.New(slog.DiscardHandler),
		Taken: func(*dataplanev1.RecordsTaken) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.segments[0].file.Close()
	for batch := opened.take(); batch != nil; batch = opened.take() {
		numbers = append(numbers, batch.GetNumber())
	}
	if left, err = os.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	return numbers, left
}

func TestWhatIsNoBatchIsCutOffASegment(t *testing.T) {
	whole := twoBatches(t)
	for name, tail := range map[string][]byte{
		"nothing": nil, "zeros": make([]byte, 4096), "a head": whole[:headBytes], "noise": []byte("no batch at all"),
		"the longest batch": {0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff},
	} {
		numbers, left := openBytes(t, append(slices.Clone(whole), tail...))
		if !slices.Equal(numbers, []uint64{1, 2}) || !bytes.Equal(left, whole) {
			t.Errorf("behind %s: has %v, and %d bytes of %d", name, numbers, len(left), len(whole))
		}
	}
}

func FuzzOpensAnySegment(f *testing.F) {
	whole := twoBatches(f)
	for _, content := range [][]byte{
		nil, whole, whole[:len(whole)-1], make([]byte, 64), append(slices.Clone(whole), make([]byte, 4096)...),
		{0, 0, 0, 0, 0xff, 0xff, 0x7f, 0},
	} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		numbers, left := openBytes(t, content)
		if !bytes.HasPrefix(content, left) || len(numbers) > len(left)/(headBytes+1) {
			t.Fatalf("%d batches in %d bytes of %d", len(numbers), len(left), len(content))
		}
		again, same := openBytes(t, left)
		if !slices.Equal(again, numbers) || !bytes.Equal(same, left) {
			t.Errorf("it has %v, and %v when it is opened again", numbers, again)
		}
	})
}
