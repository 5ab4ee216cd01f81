// Package journal keeps batches of rows on disk from the moment they are acknowledged until the record store has
// written their rows itself, and remembers which batches came before. The record store alone uses it.
//
// A journal is a directory with files of entries, in the order of their numbers, and a checkpoint: the number up to
// which entries are settled, and the newest batch of each source then. Cut begins a new file; Settle writes the
// checkpoint, and removes the files before. An entry at the end of a file that is not whole was never acknowledged.
package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/weir-lb/weir/durable"
	"github.com/weir-lb/weir/logs/wire"
)

// ErrBroken says that the state of the file on disk is not known any more. The process must end: the next one reads
// the journal again.
var ErrBroken = errors.New("the journal cannot be written any more")

// Journal is safe for concurrent use.
type Journal struct {
	dir string

	mu      sync.Mutex
	file    *os.File // nil: the next entry begins a file
	size    int64    // of file
	stored  int64    // bytes in all files
	next    uint64   // number of the next entry
	origins origins
	broken  error

	syncing sync.Mutex // one goroutine syncs; those that wait for it find their bytes synced
	synced  mark       // guarded by mu
}

// mark is a position in the journal: everything before it is on disk.
type mark struct {
	file *os.File
	size int64
}

// Entry is a batch with its number.
type Entry struct {
	Number uint64
	Origin wire.Origin
	Batch  []byte
}

// Open opens the journal in a directory, and gives the entries that are not settled to replay, in their order. New
// entries go into a new file.
func Open(dir string, replay func(Entry) error) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	settled, known, err := readCheckpoint(filepath.Join(dir, checkpointName))
	if err != nil {
		return nil, err
	}
	j := &Journal{dir: dir, next: settled + 1, origins: known}
	files, err := listFiles(dir)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		bytes, err := readFile(filepath.Join(dir, file), func(entry Entry) error {
			if entry.Number < j.next {
				return nil
			}
			j.next = entry.Number + 1
			j.origins.add(entry.Origin)
			return replay(entry)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		j.stored += bytes
	}
	return j, nil
}

// Append puts a batch on disk. isNew is false if the journal had it before. On ErrBroken, the process must end; after
// another error, the batch is not stored, and the next one may be.
func (j *Journal) Append(origin wire.Origin, batch []byte) (number uint64, isNew bool, err error) {
	j.mu.Lock()
	number, isNew, err = j.write(origin, batch)
	end := mark{j.file, j.size}
	j.mu.Unlock()
	if err != nil {
		return 0, false, err
	}
	return number, isNew, j.sync(end)
}

func (j *Journal) write(origin wire.Origin, batch []byte) (number uint64, isNew bool, err error) {
	if j.broken != nil {
		return 0, false, j.broken
	}
	isNew, err = j.origins.isNew(origin)
	if err != nil || !isNew {
		return 0, false, err
	}
	if j.file == nil {
		if err := j.begin(); err != nil {
			return 0, false, err
		}
	}
	entry := Entry{j.next, origin, batch}.append(nil)
	if _, err := j.file.WriteAt(entry, j.size); err != nil {
		if cut := j.file.Truncate(j.size); cut != nil {
			j.broken = fmt.Errorf("%w: %w; %w", ErrBroken, err, cut)
			return 0, false, j.broken
		}
		return 0, false, err
	}
	j.size += int64(len(entry))
	j.stored += int64(len(entry))
	j.origins.add(origin)
	number = j.next
	j.next++
	return number, true, nil
}

// begin makes a file for the entries from the next one on.
func (j *Journal) begin() error {
	file, err := os.OpenFile(filepath.Join(j.dir, fileName(j.next)), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := durable.SyncDir(j.dir); err != nil {
		return errors.Join(err, file.Close())
	}
	j.file, j.size = file, 0
	return nil
}

// sync waits until the bytes before end are on disk. One call of fdatasync serves all entries that wait.
func (j *Journal) sync(end mark) error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	now, synced, broken := mark{j.file, j.size}, j.synced, j.broken
	j.mu.Unlock()
	if broken != nil {
		return broken
	}
	if end.file == nil || end.file != now.file || end.file == synced.file && end.size <= synced.size {
		return nil // Cut has synced the files before
	}
	err := end.file.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.broken = fmt.Errorf("%w: %w", ErrBroken, err)
		return j.broken
	}
	j.synced = now
	return nil
}

// Bytes returns the size of all files.
func (j *Journal) Bytes() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stored
}

// Cut is a point between two entries.
type Cut struct {
	number  uint64 // of the last entry before
	origins origins
	bytes   int64
}

// Cut ends the present file. Later entries go into a new one.
func (j *Journal) Cut() (Cut, error) {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken != nil {
		return Cut{}, j.broken
	}
	if j.file != nil {
		if err := errors.Join(j.file.Sync(), j.file.Close()); err != nil {
			j.broken = fmt.Errorf("%w: %w", ErrBroken, err)
			return Cut{}, j.broken
		}
		j.file, j.size = nil, 0
	}
	return Cut{j.next - 1, j.origins.clone(), j.stored}, nil
}

// Settle forgets the entries before a cut: their rows are on disk elsewhere.
func (j *Journal) Settle(cut Cut) error {
	if err := writeCheckpoint(filepath.Join(j.dir, checkpointName), cut.number, cut.origins); err != nil {
		return err
	}
	files, err := listFiles(j.dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		if firstNumber(file) > cut.number {
			break
		}
		if err := os.Remove(filepath.Join(j.dir, file)); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stored -= cut.bytes
	return nil
}
