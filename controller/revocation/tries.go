package revocation

import (
	"context"
	"net/url"
	"sync"
	"time"
)

const (
	// triesMost is how many tries run at once, and failedMost how many of them may be of jobs whose last try failed:
	// those may wait for servers that never answer.
	triesMost, failedMost = 32, 16
	// serverMost is how many of them ask the same server: the others are there for other servers.
	serverMost = 2
)

// tries are the ones that run now. A try that takes long keeps no other server waiting.
type tries struct {
	running  map[*job]*running
	failed   int // of them, those of jobs that failed
	ofServer map[string]int
	atPlace  map[string]bool
	ended    chan ended
	all      *sync.WaitGroup
}

type running struct {
	cancel  context.CancelFunc
	failed  bool // counts among those that failed
	stopped bool // nobody wants to know how it ends
}

// ended says how a try of a job has ended.
type ended struct {
	job *job
	due time.Time
	err error
}

func newTries() tries {
	// Each try that runs has room for its end, so that none waits for who reads it.
	return tries{running: map[*job]*running{}, ofServer: map[string]int{}, atPlace: map[string]bool{},
		ended: make(chan ended, triesMost), all: &sync.WaitGroup{}}
}

func (t *tries) runs(job *job) bool { return t.running[job] != nil }

// begin starts a try if there is room for it.
func (t *tries) begin(ctx context.Context, job *job, now time.Time) {
	if len(t.running) >= triesMost || job.failed && t.failed >= failedMost || t.ofServer[job.server] >= serverMost ||
		t.atPlace[job.place] {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tryMost)
	t.running[job] = &running{cancel: cancel, failed: job.failed}
	t.ofServer[job.server]++
	t.atPlace[job.place] = true
	if job.failed {
		t.failed++
	}
	do := job.do // it may be replaced meanwhile
	t.all.Go(func() {
		due, err := do(ctx, now)
		t.ended <- ended{job, due, err}
	})
}

// stop cancels the try of a job that is no longer wanted, if one runs.
func (t *tries) stop(job *job) {
	if one := t.running[job]; one != nil {
		one.stopped = true
		one.cancel()
	}
}

// end makes room again. It tells whether the try was stopped.
func (t *tries) end(job *job) (stopped bool) {
	one := t.running[job]
	delete(t.running, job)
	one.cancel()
	if t.ofServer[job.server]--; t.ofServer[job.server] == 0 {
		delete(t.ofServer, job.server)
	}
	delete(t.atPlace, job.place)
	if one.failed {
		t.failed--
	}
	return one.stopped
}

// wait returns when no try runs any more.
func (t *tries) wait() { t.all.Wait() }

// firstServer is the host of the first URL; empty: there is none, and nobody is asked.
func firstServer(urls []string) string {
	if len(urls) == 0 {
		return ""
	}
	parsed, err := url.Parse(urls[0])
	if err != nil {
		return ""
	}
	return parsed.Host
}
