package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema/column"
	logtext "github.com/weir-lb/weir/logs/text"
)

// read asks for records. If the record store is away, it asks for those in the memory of the controller, and says so.
func (l *recordList) read(ctx context.Context, session *client.Session, asked url.Values) ([]client.Object, error) {
	answer, err := l.ask(ctx, session, asked)
	if isAway(err) && asked.Get("source") == "" {
		reason := err
		asked.Set("source", "memory")
		if answer, err = l.ask(ctx, session, asked); err != nil {
			return nil, reason
		}
		fmt.Fprintf(l.warnings, "weir: %v: these are the newest since the controller started\n",
			harmlessLines(reason.Error()))
	}
	if err == nil {
		l.warn(answer)
	}
	return answer.Results, err
}

func (l *recordList) ask(ctx context.Context, session *client.Session, asked url.Values) (answer list, err error) {
	err = session.Get(ctx, l.path+"&"+asked.Encode(), &answer)
	return answer, err
}

// warn says what is not in the answer.
func (l *recordList) warn(answer list) {
	if answer.Remaining > 0 {
		fmt.Fprintf(l.warnings, "weir: the time was up: %.0f %% of the range was not read\n", answer.Remaining)
	}
	if answer.Missing != nil {
		var said []string
		for _, name := range fieldOrder(answer.Missing) {
			said = append(said, name+": "+column.Text(answer.Missing[name]))
		}
		fmt.Fprintf(l.warnings, "weir: the record store does not have all records: %s\n",
			harmlessLines(strings.Join(said, ", ")))
	}
}

// followEvery is the time between two looks for new records.
const followEvery = time.Second

// watch prints the newest records, oldest first, and then those that come, until ctx ends.
func (l *recordList) watch(ctx context.Context, session *client.Session, asked url.Values) error {
	shown := shown{overlap: l.overlap, seen: map[string]time.Time{}}
	for first := true; ; first = false {
		found, err := l.read(ctx, session, asked)
		session = session.Background()
		if err != nil && (first || !isAway(err)) {
			return err
		}
		slices.Reverse(found)
		for _, record := range found {
			text, err := json.Marshal(record)
			if err != nil {
				return err
			}
			if !shown.isNew(string(text), column.Text(record[l.time])) {
				continue
			}
			if err := l.printOne(record, text); err != nil {
				return err
			}
		}
		asked.Del("source") // the record store may be back
		asked.Set("page_size", "10000")
		if since := shown.forget(); !since.IsZero() {
			asked.Set("start", since.Format(time.RFC3339Nano))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// shown remembers the newest records, which come again with the next look.
type shown struct {
	overlap time.Duration // how much later than others a record may come
	newest  time.Time
	seen    map[string]time.Time
}

func (s *shown) isNew(text, moment string) bool {
	if _, known := s.seen[text]; known {
		return false
	}
	at, err := time.Parse(time.RFC3339Nano, moment)
	if err == nil && at.After(s.newest) {
		s.newest = at
	}
	s.seen[text] = at
	return true
}

// forget returns from when on to ask, and forgets what was before.
func (s *shown) forget() (since time.Time) {
	if s.newest.IsZero() {
		return s.newest
	}
	since = s.newest.Add(-s.overlap)
	for text, at := range s.seen {
		if at.Before(since) {
			delete(s.seen, text)
		}
	}
	return since
}

// printOne prints a record as one line.
func (l *recordList) printOne(record client.Object, text []byte) error {
	switch *l.output {
	case asJSON:
		_, err := fmt.Fprintf(l.out, "%s\n", logtext.InertJSON(string(text)))
		return err
	case asCSV:
		return l.printCSV([]client.Object{record}, false)
	}
	row := l.row(record)
	for i, width := range l.widths[:min(len(l.widths), len(row))] {
		row[i] += strings.Repeat(" ", max(0, width-utf8.RuneCountInString(row[i])))
	}
	_, err := fmt.Fprintln(l.out, strings.TrimRight(strings.Join(row, "  "), " "))
	return err
}
