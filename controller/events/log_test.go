package events

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"
)

func TestKeepsTheNewestAndShowsThemFirst(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	log := New(slog.New(slog.DiscardHandler), func() time.Time { at = at.Add(time.Second); return at })
	for i := range entriesMax + 3 {
		log.Add(Entry{ID: fmt.Sprint(i)})
	}
	all := log.Entries()
	if len(all) != entriesMax || all[0].ID != fmt.Sprint(entriesMax+2) || all[len(all)-1].ID != "3" {
		t.Errorf("%d entries, from %s to %s", len(all), all[0].ID, all[len(all)-1].ID)
	}
	if !all[0].Time.After(all[1].Time) {
		t.Errorf("%v is not after %v", all[0].Time, all[1].Time)
	}
}

// stuck is a log that writes nothing before it is released.
type stuck struct {
	slog.Handler
	release chan struct{}
	written chan string
}

func (s stuck) Enabled(context.Context, slog.Level) bool { return true }

func (s stuck) Handle(_ context.Context, record slog.Record) error {
	<-s.release
	s.written <- record.Message
	return nil
}

func TestAddingAnEventDoesNotWaitForTheLogOfTheProcess(t *testing.T) {
	const more = 5
	handler := stuck{release: make(chan struct{}), written: make(chan string, 2*entriesMax+more)}
	log := New(slog.New(handler), time.Now)
	for range 2*entriesMax + more { // one of them, or some, are being written; the rest fills the list of pending ones
		log.Add(Entry{ID: "SE_UP"})
	}
	close(handler.release)
	log.Flush()
	close(handler.written)
	counts := map[string]int{}
	for message := range handler.written {
		counts[message]++
	}
	const lost = "the log is too slow for the events: some are only in the list"
	if counts["event"] < entriesMax || counts["event"] > 2*entriesMax || counts[lost] == 0 {
		t.Errorf("written are %v", counts)
	}
}
