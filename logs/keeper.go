package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/weir-lb/weir/backoff"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

const (
	// startPatience is how long a query waits for a store that has just been started.
	startPatience = 3 * time.Second
	// flushPatience is how long a query waits for rows that came before it.
	flushPatience = time.Second
	// closePatience is how long the end of a controller waits for the rows in the queue.
	closePatience = 2 * time.Second
	// startTell is how long a store that was started may be silent before operators are told.
	startTell = time.Minute
	// startKill is how long it may be silent before it is killed.
	startKill = 3 * time.Minute
	// tellLostEvery is how often operators are told of lost rows while none are sent.
	tellLostEvery = time.Minute
	// stableAfter is how long the store has to run before it counts as back, and its next end as the first.
	stableAfter = 10 * time.Second
)

// Config says how to keep the store.
type Config struct {
	Program string // weir
	Dir     string // of the store
	Days    int    // how long events and audit entries are kept
	DiskMiB int    // how much they may take; the oldest go first
	// The same of records of requests and connections.
	RequestDays    int
	RequestDiskMiB int
	MemoryMiB      int // of the store's buffers and caches
	Log            *slog.Logger
	// Told is called when something happened that operators should know: the id of an event, and its text. nil: nobody
	// is told.
	Told func(id, message string)
}

// Keeper keeps the store running. It is safe for concurrent use.
type Keeper struct {
	Config
	client *Client
	queue  *queue

	startTell, startKill, tellLostEvery time.Duration

	mu    sync.Mutex
	away  string // why the store does not answer; empty: it does
	fresh bool   // the store is being started, for the first time or after a long life
	full  string // why the store takes no rows
	// noRequests is why the store takes no records of data planes.
	noRequests string
	refused    uint64        // rows that can never be stored
	changed    chan struct{} // closed when away changes
}

// NewKeeper starts nothing; Run does.
func NewKeeper(config Config) *Keeper {
	if config.Told == nil {
		config.Told = func(string, string) {}
	}
	return &Keeper{
		Config: config, client: NewClient(config.Dir), queue: newQueue(),
		away: "it is starting", fresh: true, changed: make(chan struct{}),
		startTell: startTell, startKill: startKill, tellLostEvery: tellLostEvery,
	}
}

// Add has a row stored, with values cut off where they are too long. It never waits. A row that no store can take is
// refused here: in a batch, it would take its neighbours along.
func (k *Keeper) Add(row wire.Row) {
	row = row.Shortened()
	if err := row.Check(); err != nil {
		k.refuse("type", row.Type[:min(len(row.Type), wire.MaxNameBytes)], "reason", err)
		return
	}
	k.queue.add(row)
}

// refuse counts and tells of a row that can never be stored.
func (k *Keeper) refuse(why ...any) {
	k.Log.Error("a record can never be stored", why...)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refused++
}

// Status is what operators need to know of the store.
type Status struct {
	Away string // why it does not answer; empty: it does
	Full string // why it takes no rows; empty: it does, or is away
	// NoRequests is why it takes no records of requests and connections.
	NoRequests string
	Waiting    int    // rows that are not stored yet
	Lost       uint64 // rows, since the controller began, for which there was no room while they waited
	Refused    uint64 // rows, since the controller began, that can never be stored; the log has the reasons
}

// Status returns the present one.
func (k *Keeper) Status() Status {
	waiting, lost := k.queue.counts()
	k.mu.Lock()
	defer k.mu.Unlock()
	return Status{Away: k.away, Full: k.full, NoRequests: k.noRequests, Waiting: waiting, Lost: lost,
		Refused: k.refused}
}

// Kept is how long rows of a type are kept.
func (k *Keeper) Kept(kind string) time.Duration {
	days := k.Days
	if kind == query.Requests || kind == query.Connections {
		days = k.RequestDays
	}
	return time.Duration(days) * 24 * time.Hour
}

// Unavailable says that the store does not answer.
type Unavailable struct{ Reason string }

func (e *Unavailable) Error() string { return "the record store is away: " + e.Reason }

// RetryAfter is when a client should ask again.
func (e *Unavailable) RetryAfter() time.Duration { return 2 * time.Second }

// Ask answers a query, also about the rows that were added just before. Errors: *query.Error, ErrBusy, *Unavailable.
func (k *Keeper) Ask(ctx context.Context, asked query.Query) (query.Answer, error) {
	if err := k.ready(ctx); err != nil {
		return query.Answer{}, err
	}
	flushing, cancel := context.WithTimeout(ctx, flushPatience)
	_ = k.queue.flush(flushing) // a store that takes no rows still answers; Status says how many wait
	cancel()
	answer, err := k.client.Ask(ctx, asked)
	return answer, k.explain(ctx, err)
}

// explain turns the error of a connection that broke into what it means.
func (k *Keeper) explain(ctx context.Context, err error) error {
	wrong := (*query.Error)(nil)
	switch {
	case err == nil, errors.As(err, &wrong), errors.Is(err, ErrBusy), ctx.Err() != nil:
		return err
	}
	return &Unavailable{fmt.Sprintf("it did not answer: %v", err)}
}

// ready waits for a store that is starting, for a short time. Error: *Unavailable.
func (k *Keeper) ready(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		k.mu.Lock()
		away, fresh, changed := k.away, k.fresh, k.changed
		k.mu.Unlock()
		if away == "" {
			return nil
		}
		if !fresh {
			return &Unavailable{away}
		}
		select {
		case <-changed:
		case <-limited.Done():
			return &Unavailable{away}
		}
	}
}

// become notes whether the store answers.
func (k *Keeper) become(away string, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.away, k.fresh = away, fresh
	if away != "" {
		k.full, k.noRequests = "", ""
	}
	close(k.changed)
	k.changed = make(chan struct{})
}

// Run keeps the store running until ctx ends. Then it has the rows in the queue stored, and ends the store.
func (k *Keeper) Run(ctx context.Context) {
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	var sending sync.WaitGroup
	sending.Go(func() { k.send(running) })
	sending.Go(func() { k.tellLostByTimer(running) })
	ended := make(chan struct{})
	go func() { defer close(ended); k.supervise(running) }()
	<-ctx.Done()
	goodbye, cancel := context.WithTimeout(running, closePatience)
	_ = k.queue.flush(goodbye)
	cancel()
	end()
	sending.Wait()
	<-ended
	k.client.close()
	if waiting, lost := k.queue.counts(); waiting > 0 || lost > 0 {
		k.Log.Warn("records were lost: the record store did not take them in time", "records", uint64(waiting)+lost)
	}
}

// supervise starts the store, again and again.
func (k *Keeper) supervise(ctx context.Context) {
	pause := backoff.Backoff{Free: 1, First: 500 * time.Millisecond, Most: 30 * time.Second}
	told := false // that the store is down
	for ctx.Err() == nil {
		began := time.Now()
		err := k.live(ctx, func() {
			pause.Reset()
			if told {
				k.Told("RECORD_STORE_UP", "the record store answers again")
			}
			told = false
		}, func(reason string) {
			k.become(reason, false)
			if !told {
				k.Told("RECORD_STORE_DOWN", "logs are not shown until the record store is back: "+reason)
			}
			told = true
		})
		if ctx.Err() != nil {
			return
		}
		after := pause.Next()
		k.Log.Error("the record store ended; starting it again", "reason", err, "after", after,
			"lived", time.Since(began).Round(time.Millisecond))
		k.become(err.Error(), after == 0)
		if !told {
			k.Told("RECORD_STORE_DOWN", "logs are not shown until the record store is back: "+err.Error())
			told = true
		}
		wait(ctx, after)
	}
}
