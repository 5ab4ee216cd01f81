// Package top shows in a terminal what happens now: it reads the stream of live events and draws tables. `weir top`
// calls it.
//
// state.go has the events, page.go and table.go make them into tables, screen.go makes lines of a size, and keys.go
// says what keys do. They are pure. This file and terminal.go do the rest.
package top

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/client"
	logtext "github.com/weir-lb/weir/logs/text"
)

// Start is what is shown first.
type Start struct {
	Engines bool
	Service string // uuid of a virtual service; empty: all of them
}

func (s Start) page() int {
	switch {
	case s.Engines:
		return enginesPage
	case s.Service != "":
		return servicePage
	}
	return servicesPage
}

// topicsOf are the topics of a page. That of a virtual service has its pools.
func topicsOf(ctx context.Context, session *client.Session, page int, service string) ([]string, error) {
	switch page {
	case enginesPage:
		return []string{"overview", "engines"}, nil
	case servicesPage:
		return []string{"overview"}, nil
	}
	topics := []string{"overview", "vs:" + service}
	type ofPool struct {
		Ref string `json:"pool_ref"`
	}
	var object struct {
		ofPool
		Runtime struct {
			Rules   []ofPool `json:"rule_pools"`
			Group   []ofPool `json:"group_pools"`
			Backups []ofPool `json:"backup_pools"`
		} `json:"runtime"`
	}
	if err := session.Get(ctx, "virtualservice/"+service+"?join_subresources=runtime", &object); err != nil {
		return nil, err
	}
	pools := slices.Concat([]ofPool{object.ofPool}, object.Runtime.Group, object.Runtime.Rules, object.Runtime.Backups)
	for _, pool := range pools {
		reference, _, _ := strings.Cut(pool.Ref, "#")
		if uuid := reference[strings.LastIndexByte(reference, '/')+1:]; uuid != "" {
			topics = append(topics, "pool:"+uuid)
		}
	}
	return topics, nil
}

var errEnough = errors.New("enough was read")

// Once prints one table, after the second event: the first one says nothing about single engines and servers.
func Once(ctx context.Context, session *client.Session, start Start, out io.Writer) error {
	topics, err := topicsOf(ctx, session, start.page(), start.Service)
	if err != nil {
		return err
	}
	var s state
	err = session.Live(ctx, topics, "", func(event client.LiveEvent) error {
		if err := s.apply(event); err != nil || s.deltas == 0 {
			return err
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		return err
	}
	const unlimited = 1 << 12 // columns
	v := view{page: start.page()}
	lines := append([]line{{text: header(&s)}, {text: v.note(&s)}}, v.body(&s, unlimited)...)
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line.text, " ")); err != nil {
			return err
		}
	}
	return nil
}

// Lines prints each event as a line of JSON; once: the first two.
func Lines(ctx context.Context, session *client.Session, start Start, once bool, out io.Writer) error {
	topics, err := topicsOf(ctx, session, start.page(), start.Service)
	if err != nil {
		return err
	}
	last := ""
	for {
		err := session.Live(ctx, topics, last, func(event client.LiveEvent) error {
			last = event.ID
			text, err := json.Marshal(map[string]any{
				"event": event.Name, "id": event.ID, "data": json.RawMessage(event.Data),
			})
			if err == nil {
				_, err = fmt.Fprintln(out, logtext.InertJSON(string(text)))
			}
			if err == nil && once && event.Name == "delta" {
				return errEnough
			}
			return err
		})
		switch {
		case errors.Is(err, errEnough):
			return nil
		case !isPassing(err):
			return err
		}
		fmt.Fprintf(os.Stderr, "weir: %v; connecting again\n", err)
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// retryAfter is how long to wait before connecting again.
const retryAfter = time.Second

// isPassing tells whether a stream may work again in a moment. A stream that broke off counts for a while.
func isPassing(err error) bool {
	var unreachable *client.Unreachable
	return errors.Is(err, client.ErrStreamBroken) || errors.As(err, &unreachable) ||
		client.IsStatus(err, http.StatusTooManyRequests) || client.IsStatus(err, http.StatusServiceUnavailable)
}
