package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/journal"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// queryBytesMax bounds a query as JSON.
const queryBytesMax = 1 << 20

// Handler answers on the socket: POST /batches?source=&epoch=&sequence=, POST /query, POST /deletions, GET /state.
func (s *Store) Handler() http.Handler {
	gate := newGate()
	routes := http.NewServeMux()
	routes.HandleFunc("POST /batches", s.takeBatch)
	routes.HandleFunc("POST /query", func(w http.ResponseWriter, r *http.Request) { s.answerQuery(gate, w, r) })
	routes.HandleFunc("POST /deletions", s.takeDeletion)
	routes.HandleFunc("GET /state", s.showState)
	return routes
}

func (s *Store) takeBatch(w http.ResponseWriter, r *http.Request) {
	origin, err := originOf(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	batch, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxBatchBytes))
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	ack, err := s.Add(origin, batch)
	full, old := (*DiskFull)(nil), (*journal.OldEpoch)(nil)
	switch {
	case errors.As(err, &full):
		refuse(w, http.StatusInsufficientStorage, err)
	case errors.As(err, &old):
		reply(w, http.StatusConflict, logs.Trouble{Error: err.Error(), Epoch: old.Newest})
	case errors.Is(err, journal.ErrBroken):
		refuse(w, http.StatusInternalServerError, err)
		s.Log.Error("the record store ends, and begins again", "reason", err)
		os.Exit(exitBroken)
	case err != nil:
		refuse(w, http.StatusBadRequest, err)
	default:
		reply(w, http.StatusOK, ack)
	}
}

// exitBroken is the exit status of a store that does not know what is on its disk.
const exitBroken = 3

func originOf(r *http.Request) (wire.Origin, error) {
	asked := r.URL.Query()
	epoch, err := strconv.ParseUint(asked.Get("epoch"), 10, 64)
	if err != nil {
		return wire.Origin{}, fmt.Errorf("epoch: %w", err)
	}
	sequence, err := strconv.ParseUint(asked.Get("sequence"), 10, 64)
	if err != nil {
		return wire.Origin{}, fmt.Errorf("sequence: %w", err)
	}
	return wire.Origin{Source: asked.Get("source"), Epoch: epoch, Sequence: sequence}, nil
}

func (s *Store) answerQuery(gate *gate, w http.ResponseWriter, r *http.Request) {
	var asked query.Query
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, queryBytesMax)).Decode(&asked); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	leave, err := gate.enter(r.Context())
	if err != nil {
		refuse(w, http.StatusTooManyRequests, err)
		return
	}
	defer leave()
	answer, err := s.Ask(r.Context(), asked)
	if err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	reply(w, http.StatusOK, answer)
}

func (s *Store) takeDeletion(w http.ResponseWriter, r *http.Request) {
	var asked query.Query
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, queryBytesMax)).Decode(&asked)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	if err := s.Delete(r.Context(), asked); err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	reply(w, http.StatusOK, struct{}{})
}

func statusOf(err error) int {
	if wrong := (*query.Error)(nil); errors.As(err, &wrong) {
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

func (s *Store) showState(w http.ResponseWriter, _ *http.Request) {
	state := logs.State{PID: os.Getpid(), Rows: s.rows.Load(), Refused: s.refused.Load(),
		JournalBytes: s.journal.Bytes(), HoursCounted: s.hours.count()}
	if err := s.hasSpace(1); err != nil {
		state.NotTaking = err.Error()
	}
	if err := s.hasSpace(requestsReserve); err != nil {
		state.NoRequests = err.Error()
	}
	state.FreeBytes, _ = s.free()
	reply(w, http.StatusOK, state)
}

func refuse(w http.ResponseWriter, status int, err error) {
	trouble := logs.Trouble{Error: err.Error()}
	if wrong := (*query.Error)(nil); errors.As(err, &wrong) {
		trouble = logs.Trouble{Error: wrong.Problem, Part: wrong.Part}
	}
	reply(w, status, trouble)
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // an error is the client's end
}

// Serve answers on a listener until ctx ends.
func (s *Store) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second}
	tidying, stop := context.WithCancel(ctx)
	var tidied sync.WaitGroup
	tidied.Go(func() { s.tidy(tidying) })
	tidied.Go(func() { s.countAhead(tidying) })
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		const patience = 2 * time.Second
		goodbye, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if server.Shutdown(goodbye) != nil {
			err = server.Close()
		}
	}
	stop()
	tidied.Wait()
	return err
}
