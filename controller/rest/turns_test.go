package rest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// asked begins a question of a user. It has its turn when the channel is closed.
func (t *turns) asked(ctx context.Context, user string) (turn <-chan struct{}, leave func(), failed func() error) {
	done, end := make(chan struct{}), make(chan struct{})
	var failure error
	go func() {
		left, err := t.enter(ctx, user)
		if failure = err; err != nil {
			return
		}
		close(done)
		<-end
		left()
	}()
	synctest.Wait()
	return done, func() { close(end); synctest.Wait() }, func() error { return failure }
}

func isOpen(turn <-chan struct{}) bool {
	select {
	case <-turn:
		return true
	default:
		return false
	}
}

func TestOneUserDoesNotHoldUpOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		var leaves []func()
		var all []<-chan struct{}
		for range questionsOfUser {
			turn, leave, _ := turns.asked(t.Context(), "greedy")
			all, leaves = append(all, turn), append(leaves, leave)
		}
		for i, turn := range all {
			if isOpen(turn) != (i < questionsAtOnceOfUser) {
				t.Errorf("question %d of one user runs: %v", i, isOpen(turn))
			}
		}
		if _, err := turns.enter(t.Context(), "greedy"); err == nil {
			t.Error("one user has more questions than a user may have")
		}
		first, leaveFirst, _ := turns.asked(t.Context(), "other")
		if !isOpen(first) {
			t.Fatal("another user waits")
		}
		second, leaveSecond, _ := turns.asked(t.Context(), "other")
		if isOpen(second) {
			t.Fatal("more run than may")
		}
		leaveFirst()
		if !isOpen(second) || isOpen(all[questionsAtOnceOfUser]) {
			t.Error("the place that became free did not go to the user with the fewest")
		}
		for i := range leaves[:questionsOfUser] { // each lets the next one run
			leaves[i]()
		}
		for i, turn := range all {
			if !isOpen(turn) {
				t.Errorf("question %d never ran", i)
			}
		}
		leaveSecond()
		if turns.runs != 0 || len(turns.running) != 0 || len(turns.waiting) != 0 {
			t.Errorf("left over: %+v", turns)
		}
	})
}

func TestQueueOfQuestionsIsBoundedAndForgetsThoseThatGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		ctx, giveUp := context.WithCancel(t.Context())
		var leaves []func()
		for i := range questionsAtOnce {
			_, leave, _ := turns.asked(t.Context(), string(rune('a'+i)))
			leaves = append(leaves, leave)
		}
		var failures []func() error
		for i := range questionsQueued {
			_, _, failed := turns.asked(ctx, string(rune('A'+i)))
			failures = append(failures, failed)
		}
		var full *crowded
		if _, err := turns.enter(t.Context(), "late"); !errors.As(err, &full) {
			t.Errorf("a full queue says %v", err)
		}
		giveUp()
		synctest.Wait()
		for _, failed := range failures {
			if !errors.Is(failed(), context.Canceled) {
				t.Errorf("a question that was given up ends with %v", failed())
			}
		}
		for _, leave := range leaves {
			leave()
		}
		if turns.runs != 0 || len(turns.running) != 0 || len(turns.waiting) != 0 {
			t.Errorf("left over: %+v", turns)
		}
	})
}
