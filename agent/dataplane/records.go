package dataplane

import (
	"maps"
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

// hearRecords gives a frame with records on.
func (s *Supervisor) hearRecords(records *dataplanev1.Records) {
	if s.Records != nil {
		s.Records(records)
	}
}

// RecordsTaken has the data plane told that batches are safe, up to the one that is named. It never blocks.
func (s *Supervisor) RecordsTaken(taken *dataplanev1.RecordsTaken) {
	s.mu.Lock()
	s.taken[taken.GetWorker()] = taken // batches of a worker are taken in their order
	s.mu.Unlock()
	wake(s.recordsTaken)
}

// tellTaken tells the data plane which batches are safe.
func (s *Supervisor) tellTaken(life *life) error {
	for _, taken := range s.takeTaken() {
		frame := &dataplanev1.ToDataplane{Frame: &dataplanev1.ToDataplane_RecordsTaken{RecordsTaken: taken}}
		if err := life.wire.write(frame); err != nil {
			return err
		}
	}
	return nil
}

func (s *Supervisor) takeTaken() []*dataplanev1.RecordsTaken {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := slices.Collect(maps.Values(s.taken))
	clear(s.taken)
	return taken
}
