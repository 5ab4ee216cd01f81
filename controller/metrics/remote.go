package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/weir-lb/weir/backoff"
	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/metrics/retention"
	"github.com/weir-lb/weir/durable"
)

const (
	// remoteMost is how far a receiver may fall behind. What is older is left out, and an event says so.
	remoteMost = 2 * time.Hour
	// remoteSlice is the time whose samples are read and sent together.
	remoteSlice = time.Minute
	// remoteTellAfter is how long a receiver may fail before an event says so.
	remoteTellAfter = time.Minute
	remoteName      = "remote_write.json"
)

// A Receiver takes samples. Errors: *Refusal, or any other if it makes sense to send them again.
type Receiver interface {
	Write(context.Context, []RemoteSeries) error
	// Name is how events call it, without secrets.
	Name() string
}

// Refusal says that a receiver will never take what was sent.
type Refusal struct{ Reason error }

func (r *Refusal) Error() string { return fmt.Sprintf("it refuses samples for good: %v", r.Reason) }
func (r *Refusal) Unwrap() error { return r.Reason }

// remote sends the samples of the finest tier to a receiver. The tier itself holds what is to be sent, and a file says
// up to when a receiver has everything, so neither a restart nor a receiver that is away loses samples. A receiver that
// stays away holds up nothing.
type remote struct {
	history  *History
	receiver Receiver
	file     string
	sent     time.Time // the receiver has all samples up to this time
	seen     map[uint64]bool
	failing  time.Time // since when; zero: the last attempt was good
	told     bool      // an event says that it fails
	saidLost time.Time // when an event last said that samples are left out
	lostFrom time.Time // the first of those that no event has told of; zero: there are none

	saidRefused time.Time // when an event last said that samples are refused
	refused     int       // series whose samples were, and no event has told of
	refusal     error     // the last one
}

// remoteState is what the file has.
type remoteState struct {
	Receiver string `json:"receiver"`
	SentMs   int64  `json:"sent_ms"`
}

func newRemote(h *History, receiver Receiver) *remote {
	r := &remote{history: h, receiver: receiver, file: filepath.Join(h.config.Dir, remoteName),
		sent: h.config.Now(), seen: map[uint64]bool{}}
	var last remoteState
	text, err := os.ReadFile(r.file)
	if err == nil && json.Unmarshal(text, &last) == nil && last.Receiver == receiver.Name() {
		r.sent = time.UnixMilli(last.SentMs)
	}
	return r
}

// run sends until ctx ends.
func (r *remote) run(ctx context.Context) {
	pause := backoff.Backoff{First: time.Second, Most: time.Minute}
	for {
		more, err := r.step(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			wait(ctx, pause.Next())
		case more:
			pause.Reset()
		default:
			pause.Reset()
			wait(ctx, retention.CollectEvery/3)
		}
	}
}

// step sends what was collected next. more says that there is still more.
func (r *remote) step(ctx context.Context) (more bool, err error) {
	r.leaveOut()
	newest := r.history.collector.newest()
	if !newest.After(r.sent) {
		return false, nil
	}
	upTo := r.sent.Add(remoteSlice)
	if upTo.After(newest) {
		upTo = newest
	}
	series, err := r.history.between(ctx, r.sent, upTo, r.seen)
	if err != nil {
		return false, err
	}
	for len(series) > 0 {
		some := series[:min(len(series), remoteSeriesMost)]
		err := r.receiver.Write(ctx, some)
		var refused *Refusal
		if errors.As(err, &refused) {
			r.refused, r.refusal = r.refused+len(some), refused // and the rest goes on
		} else if err != nil {
			r.fails(err)
			return false, err
		}
		for _, begun := range some {
			r.seen[begun.Labels.Hash()] = true
		}
		series = series[len(some):]
	}
	r.sayLost(r.sent)
	r.sayRefused()
	r.works()
	r.sent = upTo
	return r.sent.Before(newest), r.keep()
}

// remoteSeriesMost is the number of series in a request: with four samples each, about 100 KB.
const remoteSeriesMost = 1000

// leaveOut gives up on what is too old.
func (r *remote) leaveOut() {
	oldest := r.history.config.Now().Add(-remoteMost)
	if !r.sent.Before(oldest) {
		return
	}
	if r.lostFrom.IsZero() {
		r.lostFrom = r.sent
	}
	if now := r.history.config.Now(); now.Sub(r.saidLost) >= sayAgain {
		r.saidLost = now
		r.sayLost(oldest)
	}
	r.sent = oldest
}

// sayLost tells which samples the receiver does not get.
func (r *remote) sayLost(until time.Time) {
	if !r.lostFrom.IsZero() {
		r.say("REMOTE_WRITE_DROPPED", fmt.Sprintf(
			"%s is more than %v behind: it does not get the samples from %s to %s",
			r.receiver.Name(), remoteMost, r.lostFrom.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339)))
	}
	r.lostFrom = time.Time{}
}

// sayRefused tells of samples that were refused, at most once an hour.
func (r *remote) sayRefused() {
	now := r.history.config.Now()
	if r.refused == 0 || now.Sub(r.saidRefused) < sayAgain {
		return
	}
	r.say("REMOTE_WRITE_REFUSED", fmt.Sprintf("%s did not take parts of %d series: %v", r.receiver.Name(), r.refused,
		r.refusal))
	r.saidRefused, r.refused = now, 0
}

func (r *remote) fails(err error) {
	now := r.history.config.Now()
	if r.failing.IsZero() {
		r.failing = now
	}
	if !r.told && now.Sub(r.failing) >= remoteTellAfter {
		r.told = true
		r.say("REMOTE_WRITE_DOWN", fmt.Sprintf("%s takes no samples: %v", r.receiver.Name(), err))
	}
}

func (r *remote) works() {
	if r.told {
		r.say("REMOTE_WRITE_UP", r.receiver.Name()+" takes samples again")
	}
	r.failing, r.told = time.Time{}, false
}

func (r *remote) say(id, message string) {
	r.history.config.Events.Add(events.Entry{ID: id, Kind: "CONTROLLER", Name: "remote write", Tenant: adminTenant,
		Message: message})
}

// keep notes how far the receiver has come.
func (r *remote) keep() error {
	text, err := json.Marshal(remoteState{r.receiver.Name(), r.sent.UnixMilli()})
	if err == nil {
		err = durable.WriteFile(r.file, text)
	}
	return err
}

// RemoteSeries is a series with its samples, in order.
type RemoteSeries struct {
	Labels  labels.Labels
	Samples []RemoteSample
}

// between reads the samples of the finest tier after a time and up to another. A series that begins has a sample of the
// time before its first one: seen says which series have begun, by the hash of their labels.
func (h *History) between(ctx context.Context, after, upTo time.Time, seen map[uint64]bool) ([]RemoteSeries, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.tiers == nil {
		return nil, errors.New("the history of metrics is not open")
	}
	querier, err := h.tiers.of[0].Querier(after.UnixMilli(), upTo.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer querier.Close()
	if len(seen) > 2*seriesMax { // most have ended
		clear(seen)
	}
	var all []RemoteSeries
	every := labels.MustNewMatcher(labels.MatchNotEqual, labels.MetricName, "")
	set := querier.Select(ctx, false, nil, every)
	for set.Next() {
		at := set.At()
		series := RemoteSeries{Labels: at.Labels()}
		least := after.UnixMilli()
		if seen[series.Labels.Hash()] {
			least++
		}
		iterator := at.Iterator(nil)
		for kind := iterator.Next(); kind != chunkenc.ValNone; kind = iterator.Next() {
			if sample, isNumber := sampleOf(iterator, kind); isNumber && sample.AtMs >= least &&
				sample.AtMs <= upTo.UnixMilli() {
				series.Samples = append(series.Samples, sample)
			}
		}
		if err := iterator.Err(); err != nil {
			return nil, err
		}
		if len(series.Samples) > 0 {
			all = append(all, series)
		}
	}
	return all, set.Err()
}

// newest is when samples were written last.
func (c *collector) newest() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written[0]
}
