package store

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-lb/weir/logs/query"
)

const (
	// aheadEvery is how often the store looks for an hour to count.
	aheadEvery = time.Second
	// aheadQuiet is how long no rows of an hour have to come before it is counted.
	aheadQuiet = 20 * time.Second
	// scopesMost is how many scopes an hour can have, to be counted ahead.
	scopesMost = 32
	// slowly has a query take one core, and leave the others to those who wait for an answer.
	slowly = "options(concurrency=1, parallel_readers=1) "
)

// countAhead counts the newest hours, one after the other, until ctx ends. It rests at least half of the time.
func (s *Store) countAhead(ctx context.Context) {
	for rest := aheadEvery; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
		rest = aheadEvery
		s.hours.prune(s.Now())
		at, found := s.hours.next(s.Now(), aheadQuiet)
		if !found {
			continue
		}
		began := time.Now()
		if err := s.countHour(ctx, at); err != nil && ctx.Err() == nil {
			s.Log.Error("an hour of records is not counted ahead", "hour",
				at.time().Format(time.RFC3339), "reason", err)
		}
		rest = min(rest, time.Since(began))
	}
}

// countHour counts an hour, and keeps it unless rows of it come meanwhile. An hour that cannot be counted is kept as
// one that questions have to read.
func (s *Store) countHour(ctx context.Context, at start) error {
	since := s.hours.version(at)
	if deleting, err := s.requests.DeleteActiveTasks(ctx); err != nil || len(deleting) > 0 {
		return err
	}
	s.show()
	counted, err := s.countScopes(ctx, at)
	if err != nil {
		counted = &hour{}
	}
	s.hours.keep(at, counted, since)
	return err
}

func (s *Store) countScopes(ctx context.Context, at start) (*hour, error) {
	whole := span{at.time(), at.time().Add(time.Hour)}
	every := compileFilter(query.Query{Type: query.Requests, Scope: query.Scope{All: true}})
	scopes, err := s.count(ctx, query.Requests, slowly+every, []string{query.ScopeColumn}, whole)
	if err != nil {
		return nil, err
	}
	if len(scopes[0].values) > scopesMost {
		return nil, fmt.Errorf("its records have %d scopes, more than %d", len(scopes[0].values), scopesMost)
	}
	counted := &hour{scopes: map[string]map[string]column{}}
	for _, scope := range scopes[0].values {
		of := slowly + compare(query.ScopeColumn, query.Eq, scope.Value)
		found, err := s.count(ctx, query.Requests, of, hourFields, whole)
		if err != nil {
			return nil, err
		}
		counted.add(scope.Value, found)
	}
	return counted, nil
}

// add packs what was found in the rows of a scope.
func (h *hour) add(scope string, found counts) {
	h.scopes[scope] = map[string]column{}
	for n, field := range hourFields {
		packed := newColumn(found[n].values)
		if found[n].tooMany || packed.bytes() > columnBytesMax {
			continue
		}
		h.scopes[scope][field] = packed
		h.bytes += packed.bytes()
	}
}
