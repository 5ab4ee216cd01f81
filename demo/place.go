package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	placePrefix = "weir-demo-"
	lockName    = "lock"
)

// place is the directory of one demo, and locked while the demo runs. A demo that was killed leaves a directory that
// nobody has locked.
type place struct {
	dir  string
	lock *os.File
}

// newPlace makes one, and clears those whose demo is dead.
func newPlace() (*place, error) {
	clearPlaces()
	dir, err := os.MkdirTemp("", placePrefix)
	if err != nil {
		return nil, fmt.Errorf("no place for the demo's files: %w: set TMPDIR to a directory that this user may write",
			err)
	}
	lock, err := os.CreateTemp(dir, lockName) // which has its name only once it is locked
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(lock.Name(), filepath.Join(dir, lockName))
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close(), os.RemoveAll(dir))
	}
	return &place{dir, lock}, nil
}

// remove leaves nothing.
func (p *place) remove() error { return errors.Join(os.RemoveAll(p.dir), p.lock.Close()) }

// keep leaves all there is to read, also for the next demo.
func (p *place) keep() error {
	return errors.Join(os.Remove(filepath.Join(p.dir, lockName)), p.lock.Close())
}

// clearPlaces removes what it can. It leaves alone what belongs to another user, or is still being written.
func clearPlaces() {
	locks, err := filepath.Glob(filepath.Join(os.TempDir(), placePrefix+"*", lockName))
	if err != nil {
		return
	}
	for _, path := range locks {
		lock, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = lock.Close()
	}
}
