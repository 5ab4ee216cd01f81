package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/VictoriaMetrics/VictoriaLogs/lib/logstorage"
	"github.com/google/uuid"

	"github.com/weir-lb/weir/logs/query"
)

// Delete removes the rows that match, and returns when they are gone. A deletion goes on after a restart. Of the query,
// it takes the type, the scope, the range of time and the condition, which has to be there.
func (s *Store) Delete(ctx context.Context, asked query.Query) error {
	asked.Rows = &query.Rows{Limit: 1} // a query asks for something
	q, err := asked.Check()
	if err != nil {
		return err
	}
	if q.Where == nil {
		return &query.Error{Part: "filter", Problem: "say which rows to delete"}
	}
	// After a crash, the journal must not bring back what is deleted now.
	if err := s.settle(); err != nil {
		return err
	}
	const nanos = "2006-01-02T15:04:05.000000000Z"
	filter, err := logstorage.ParseFilter(fmt.Sprintf("_time:[%s, %s] and (%s)", q.From.UTC().Format(nanos),
		q.To.Add(-1).UTC().Format(nanos), compileFilter(q)))
	if err != nil {
		return fmt.Errorf("a condition was compiled to what the storage refuses: %w", err)
	}
	task := uuid.NewString()
	tenants := []logstorage.TenantID{tenantOf(q.Type)}
	if err := s.storageOf(q.Type).DeleteRunTask(ctx, task, s.Now().UnixNano(), tenants, filter); err != nil {
		return err
	}
	s.hours.clear() // and none is counted while rows are being deleted
	return s.awaitDeletion(ctx, q.Type, task)
}

func (s *Store) awaitDeletion(ctx context.Context, kind, task string) error {
	for {
		active, err := s.storageOf(kind).DeleteActiveTasks(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(active, func(t *logstorage.DeleteTask) bool { return t.TaskID == task }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
