// Package state stores on disk what an agent must not lose: its identity and the last good Plan. A file is written
// completely or not at all, and has a checksum. A file that cannot be read is moved aside: it is never trusted, and
// never stops the agent.
package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrAbsent says that nothing was kept yet.
var ErrAbsent = errors.New("nothing kept yet")

// ErrInUse says that another agent runs on this directory.
var ErrInUse = errors.New("another weir agent is using it")

// Dir is the state directory of one agent, held by an exclusive lock.
type Dir struct {
	path string
	lock *os.File
}

// Open creates the directory when needed and locks it. The lock dies with the process, so a killed agent leaves none.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", path, cause(err))
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state directory %s: %w", path, cause(err))
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrInUse
		}
		return nil, fmt.Errorf("state directory %s: %w", path, err)
	}
	return &Dir{path: path, lock: lock}, nil
}

// Close gives the directory free for another agent.
func (d *Dir) Close() error {
	return d.lock.Close()
}

// File names a file of this directory that others read and write.
func (d *Dir) File(name string) string {
	return filepath.Join(d.path, name)
}

// cause strips the operation and path that os puts before an error, because the message names the path already.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
