package spool

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weir-lb/weir/durable"
)

const epochName = "epoch.json"

// epochs gives each process of the data plane a number that is higher than those of the processes before, although the
// clock may have been set back.
type epochs struct {
	path    string
	last    epoch
	unsaved bool // last is in memory alone, and save has to be called
}

type epoch struct {
	Process uint64 `json:"process"` // when it started, as the data plane says
	Epoch   uint64 `json:"epoch"`
}

func openEpochs(dir string) (epochs, error) {
	known := epochs{path: filepath.Join(dir, epochName)}
	content, err := os.ReadFile(known.path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return known, err
	}
	if json.Unmarshal(content, &known.last) != nil {
		known.last = epoch{} // process starts are increasing, unless the clock was set back
	}
	return known, nil
}

// of returns the number of a process. A new one is on disk with the first batch of the process, or before it: see save.
func (e *epochs) of(process uint64) uint64 {
	if process != e.last.Process {
		e.last, e.unsaved = epoch{process, max(process, e.last.Epoch+1)}, true
	}
	return e.last.Epoch
}

// save puts the newest number on disk.
func (e *epochs) save() error {
	if !e.unsaved {
		return nil
	}
	content, err := json.Marshal(e.last)
	if err == nil {
		err = durable.WriteFile(e.path, content)
	}
	e.unsaved = err != nil
	return err
}
