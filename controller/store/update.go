package store

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// settleTimeout bounds a commit on a disk that hangs.
const settleTimeout = 30 * time.Second

// Tx collects the writes of one Update and shows them in its own view before anyone else sees them.
type Tx struct {
	store   *Store
	view    *View
	stamp   int64
	changes []change
}

// View is the view with which the Update began, with the writes of the Update so far.
func (tx *Tx) View() *View { return tx.view }

// Put creates or replaces an object and gives it its Modified stamp, which is above the one that it had, even when the
// clock was set back while no store was open. The record belongs to the store from here on.
func (tx *Tx) Put(record *Record) {
	record.Modified = tx.stamp
	if before, known := tx.view.Get(record.Kind, record.UUID); known {
		record.Modified = max(tx.stamp, before.Modified+1)
	}
	tx.store.note(record)
	tx.apply(change{record.Kind, record.UUID, record})
}

// Delete removes an object.
func (tx *Tx) Delete(kind, uuid string) { tx.apply(change{kind: kind, uuid: uuid}) }

func (tx *Tx) apply(c change) {
	tx.changes = append(tx.changes, c)
	tx.view = tx.view.with(tx.view.revision, tx.changes[len(tx.changes)-1:])
}

// Update runs decide on the newest view and commits its writes, all or none. They are on disk when Update returns. If
// another process has written in between, decide runs again on the new view, so it must have no effect but on tx.
// Update returns after View shows the change. It returns an error of decide unchanged, and writes nothing then. Other
// errors: ErrTooLarge, ErrDiskFull, ErrBusy, ErrClosed, or those of etcd, with ErrUncertain if the change may be
// stored.
//
// Updates that arrive while another one is written wait. They are then written together: each decides on the writes of
// the one before. One goroutine runs the decide of all of them. If they cannot be written, Update returns that error to
// each caller whose decide changed something or saw a change of another one, whatever decide returned.
//
// ctx can cancel an Update until its decide has run. After that it is written, even if its caller no longer waits.
func (s *Store) Update(ctx context.Context, decide func(tx *Tx) error) error {
	own := &update{ctx: ctx, decide: decide}
	s.waiting.add(own)
	s.writing.Lock()
	defer s.writing.Unlock()
	for !own.done {
		s.write(s.waiting.take(updatesMax))
	}
	if own.panicked != nil {
		panic(own.panicked)
	}
	return own.err
}

// Draft runs decide on the newest view, and returns the view that there would be with its writes. Nothing is stored,
// and nobody waits. It returns an error of decide unchanged.
func (s *Store) Draft(decide func(tx *Tx) error) (*View, error) {
	tx := &Tx{store: s, view: s.View(), stamp: s.now().UnixMicro()}
	err := decide(tx)
	return tx.view, err
}

// updatesMax is the number of updates that are written together.
const updatesMax = 64

// update is an Update that waits to be written.
type update struct {
	ctx      context.Context
	decide   func(tx *Tx) error
	upon     bool // decide saw changes of others that are not written yet
	changes  []change
	err      error
	panicked error // panic of decide; its caller gets it
	done     bool
}

// updates are the waiting ones, in the order of their arrival.
type updates struct {
	sync.Mutex
	all []*update
}

func (u *updates) add(one *update) {
	u.Lock()
	defer u.Unlock()
	u.all = append(u.all, one)
}

func (u *updates) take(most int) []*update {
	u.Lock()
	defer u.Unlock()
	some := slices.Clone(u.all[:min(len(u.all), most)])
	u.all = slices.Delete(u.all, 0, len(some))
	return some
}

// errInterrupted is the error of updates whose writer panicked, or ended its goroutine.
var errInterrupted = fmt.Errorf("the write was interrupted: %w", ErrUncertain)

// write decides and commits some updates, together if they fit into one transaction. All of them are done when it
// returns, even if it panics.
func (s *Store) write(some []*update) {
	defer func() {
		for _, one := range some {
			if !one.done {
				one.done, one.err = true, errInterrupted
			}
		}
	}()
	err := s.commitAll(some)
	if errors.Is(err, ErrTooLarge) && len(some) > 1 {
		for _, one := range some {
			s.write([]*update{one})
		}
		return
	}
	for _, one := range some {
		if one.done = true; err != nil && (one.upon || len(one.changes) > 0) {
			one.err = err
		}
	}
}

// commitAll runs the decide of each update, and commits the changes of all.
func (s *Store) commitAll(some []*update) error {
	for {
		base := s.View()
		view, changes := base, []change(nil)
		for _, one := range some {
			tx := &Tx{store: s, view: view, stamp: s.stamp()}
			one.upon = len(changes) > 0
			if one.run(tx); one.err == nil && one.panicked == nil {
				view, one.changes, changes = tx.view, tx.changes, append(changes, tx.changes...)
			}
		}
		if len(changes) == 0 {
			return nil
		}
		won, err := s.settle(context.Background(), base.Revision(), changes)
		if won || err != nil {
			return err
		}
	}
}

// run runs decide, unless the caller no longer waits.
func (u *update) run(tx *Tx) {
	u.changes, u.err, u.panicked = nil, u.ctx.Err(), nil
	if u.err != nil {
		return
	}
	defer func() {
		if cause := recover(); cause != nil {
			u.panicked = fmt.Errorf("%v\n%s", cause, debug.Stack()) // the caller panics with it on another stack
		}
	}()
	u.err = u.decide(tx)
}

// settle commits and waits until the view shows what came of it.
func (s *Store) settle(ctx context.Context, base int64, changes []change) (won bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	won, revision, err := s.commit(ctx, base, changes)
	if err != nil {
		return false, err
	}
	if err = s.caughtUp(ctx, revision); won {
		err = uncertain(err)
	}
	return won, err
}

// uncertain adds that the change may be stored. It returns an answer with which etcd refuses the change as it is.
func uncertain(err error) error {
	if err == nil || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrDiskFull) ||
		errors.Is(err, rpctypes.ErrTooManyRequests) {
		return err
	}
	return fmt.Errorf("%w: %w", err, ErrUncertain)
}

// stamp is the time in µs, but never the same twice nor backwards, whatever the clock does.
func (s *Store) stamp() int64 {
	s.stamped = max(s.now().UnixMicro(), s.stamped+1)
	return s.stamped
}

// commit writes the changes if nobody wrote since base. It returns the revision that the view must reach: of this
// write, or of the one that came in between.
func (s *Store) commit(ctx context.Context, base int64, changes []change) (won bool, revision int64, err error) {
	if err := s.disk.check(); err != nil {
		return false, 0, err
	}
	puts, err := s.operations(changes)
	if err != nil {
		return false, 0, err
	}
	reply, err := s.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(headKey), "=", base)).
		Then(append(puts, clientv3.OpPut(headKey, ""))...).
		Else(clientv3.OpGet(headKey)).
		Commit()
	if err != nil {
		return false, 0, uncertain(s.explain(err))
	}
	if reply.Succeeded {
		return true, reply.Header.Revision, nil
	}
	head := reply.Responses[0].GetResponseRange().Kvs
	return false, head[0].ModRevision, nil
}

// operations keeps the last change of each key: etcd refuses two writes of one key in a transaction.
func (s *Store) operations(changes []change) ([]clientv3.Op, error) {
	last := map[string]int{}
	for i, c := range changes {
		last[objectKey(c.kind, c.uuid)] = i
	}
	if len(last) >= maxTxnOps {
		return nil, fmt.Errorf("%w: %d objects, at most %d", ErrTooLarge, len(last), maxTxnOps-1)
	}
	var ops []clientv3.Op
	for i, c := range changes {
		key := objectKey(c.kind, c.uuid)
		if last[key] != i {
			continue
		}
		if c.record == nil {
			ops = append(ops, clientv3.OpDelete(key))
			continue
		}
		value, err := s.encode(c.record)
		if err != nil {
			return nil, err
		}
		ops = append(ops, clientv3.OpPut(key, string(value)))
	}
	return ops, nil
}

// explain turns etcd's answer into one of our causes.
func (s *Store) explain(err error) error {
	switch {
	case s.ended():
		return fmt.Errorf("%w: %v", ErrClosed, err)
	case err == rpctypes.ErrRequestTooLarge || err == rpctypes.ErrTooManyOps:
		return fmt.Errorf("%w: at most %d MiB", ErrTooLarge, maxRequestBytes>>20)
	case err == rpctypes.ErrNoSpace:
		return fmt.Errorf(
			"%w: the database has reached its quota; restart the controller, which makes room, and delete objects",
			ErrDiskFull)
	case isBusy(err):
		return fmt.Errorf("%w: %w", ErrBusy, err)
	default:
		return fmt.Errorf("the database failed: %w", err)
	}
}

// lateAnswers are those of an etcd that has no time: what it waits for takes too long, its only member has no leader
// for a moment, or too many requests wait to be applied.
var lateAnswers = []error{context.DeadlineExceeded, rpctypes.ErrGRPCDeadlineExceeded, rpctypes.ErrTooManyRequests,
	rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost,
	rpctypes.ErrTimeoutWaitAppliedIndex, rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.ErrUnhealthy}

func isBusy(err error) bool {
	return slices.ContainsFunc(lateAnswers, func(answer error) bool { return errors.Is(err, answer) })
}

func (s *Store) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}
