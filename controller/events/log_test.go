package events

import (
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
