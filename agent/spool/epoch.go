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
	path string
	last epoch
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

// of returns the number of a process. A new one is on disk before it is used.
func (e *epochs) of(process uint64) (uint64, error) {
	if process == e.last.Process {
		return e.last.Epoch, nil
	}
	next := epoch{process, max(process, e.last.Epoch+1)}
	content, err := json.Marshal(next)
	if err == nil {
		err = durable.WriteFile(e.path, content)
	}
	if err != nil {
		return 0, err
	}
	e.last = next
	return next.Epoch, nil
}
