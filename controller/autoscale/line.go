package autoscale

import (
	"context"

	"github.com/weir-lb/weir/controller/store"
)

const (
	// postsMost is how many requests may be under way at once.
	postsMost = 100
	// postsOfWebhookMost is how many may be under way to one webhook: one that hangs does not hold up the others.
	postsOfWebhookMost = 4
)

// lines has requests wait for their turn.
type lines struct {
	all chan struct{}
	one map[string]chan struct{} // by uuid of the webhook
}

// line is where requests to one webhook wait.
type line struct{ all, one chan struct{} }

func newLines() lines {
	return lines{make(chan struct{}, postsMost), map[string]chan struct{}{}}
}

func (l lines) of(webhook string) line {
	if l.one[webhook] == nil {
		l.one[webhook] = make(chan struct{}, postsOfWebhookMost)
	}
	return line{l.all, l.one[webhook]}
}

// forget forgets webhooks that are gone.
func (l lines) forget(view *store.View) {
	for webhook := range l.one {
		if _, exists := view.Get(webhookKind, webhook); !exists {
			delete(l.one, webhook)
		}
	}
}

// enter waits for the turn of a request, or until ctx ends. leave ends the request.
func (l line) enter(ctx context.Context) (leave func()) {
	places := []chan struct{}{l.one, l.all}
	for n, place := range places {
		select {
		case place <- struct{}{}:
		case <-ctx.Done():
			return func() { free(places[:n]) }
		}
	}
	return func() { free(places) }
}

func free(places []chan struct{}) {
	for _, place := range places {
		<-place
	}
}
