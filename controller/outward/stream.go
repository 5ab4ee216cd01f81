package outward

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-lb/weir/backoff"
	"github.com/weir-lb/weir/logs/wire"
)

// Limits of the rows that wait for a receiver. A row beyond them is dropped, and counted.
const (
	waitingRowsMax  = 10_000
	waitingBytesMax = 16 << 20
)

const (
	batchRowsMax = 500
	// tellAfter is how long a receiver may be away before operators are told.
	tellAfter = 10 * time.Second
	// tellEvery is the time between two events about dropped rows.
	tellEvery = time.Minute
	// closePatience is how long the end of a controller waits for the rows that wait.
	closePatience = 2 * time.Second
)

// Streams send rows to all targets.
type Streams struct{ all []*stream }

// Outside is what streams need.
type Outside struct {
	Dialer *net.Dialer // decides where connections may go
	Host   string      // name of this machine
	Log    *slog.Logger
}

// New returns streams that send nothing before Run.
func New(targets []Target, outside Outside) *Streams {
	s := &Streams{}
	for _, target := range targets {
		s.all = append(s.all, newStream(target, outside, waitingRowsMax, waitingBytesMax))
	}
	return s
}

// Add has a row sent to all that want rows of its type. It never waits. The row must not change later.
func (s *Streams) Add(row wire.Row) {
	for _, stream := range s.all {
		if stream.target.wants(row) {
			stream.add(row)
		}
	}
}

// Tell has operators told: told is called with the name of a target, the id of an event, and its text. Without it,
// nobody is told.
func (s *Streams) Tell(told func(target, id, message string)) {
	for _, stream := range s.all {
		stream.told = func(id, message string) { told(stream.target.Name, id, message) }
	}
}

// Run sends until ctx ends, and then for a short time what waits.
func (s *Streams) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, stream := range s.all {
		running.Go(func() { stream.run(ctx) })
	}
	running.Wait()
}

// Count is what became of the rows of a target.
type Count struct {
	Target        string
	Sent, Dropped uint64
	Waiting       int
}

// Counts returns what became of all rows so far.
func (s *Streams) Counts() (all []Count) {
	for _, one := range s.all {
		all = append(all, Count{one.target.Name, one.sent.Load(), one.dropped.Load(), len(one.rows)})
	}
	return all
}

// stream is one target, and the rows that wait for it.
type stream struct {
	target  Target
	outside Outside
	told    func(id, message string)
	rows    chan wire.Row
	bytes   atomic.Int64 // of rows
	most    int64        // bytes

	sent, dropped atomic.Uint64

	toldDropped uint64 // of dropped, what events have told
	toldAt      time.Time
	away        time.Time // since when the receiver takes nothing; zero: it does
	toldAway    bool
}

func newStream(target Target, outside Outside, rowsMost int, bytesMost int64) *stream {
	return &stream{target: target, outside: outside, rows: make(chan wire.Row, rowsMost), most: bytesMost,
		told: func(string, string) {}}
}

// droppedID is the event about dropped rows. It is not streamed: there is no room for it, so it would lead to the next.
const droppedID = "STREAM_DROPPED"

func (s *stream) add(row wire.Row) {
	if field(row, "event_id") == droppedID {
		return
	}
	size := int64(row.Size())
	if s.bytes.Add(size) <= s.most {
		select {
		case s.rows <- row:
			return
		default:
		}
	}
	s.bytes.Add(-size)
	s.dropped.Add(1)
}

// run connects, and sends, again and again.
func (s *stream) run(ctx context.Context) {
	pause := backoff.Backoff{Free: 1, First: 500 * time.Millisecond, Most: 30 * time.Second}
	var batch []wire.Row // that has not been sent for sure
	for {
		ended, err := s.converse(ctx, &batch, pause.Reset)
		if ended {
			break
		}
		s.fails(err)
		if !wait(ctx, pause.Next()) {
			break
		}
	}
	s.sayDropped(time.Now(), 0)
	if left := len(batch) + len(s.rows); left > 0 {
		s.outside.Log.Warn("rows were not sent before the end", "target", s.target.Name, "rows", left)
	}
}

// converse sends over one connection until it breaks, or until ctx ends.
func (s *stream) converse(ctx context.Context, batch *[]wire.Row, works func()) (ended bool, err error) {
	if len(*batch) == 0 && !s.fill(ctx, batch) {
		return true, nil
	}
	to, err := s.target.open(ctx, s.outside.Dialer, s.outside.Host)
	if err != nil {
		return false, err
	}
	defer to.Close()
	patient, cancel := patiently(ctx)
	defer cancel()
	for {
		skipped, err := to.send(patient, *batch)
		if err != nil {
			return false, err
		}
		s.sent.Add(uint64(len(*batch) - skipped))
		s.dropped.Add(uint64(skipped))
		*batch = (*batch)[:0]
		s.works()
		works()
		if patient.Err() != nil || !s.fill(ctx, batch) {
			return true, nil
		}
	}
}

// patiently returns a context that ends closePatience after ctx.
func patiently(ctx context.Context) (context.Context, context.CancelFunc) {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(closePatience, cancel) })
	return patient, func() { stop(); cancel() }
}

// fill waits for the first row of a batch, and takes what else is there. It returns false if ctx has ended and there is
// none.
func (s *stream) fill(ctx context.Context, batch *[]wire.Row) bool {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for len(*batch) == 0 {
		select {
		case row := <-s.rows:
			s.take(row, batch)
		default:
			select {
			case row := <-s.rows:
				s.take(row, batch)
			case <-tick.C:
				s.sayDropped(time.Now(), tellEvery)
			case <-ctx.Done():
				return false
			}
		}
	}
	for len(*batch) < batchRowsMax {
		select {
		case row := <-s.rows:
			s.take(row, batch)
		default:
			return true
		}
	}
	return true
}

func (s *stream) take(row wire.Row, batch *[]wire.Row) {
	s.bytes.Add(-int64(row.Size()))
	*batch = append(*batch, row)
}

func (s *stream) fails(err error) {
	now := time.Now()
	if s.away.IsZero() {
		s.away = now
	}
	s.outside.Log.Warn("a receiver takes no rows", "target", s.target.Name, "reason", err)
	if !s.toldAway && now.Sub(s.away) >= tellAfter {
		s.toldAway = true
		s.told("STREAM_DOWN", fmt.Sprintf("%s takes nothing: %v", s.target.Name, err))
	}
	s.sayDropped(now, tellEvery)
}

func (s *stream) works() {
	if s.toldAway {
		s.told("STREAM_UP", s.target.Name+" takes rows again")
	}
	s.away, s.toldAway = time.Time{}, false
	s.sayDropped(time.Now(), tellEvery)
}

// sayDropped tells of rows that were dropped, unless an event did so less than least ago.
func (s *stream) sayDropped(now time.Time, least time.Duration) {
	dropped := s.dropped.Load()
	if dropped == s.toldDropped || now.Sub(s.toldAt) < least {
		return
	}
	s.told(droppedID, fmt.Sprintf("%d rows were not sent to %s: it was away or too slow",
		dropped-s.toldDropped, s.target.Name))
	s.toldDropped, s.toldAt = dropped, now
}

// wait returns false if ctx ends before.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// HostName is the name of this machine, for Outside.
func HostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "weir"
	}
	return name
}
