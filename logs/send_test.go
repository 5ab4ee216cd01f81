package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

func named(name string) wire.Row {
	return wire.Row{Time: time.Now(), Type: query.Events, Scope: wire.Everyone,
		Fields: []wire.Field{{Name: "obj_name", Value: name}}}
}

// A store that refuses each batch with a bad row has all others in the end.
func TestABadRowTakesNoOtherAlong(t *testing.T) {
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, socketName))
	if err != nil {
		t.Fatal(err)
	}
	var stored []string
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		batch, _ := io.ReadAll(r.Body)
		rows, err := wire.Read(batch)
		if err != nil || slices.ContainsFunc(rows, func(row wire.Row) bool { return row.Fields[0].Value == "bad" }) {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(Trouble{Error: "a bad row"})
			return
		}
		for _, row := range rows {
			stored = append(stored, row.Fields[0].Value)
		}
		_ = json.NewEncoder(w).Encode(Ack{Stored: len(rows)})
	})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	k := NewKeeper(Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	var want []string
	for n := range 50 {
		if n == 20 {
			k.Add(named("bad"))
		}
		k.Add(named(fmt.Sprint(n)))
		want = append(want, fmt.Sprint(n))
	}
	k.Add(named(strings.Repeat("x", wire.MaxRowBytes)))
	want = append(want, strings.Repeat("x", wire.MaxValueBytes-len("…"))+"…")
	beyond := named("beyond")
	beyond.Fields = make([]wire.Field, wire.MaxFields+1)
	k.Add(beyond)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ended := make(chan struct{})
	go func() { defer close(ended); k.send(ctx) }()
	if err := k.queue.flush(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
	if !slices.Equal(stored, want) {
		t.Errorf("%d rows are stored, want %d", len(stored), len(want))
	}
	if status := k.Status(); status.Refused != 2 || status.Waiting != 0 {
		t.Errorf("got %+v", status)
	}
}

func TestTellsOfAStoreThatNeverAnswersAndKillsIt(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "store")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	k := NewKeeper(Config{Program: program, Dir: dir, Log: slog.New(slog.DiscardHandler)})
	k.startTell, k.startKill = 100*time.Millisecond, 300*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	times := 0
	err := k.live(ctx, func() { t.Error("it answered") }, func(string) { times++ })
	if err == nil || !strings.Contains(err.Error(), "since its start") || times != 1 {
		t.Errorf("it was told %d times; the store ended with %v", times, err)
	}
}

func TestTellsOfLostRowsWhileTheStoreTakesNone(t *testing.T) {
	told := make(chan string, 10)
	k := NewKeeper(Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	k.Told = func(id, _ string) {
		told <- id
		k.Add(named(id)) // which is lost, too
	}
	k.tellLostEvery = 20 * time.Millisecond
	for n := range waitingRowsMax + 5 {
		k.Add(named(fmt.Sprint(n)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); k.tellLostByTimer(ctx) }()
	if id := <-told; id != "RECORDS_LOST" {
		t.Errorf("it was told of %s", id)
	}
	select {
	case id := <-told:
		t.Errorf("it was told again, of %s", id)
	case <-time.After(10 * k.tellLostEvery):
	}
	cancel()
	<-ended
}
