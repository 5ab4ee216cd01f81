package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/weir-lb/weir/logs/wire"
)

func open(t *testing.T, dir string) (journal *Journal, replayed []string) {
	t.Helper()
	journal, err := Open(dir, func(entry Entry) error {
		replayed = append(replayed, fmt.Sprintf("%d %s", entry.Number, entry.Batch))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return journal, replayed
}

func add(t *testing.T, j *Journal, epoch, sequence uint64, batch string) (isNew bool) {
	t.Helper()
	_, isNew, err := j.Append(wire.Origin{Source: "s", Epoch: epoch, Sequence: sequence}, []byte(batch))
	if err != nil {
		t.Fatal(err)
	}
	return isNew
}

func TestGivesBackWhatIsNotSettledAndTakesNoBatchTwice(t *testing.T) {
	dir := t.TempDir()
	j, _ := open(t, dir)
	if !add(t, j, 1, 1, "one") || !add(t, j, 1, 2, "two") || add(t, j, 1, 2, "two") || add(t, j, 1, 1, "one") {
		t.Error("new batches and repeated ones were taken for each other")
	}
	j, replayed := open(t, dir)
	if want := []string{"1 one", "2 two"}; !slices.Equal(replayed, want) {
		t.Errorf("replayed %q, want %q", replayed, want)
	}
	if add(t, j, 1, 2, "two") || !add(t, j, 1, 3, "three") {
		t.Error("the journal does not know any more which batches came before")
	}
	cut, err := j.Cut()
	if err != nil {
		t.Fatal(err)
	}
	add(t, j, 2, 1, "four")
	if err := j.Settle(cut); err != nil {
		t.Fatal(err)
	}
	j, replayed = open(t, dir)
	if want := []string{"4 four"}; !slices.Equal(replayed, want) {
		t.Errorf("replayed %q, want %q", replayed, want)
	}
	if add(t, j, 2, 1, "four") {
		t.Error("a batch was taken twice")
	}
	_, _, err = j.Append(wire.Origin{Source: "s", Epoch: 1, Sequence: 9}, nil)
	if old := (*OldEpoch)(nil); !errors.As(err, &old) || old.Newest != 2 {
		t.Errorf("a batch of an old epoch: %v", err)
	}
	whole, files := j.Bytes(), int64(0)
	names, _ := listFiles(dir)
	for _, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files += info.Size()
	}
	if whole != files {
		t.Errorf("counts %d bytes, the files have %d", whole, files)
	}
}

func TestKnowsBatchesWhoseEntriesAreSettled(t *testing.T) {
	dir := t.TempDir()
	j, _ := open(t, dir)
	add(t, j, 1, 7, "seven")
	cut, err := j.Cut()
	if err == nil {
		err = j.Settle(cut)
	}
	if err != nil {
		t.Fatal(err)
	}
	j, replayed := open(t, dir)
	if replayed != nil || add(t, j, 1, 7, "seven") || j.Bytes() != 0 {
		t.Errorf("replayed %q; %d bytes", replayed, j.Bytes())
	}
}

// An entry that is cut off anywhere was never acknowledged. Its number and its sequence are free again.
func TestDropsAnEntryThatIsNotWhole(t *testing.T) {
	dir := t.TempDir()
	j, _ := open(t, dir)
	add(t, j, 1, 1, "one")
	before := j.Bytes()
	add(t, j, 1, 2, "two")
	path := filepath.Join(dir, fileName(1))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := before; size < int64(len(whole)); size++ {
		torn := t.TempDir()
		if err := os.WriteFile(filepath.Join(torn, fileName(1)), whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		j, replayed := open(t, torn)
		if !slices.Equal(replayed, []string{"1 one"}) || !add(t, j, 1, 2, "again") {
			t.Fatalf("of %d bytes: replayed %q", size, replayed)
		}
		if _, replayed := open(t, torn); !slices.Equal(replayed, []string{"1 one", "2 again"}) {
			t.Fatalf("of %d bytes, then: replayed %q", size, replayed)
		}
	}
}

func TestManySourcesWriteAtOnce(t *testing.T) {
	dir := t.TempDir()
	j, _ := open(t, dir)
	const sources, batches = 8, 50
	var writing sync.WaitGroup
	for source := range sources {
		writing.Go(func() {
			for sequence := range uint64(batches) {
				origin := wire.Origin{Source: fmt.Sprint(source), Epoch: 1, Sequence: sequence + 1}
				if _, isNew, err := j.Append(origin, []byte("batch")); err != nil || !isNew {
					t.Errorf("%v: new %v, %v", origin, isNew, err)
				}
				if sequence%20 != 0 {
					continue
				}
				if _, err := j.Cut(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	if _, replayed := open(t, dir); len(replayed) != sources*batches {
		t.Errorf("replayed %d entries, want %d", len(replayed), sources*batches)
	}
}

func FuzzReadsAnyFile(f *testing.F) {
	f.Add(Entry{1, wire.Origin{Source: "s", Epoch: 1, Sequence: 1}, []byte("batch")}.append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		for {
			entry, rest, ok := readEntry(content)
			if !ok {
				return
			}
			if got := string(entry.append(nil)); got != string(content[:len(content)-len(rest)]) {
				t.Errorf("%q is written as %q", content, got)
			}
			content = rest
		}
	})
}

// Engines come and go: the sources that were heard of last are known, also after a restart.
func TestForgetsTheSourceThatHasSentNothingForLongest(t *testing.T) {
	known := newOrigins()
	for n := range maxSources {
		known.add(wire.Origin{Source: fmt.Sprint(n), Epoch: 1, Sequence: 1})
	}
	known.add(wire.Origin{Source: "0", Epoch: 1, Sequence: 2})
	path := filepath.Join(t.TempDir(), checkpointName)
	if err := writeCheckpoint(path, 7, known); err != nil {
		t.Fatal(err)
	}
	_, known, err := readCheckpoint(path)
	if err != nil {
		t.Fatal(err)
	}
	known.add(wire.Origin{Source: "new", Epoch: 1, Sequence: 1})
	for source, want := range map[string]bool{"0": false, "1": true, "2": false, "new": false} {
		if isNew, err := known.isNew(wire.Origin{Source: source, Epoch: 1, Sequence: 1}); isNew != want || err != nil {
			t.Errorf("the batch of %s is new: %v, %v", source, isNew, err)
		}
	}
}
