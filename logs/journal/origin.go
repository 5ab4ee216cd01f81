package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"github.com/weir-lb/weir/durable"
	"github.com/weir-lb/weir/logs/wire"
)

// maxSources is how many sources the journal knows. A batch of one more is refused.
const maxSources = 4096

// OldEpoch says that a batch has a lower epoch than one of the same source before it.
type OldEpoch struct{ Newest uint64 }

func (e *OldEpoch) Error() string {
	return fmt.Sprintf("the source has sent batches of a later epoch, %d", e.Newest)
}

// origins has the newest batch of each source.
type origins map[string]wire.Origin

// isNew tells whether a batch has not come before. Sources send their batches in order.
func (o origins) isNew(batch wire.Origin) (bool, error) {
	newest, known := o[batch.Source]
	switch {
	case batch.Source == "" || len(batch.Source) > maxSourceBytes:
		return false, fmt.Errorf("the name of the source has %d bytes: give 1 to %d", len(batch.Source), maxSourceBytes)
	case batch.Sequence == 0:
		return false, errors.New("batches count from 1")
	case !known && len(o) >= maxSources:
		return false, fmt.Errorf("%d other sources are known, and no more can be", maxSources)
	case known && batch.Epoch < newest.Epoch:
		return false, &OldEpoch{newest.Epoch}
	case known && batch.Epoch == newest.Epoch:
		return batch.Sequence > newest.Sequence, nil
	}
	return true, nil
}

func (o origins) add(batch wire.Origin) { o[batch.Source] = batch }
func (o origins) clone() origins        { return maps.Clone(o) }

const checkpointName = "checkpoint.json"

// checkpoint is the file that says what is settled.
type checkpoint struct {
	Settled uint64        `json:"settled"`
	Newest  []wire.Origin `json:"newest"`
}

func readCheckpoint(path string) (settled uint64, known origins, err error) {
	known = origins{}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, known, nil
	}
	if err != nil {
		return 0, nil, err
	}
	var read checkpoint
	if err := json.Unmarshal(content, &read); err != nil {
		return 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, origin := range read.Newest {
		known.add(origin)
	}
	return read.Settled, known, nil
}

func writeCheckpoint(path string, settled uint64, known origins) error {
	written := checkpoint{Settled: settled}
	for _, origin := range known {
		written.Newest = append(written.Newest, origin)
	}
	content, err := json.Marshal(written)
	if err != nil {
		return err
	}
	return durable.WriteFile(path, content)
}
