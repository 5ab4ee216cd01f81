package state

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/weir-lb/weir/durable"
)

// maxFileBytes bounds what is read back: a Plan fits in a frame to the data plane, and everything else is smaller.
const maxFileBytes = 64<<20 + 4096

// CorruptError says that a kept file could not be trusted and where it was put.
type CorruptError struct {
	Path    string
	MovedTo string // empty: it could not be moved
	Problem string
}

func (e *CorruptError) Error() string {
	if e.MovedTo == "" {
		return fmt.Sprintf("%s is corrupt (%s)", e.Path, e.Problem)
	}
	return fmt.Sprintf("%s is corrupt (%s); moved aside to %s", e.Path, e.Problem, e.MovedTo)
}

// read returns the body that write stored under this name.
func (d *Dir) read(name string) ([]byte, error) {
	path := d.File(name)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrAbsent
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, cause(err))
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, cause(err))
	}
	body, problem := unseal(name, raw)
	if problem != "" {
		return nil, d.moveAside(name, problem)
	}
	return body, nil
}

// moveAside keeps one bad file for a person to look at; an older one is overwritten.
func (d *Dir) moveAside(name, problem string) *CorruptError {
	corrupt := &CorruptError{Path: d.File(name), Problem: problem}
	aside := d.File(name + ".corrupt")
	if err := os.Rename(corrupt.Path, aside); err == nil {
		corrupt.MovedTo = aside
	}
	return corrupt
}

// write replaces the file so that a crash at any moment leaves the old one or the new one.
func (d *Dir) write(name string, body []byte) error {
	path := d.File(name)
	if err := durable.WriteFile(path, seal(name, body)); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, cause(err))
	}
	return nil
}

func header(name string, body []byte) []byte {
	return fmt.Appendf(nil, "weir %s v1 sha256:%x\n", name, sha256.Sum256(body))
}

func seal(name string, body []byte) []byte {
	return append(header(name, body), body...)
}

// unseal returns the body, or what is wrong with the file.
func unseal(name string, raw []byte) (body []byte, problem string) {
	if len(raw) > maxFileBytes {
		return nil, "too long"
	}
	line, body, found := bytes.Cut(raw, []byte("\n"))
	if !found || !bytes.HasPrefix(line, []byte("weir "+name+" v1 sha256:")) {
		return nil, "it does not begin as a " + name + " file of this version"
	}
	if !bytes.Equal(raw[:len(line)+1], header(name, body)) {
		return nil, "its checksum does not match"
	}
	return body, ""
}
