package journal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/weir-lb/weir/durable"
	"github.com/weir-lb/weir/logs/wire"
)

// maxSources is how many sources the journal knows. With one more, it forgets the one that has sent nothing for
// longest.
const maxSources = 4096

// OldEpoch says that a batch has a lower epoch than one of the same source before it.
type OldEpoch struct{ Newest uint64 }

func (e *OldEpoch) Error() string {
	return fmt.Sprintf("the source has sent batches of a later epoch, %d", e.Newest)
}

// origins has the newest batch of each source, and its turn: later batches have higher ones.
type origins struct {
	newest map[string]turn
	turns  uint64
}

type turn struct {
	wire.Origin
	number uint64
}

func newOrigins() origins { return origins{newest: map[string]turn{}} }

// isNew tells whether a batch has not come before. Sources send their batches in order.
func (o origins) isNew(batch wire.Origin) (bool, error) {
	newest, known := o.newest[batch.Source]
	switch {
	case batch.Source == "" || len(batch.Source) > maxSourceBytes:
		return false, fmt.Errorf("the name of the source has %d bytes: give 1 to %d", len(batch.Source), maxSourceBytes)
	case batch.Sequence == 0:
		return false, errors.New("batches count from 1")
	case known && batch.Epoch < newest.Epoch:
		return false, &OldEpoch{newest.Epoch}
	case known && batch.Epoch == newest.Epoch:
		return batch.Sequence > newest.Sequence, nil
	}
	return true, nil
}

func (o *origins) add(batch wire.Origin) {
	o.turns++
	o.newest[batch.Source] = turn{batch, o.turns}
	if len(o.newest) <= maxSources {
		return
	}
	oldest := batch.Source
	for source, last := range o.newest {
		if last.number < o.newest[oldest].number {
			oldest = source
		}
	}
	delete(o.newest, oldest)
}

func (o origins) clone() origins { return origins{maps.Clone(o.newest), o.turns} }

// inOrder are the newest batches, in the order of their turns.
func (o origins) inOrder() (all []wire.Origin) {
	for _, last := range slices.SortedFunc(maps.Values(o.newest), func(a, b turn) int {
		return cmp.Compare(a.number, b.number)
	}) {
		all = append(all, last.Origin)
	}
	return all
}

const checkpointName = "checkpoint.json"

// checkpoint is the file that says what is settled.
type checkpoint struct {
	Settled uint64        `json:"settled"`
	Newest  []wire.Origin `json:"newest"` // in the order in which they came
}

func readCheckpoint(path string) (settled uint64, known origins, err error) {
	known = newOrigins()
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, known, nil
	}
	if err != nil {
		return 0, known, err
	}
	var read checkpoint
	if err := json.Unmarshal(content, &read); err != nil {
		return 0, known, fmt.Errorf("%s: %w", path, err)
	}
	for _, origin := range read.Newest {
		known.add(origin)
	}
	return read.Settled, known, nil
}

func writeCheckpoint(path string, settled uint64, known origins) error {
	written := checkpoint{Settled: settled, Newest: known.inOrder()}
	content, err := json.Marshal(written)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, content)
}
