package revocation

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// waiting are jobs that run until release is closed, or until they are stopped.
func waiting(count int, release <-chan struct{}, of func(i int, job *job)) map[string]*job {
	jobs := map[string]*job{}
	for i := range count {
		one := &job{do: func(ctx context.Context, now time.Time) (time.Time, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return now.Add(time.Hour), ctx.Err()
		}}
		of(i, one)
		jobs[one.place] = one
	}
	return jobs
}

func TestSomeTriesAskOneServerAndTheOthersAreForOtherServers(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(i int, job *job)
		want int // that run at once
	}{
		"one server":   {func(i int, job *job) { job.server = "slow" }, serverMost},
		"many servers": {func(i int, job *job) { job.server = fmt.Sprint(i) }, triesMost},
		"many servers, which failed": {func(i int, job *job) {
			job.server, job.failed = fmt.Sprint(i), true
		}, failedMost},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(nil)
			release := make(chan struct{})
			jobs := waiting(50, release, func(i int, job *job) { c.of(i, job); job.place = fmt.Sprint(i) })
			s.want(jobs)
			s.start(t.Context())
			if got := len(s.tries.running); got != c.want {
				t.Errorf("%d run, want %d", got, c.want)
			}
			if c.want < triesMost { // there is room for another server
				other := waiting(1, release, func(_ int, job *job) { job.server, job.place = "other", "other" })
				jobs["other"] = other["other"]
				s.want(jobs)
				if s.start(t.Context()); !s.tries.runs(jobs["other"]) {
					t.Error("another server waits")
				}
			}
			close(release)
			for range jobs { // each gets its turn
				s.finish(t.Context(), <-s.tries.ended)
				s.start(t.Context())
			}
			if left := s.tries; len(left.running)+left.failed+len(left.ofServer)+len(left.atPlace) > 0 {
				t.Errorf("%+v is left", left)
			}
		})
	}
}

func TestTryThatIsNoLongerWantedIsStoppedBeforeTheNextOneForItsPlaceBegins(t *testing.T) {
	s := newStage(nil)
	place := func(_ int, job *job) { job.place = "certificate" }
	before := waiting(1, nil, place)["certificate"]
	s.want(map[string]*job{"before": before})
	s.start(t.Context())
	after := waiting(1, nil, place)["certificate"]
	s.want(map[string]*job{"after": after})
	if s.start(t.Context()); s.tries.runs(after) {
		t.Fatal("two tries at one place")
	}
	s.finish(t.Context(), <-s.tries.ended)
	if events := s.events(); len(events) > 0 || before.failed {
		t.Errorf("a try that was stopped counts as failed: %v", events)
	}
	if s.start(t.Context()); !s.tries.runs(after) {
		t.Error("it does not begin")
	}
	s.want(nil)
	s.finish(t.Context(), <-s.tries.ended)
	s.tries.wait()
}
