package telemetry

import (
	"context"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/client"
)

// scrolled is what web/tests/scroll.mjs prints.
type scrolled struct {
	Rows      int     `json:"rows"`
	Frames    int     `json:"frames"`
	FPS       float64 `json:"fps"`
	LongestMs float64 `json:"longest_ms"`
	Blank     int     `json:"blank"`
}

const scrollRows = 5000

// measureScroll scrolls through a table of thousands of services.
func measureScroll(ctx context.Context, r *run) (finding findings.Finding, err error) {
	rows := r.Short(500, scrollRows)
	var found scrolled
	err = r.onPages(ctx, func(s *stage) error {
		if err := s.createIdle(ctx, rows-pageServices); err != nil {
			return err
		}
		return s.drive(ctx, "scroll.mjs", &found, "WEIR_ROWS="+strconv.Itoa(rows), "WEIR_SECONDS="+
			strconv.Itoa(r.Short(3, 10)))
	})
	finding.Value = found.FPS
	finding.Note = fmt.Sprintf(
		"a table of %d services while it is read again and again, by 260 px a frame; %d frames, "+
			"the longest %.0f ms", found.Rows, found.Frames, found.LongestMs)
	if found.Blank > 0 {
		finding.Fault = fmt.Sprintf("%d frames had no row in the middle", found.Blank)
	}
	return finding, err
}

// createIdle makes so many services that no engine serves.
func (s *stage) createIdle(ctx context.Context, count int) error {
	const creators = 8
	working, ctx := errgroup.WithContext(ctx)
	for first := range creators {
		session, err := client.Resume(s.controller.Session.Saved())
		if err != nil {
			return err
		}
		working.Go(func() error {
			for index := first; index < count; index += creators {
				object := client.Object{"name": fmt.Sprintf("idle-%05d", index), "enabled": false,
					"vsvip_ref": client.Ref("vsvip", "page-00"), "pool_ref": client.Ref("pool", "page-00"),
					"services": []any{client.Object{"port": 20_000 + index}}}
				if _, err := session.Create(ctx, "virtualservice", object); err != nil {
					return fmt.Errorf("idle service %d: %w", index, err)
				}
			}
			return nil
		})
	}
	return working.Wait()
}

// heaped is what web/tests/heap.mjs prints.
type heaped struct {
	MiB     float64 `json:"mib"`
	PerHour float64 `json:"mib_per_h"`
	Pages   int     `json:"pages"`
	Seconds float64 `json:"seconds"`
	Samples int     `json:"samples"`
}

// measureHeap goes from page to page, far faster than a person, and measures how the heap grows.
func measureHeap(ctx context.Context, r *run) (findings.Finding, error) {
	var found heaped
	err := r.onPages(ctx, func(s *stage) error {
		return s.drive(ctx, "heap.mjs", &found, "WEIR_SECONDS="+strconv.Itoa(r.Short(60, 720)))
	})
	return findings.Finding{Value: found.PerHour, Note: fmt.Sprintf(
		"an accelerated form of an hour: %d pages in %.0f s, with the live stream; the slope of %d samples after garbage collections in "+
			"the second half, as growth in an hour; the heap has %.1f MiB", found.Pages, found.Seconds,
		found.Samples, found.MiB)}, err
}
