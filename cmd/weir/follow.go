package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/controller/schema/column"
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
		fmt.Fprintf(l.warnings, "weir: %v: these are the newest since the controller started\n", reason)
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
		fmt.Fprintf(l.warnings, "weir: the record store does not have all records: %s\n", strings.Join(said, ", "))
	}
}

// followEvery is the time between two looks for new records.
const followEvery = time.Second

// watch prints the newest records, oldest first, and then those that come, until ctx ends.
func (l *recordList) watch(ctx context.Context, session *client.Session, asked url.Values) error {
	seen := map[string]bool{} // records of the newest time, which may come again
	newest, first := "", true
	for {
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
			if seen[string(text)] {
				continue
			}
			if at := column.Text(record[l.time]); at != newest {
				newest = at
				clear(seen)
			}
			seen[string(text)] = true
			if err := l.printOne(record, text); err != nil {
				return err
			}
		}
		asked.Del("source") // the record store may be back
		asked.Set("page_size", "10000")
		if newest != "" {
			asked.Set("start", newest)
		}
		first = false
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// printOne prints a record as one line.
func (l *recordList) printOne(record client.Object, text []byte) error {
	if *l.output == asJSON {
		_, err := fmt.Fprintf(l.out, "%s\n", text)
		return err
	}
	_, err := fmt.Fprintln(l.out, strings.TrimRight(strings.Join(l.row(record), "  "), " "))
	return err
}
