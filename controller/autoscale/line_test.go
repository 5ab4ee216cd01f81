package autoscale

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
)

func TestRequestsWaitForOthersToTheirWebhookAndForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := newLines()
		ctx, cancel := context.WithCancel(t.Context())
		entered := map[string]chan func(){}
		enter := func(webhook string, requests int) {
			line := lines.of(webhook)
			if entered[webhook] == nil {
				entered[webhook] = make(chan func(), 1000)
			}
			for range requests {
				go func() { entered[webhook] <- line.enter(ctx) }()
			}
			synctest.Wait()
		}
		if enter("slow", 50); len(entered["slow"]) != postsOfWebhookMost {
			t.Errorf("%d requests to one webhook", len(entered["slow"]))
		}
		if enter("other", 1); len(entered["other"]) != 1 {
			t.Error("a webhook waits for another one")
		}
		(<-entered["slow"])()
		if synctest.Wait(); len(entered["slow"]) != postsOfWebhookMost {
			t.Errorf("%d requests after one has ended", len(entered["slow"]))
		}
		for n := range postsMost {
			enter(fmt.Sprint(n), 1)
		}
		if len(lines.all) != postsMost {
			t.Errorf("%d requests", len(lines.all))
		}
		cancel()
		synctest.Wait()
		for _, all := range entered {
			for len(all) > 0 {
				(<-all)()
			}
		}
		if synctest.Wait(); len(lines.all) != 0 || len(lines.one["slow"]) != 0 {
			t.Errorf("%d and %d places are taken at the end", len(lines.all), len(lines.one["slow"]))
		}
	})
}
