// Package durable writes files that survive a crash and a power cut. The controller and the agent keep keys, passwords
// and the last Plan with it.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// Unfinished matches the names of files that WriteFile has begun. A crash can leave one behind.
const Unfinished = "*.new-*"

// WriteFile creates or replaces a file that only its owner may read. A crash at any moment leaves the old content or
// the new one. The new content is on disk when WriteFile returns.
func WriteFile(path string, content []byte) error {
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = part.Write(content)
	err = errors.Join(err, part.Sync(), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		os.Remove(part.Name())
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir puts the names in a directory on disk. Without it a power cut can undo the rename.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
