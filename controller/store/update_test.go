package store

import (
	"errors"
	"testing"
)

// inOneTransaction has some updates decided in their order and written together. meanwhile runs while they wait. It gives
// what each of them returned.
func inOneTransaction(t *testing.T, s *Store, meanwhile func(), decides ...func(tx *Tx) error) []error {
	t.Helper()
	release := make(chan struct{})
	first := make(chan error)
	go func() { first <- s.Update(t.Context(), func(*Tx) error { <-release; return nil }) }()
	untilWriting(t, s)
	outcomes := make([]chan error, len(decides))
	for i, decide := range decides {
		outcomes[i] = make(chan error, 1)
		go func() { outcomes[i] <- s.Update(t.Context(), decide) }()
		untilWaiting(t, s, i+1)
	}
	meanwhile()
	close(release)
	errs := []error{<-first}
	for _, outcome := range outcomes {
		errs = append(errs, <-outcome)
	}
	return errs[1:]
}

func TestUpdateThatDecidedOnAChangeThatWasNotWrittenFailsAsItDid(t *testing.T) {
	s := open(t, t.TempDir())
	refused, known := errors.New("refused"), false
	fillDisk := func() { s.disk.free = func(string) (uint64, error) { return 0, nil } }
	errs := inOneTransaction(t, s, fillDisk,
		func(*Tx) error { return refused },
		func(tx *Tx) error { tx.Put(pool("a")); return nil },
		func(tx *Tx) error { _, known = tx.View().Get("pool", "pool-a"); return nil },
		func(*Tx) error { return errors.New("there is a pool of this name") },
	)
	if !known {
		t.Error("the updates were not decided together")
	}
	if !errors.Is(errs[0], refused) {
		t.Errorf("an update that was refused before anything was changed returns %v", errs[0])
	}
	for i, what := range []string{"made a pool", "found it", "was refused because of it"} {
		if err := errs[i+1]; !errors.Is(err, ErrDiskFull) {
			t.Errorf("the update that %s returns %v", what, err)
		}
	}
}
