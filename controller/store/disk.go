package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// reserveBytes is the free space that a write must leave: one preallocated WAL segment, and the growth of the database
// file. Without that space etcd would end on its next segment. So the store refuses writes before, and still allows
// reads.
const reserveBytes = 96 << 20

// disk guards the file system under the data directory.
type disk struct {
	dir  string
	free func(dir string) (uint64, error)
}

func (d *disk) check() error {
	free, err := d.free(d.dir)
	if err != nil {
		return fmt.Errorf("free space under %s cannot be read: %w", d.dir, err)
	}
	if free < reserveBytes {
		return fmt.Errorf("%w: %d MiB are left under %s, %d MiB are needed; free some space and try again",
			ErrDiskFull, free>>20, d.dir, reserveBytes>>20)
	}
	return nil
}

func freeBytes(dir string) (uint64, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return stat.Bavail * uint64(stat.Bsize), nil
}

// claim locks the directory for this process until the returned file is closed.
func claim(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, inaccessible(dir, err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, inaccessible(dir, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, closeAfter(taken(dir, lock, err), lock)
	}
	if err := signLock(lock); err != nil {
		return nil, closeAfter(inaccessible(dir, err), lock)
	}
	return lock, nil
}

func signLock(lock *os.File) error {
	if err := lock.Truncate(0); err != nil {
		return err
	}
	_, err := lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func taken(dir string, lock *os.File, err error) error {
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return inaccessible(dir, err)
	}
	owner := make([]byte, 20)
	n, _ := lock.ReadAt(owner, 0)
	return fmt.Errorf("%w: %s belongs to the running process %s; stop it or choose another directory",
		ErrInUse, dir, strings.TrimSpace(string(owner[:n])))
}

// inaccessible turns a failed system call on the directory into an error that names the cause.
func inaccessible(dir string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %v; free some space under %s", ErrDiskFull, err, dir)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: %v; make %s a directory that this user may write", ErrPermission, err, dir)
	default:
		return fmt.Errorf("data directory %s cannot be used: %w", dir, err)
	}
}
