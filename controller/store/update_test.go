package store

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var (
	errPanic = errors.New("panic")
	errEnded = errors.New("its goroutine has ended")
)

// inOneTransaction has some updates decided in their order and written together. meanwhile runs while the updates
// wait. It returns what each update returned or panicked with.
func inOneTransaction(t *testing.T, s *Store, meanwhile func(), decides ...func(tx *Tx) error) []error {
	t.Helper()
	release := make(chan struct{})
	go func() { _ = s.Update(t.Context(), func(*Tx) error { <-release; return nil }) }()
	untilWriting(t, s)
	outcomes := make([]chan error, len(decides))
	for i, decide := range decides {
		outcomes[i] = make(chan error, 1)
		go func() {
			err := errEnded
			defer func() {
				if cause := recover(); cause != nil {
					err = fmt.Errorf("%w: %v", errPanic, cause)
				}
				outcomes[i] <- err
			}()
			err = s.Update(t.Context(), decide)
		}()
		untilWaiting(t, s, i+1)
	}
	meanwhile()
	close(release)
	var errs []error
	for _, outcome := range outcomes {
		errs = append(errs, <-outcome)
	}
	return errs
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

// breaking panics once, when it seals the object with this uuid.
type breaking struct {
	plain
	uuid string
}

func (b *breaking) Seal(value []byte, purpose string) []byte {
	if b.uuid != "" && strings.HasSuffix(purpose, b.uuid) {
		b.uuid = ""
		panic("the sealer broke")
	}
	return b.plain.Seal(value, purpose)
}

func TestPanicWhileUpdatesAreWrittenEndsThoseAndNoOthers(t *testing.T) {
	sealer := &breaking{}
	c := config(t.TempDir())
	c.Sealer = func() (Sealer, error) { return sealer, nil }
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	errs := inOneTransaction(t, s, func() { sealer.uuid = "pool-b" },
		func(tx *Tx) error { tx.Put(pool("a")); return nil },
		func(tx *Tx) error { tx.Put(pool("b")); return nil },
	)
	if !oneIs(errPanic, errs) {
		t.Errorf("the updates return %v", errs)
	}
	put(t, s, pool("c"))
	if n := s.View().Count("pool"); n != 1 {
		t.Errorf("there are %d pools", n)
	}
}

func TestDecideThatEndsItsGoroutineEndsTheUpdatesOfItsTransaction(t *testing.T) {
	s := open(t, t.TempDir())
	errs := inOneTransaction(t, s, func() {},
		func(tx *Tx) error { tx.Put(pool("a")); return nil },
		func(*Tx) error { runtime.Goexit(); return nil },
		func(tx *Tx) error { tx.Put(pool("b")); return nil },
	)
	if !oneIs(errEnded, errs) {
		t.Errorf("the updates return %v", errs)
	}
	put(t, s, pool("c"))
}

// oneIs tells whether one error is want, that of the update whose goroutine wrote, and all others are errInterrupted.
func oneIs(want error, errs []error) bool {
	others := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, errInterrupted) })
	return len(others) == 1 && errors.Is(others[0], want)
}

func TestPanicOfDecideTellsWhereItWas(t *testing.T) {
	s := open(t, t.TempDir())
	errs := inOneTransaction(t, s, func() {}, func(*Tx) error { return nil }, brokenDecide)
	if errs[0] != nil || !errors.Is(errs[1], errPanic) || !strings.Contains(errs[1].Error(), "store.brokenDecide(") {
		t.Errorf("got %v", errs)
	}
}

func brokenDecide(*Tx) error { panic("broken") }
