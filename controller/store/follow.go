package store

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// follow loads the first view. It then updates the view from a watch, in one goroutine, until the store closes.
func (s *Store) follow(ctx context.Context) error {
	view, revision, err := s.load(ctx)
	if err != nil {
		return err
	}
	s.publish(view)
	watching, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go s.watch(watching, revision+1)
	return nil
}

// load reads all objects and the head at one revision.
func (s *Store) load(ctx context.Context) (*View, int64, error) {
	reply, err := s.client.Get(ctx, "object", clientv3.WithPrefix())
	if err != nil {
		return nil, 0, fmt.Errorf("the objects cannot be read: %w", err)
	}
	view := emptyView()
	changes, head, err := s.changes(events(reply.Kvs))
	if err != nil {
		return nil, 0, err
	}
	return view.with(head, changes), reply.Header.Revision, nil
}

func events(kvs []*mvccpb.KeyValue) []*clientv3.Event {
	events := make([]*clientv3.Event, len(kvs))
	for i, kv := range kvs {
		events[i] = &clientv3.Event{Type: clientv3.EventTypePut, Kv: kv}
	}
	return events
}

// watch ends when the store closes, or when it cannot decode what it reads. Then writes fail, and Failed says why.
func (s *Store) watch(ctx context.Context, from int64) {
	defer close(s.done)
	for reply := range s.client.Watch(ctx, "object", clientv3.WithPrefix(), clientv3.WithRev(from)) {
		err := reply.Err()
		if err == nil {
			err = s.advance(reply.Events)
		}
		if err != nil && ctx.Err() == nil {
			s.member.fail(fmt.Errorf("changes of objects can no longer be followed: %w", err))
			return
		}
	}
}

func (s *Store) advance(events []*clientv3.Event) error {
	changes, head, err := s.changes(events)
	if err != nil || head == 0 {
		return err
	}
	s.publish(s.View().with(head, changes))
	return nil
}

// changes decodes events and returns the newest head among them. The events of one transaction come in one reply, with
// the head.
func (s *Store) changes(events []*clientv3.Event) (changes []change, head int64, err error) {
	for _, event := range events {
		key := string(event.Kv.Key)
		if key == headKey {
			head = event.Kv.ModRevision
			continue
		}
		c, err := s.change(key, event)
		if err != nil {
			return nil, 0, err
		}
		changes = append(changes, c)
	}
	return changes, head, nil
}

func (s *Store) change(key string, event *clientv3.Event) (change, error) {
	kind, uuid, err := splitKey(key)
	if err != nil || event.Type == clientv3.EventTypeDelete {
		return change{kind: kind, uuid: uuid}, err
	}
	record, err := s.decode(kind, uuid, event.Kv.Value, event.Kv.ModRevision)
	return change{kind, uuid, record}, err
}
