package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/weir-lb/weir/lab/clients"
)

// pageTimes are what web/tests/measure.mjs prints.
type pageTimes struct {
	KiB           float64 `json:"kib"`
	PaintMs       float64 `json:"paint_ms"`
	UsableMs      float64 `json:"usable_ms"`
	InteractionMs float64 `json:"interaction_p95_ms"`
	Interactions  int     `json:"interactions"`
	Loads         int     `json:"loads"`
}

// pageServices are on the pages while they are measured.
const pageServices = 20

// pageRow is one figure of the pages.
func pageRow(of func(pageTimes) float64) func(context.Context, *run) (Finding, error) {
	return func(ctx context.Context, r *run) (Finding, error) {
		times, err := r.browser.get(func() (pageTimes, error) { return r.browse(ctx) })
		if err != nil {
			return Finding{}, err
		}
		return Finding{Value: of(times), Note: fmt.Sprintf(
			"Chromium without a screen, %d services of which one has traffic; the slowest of %d loads, %d clicks and keys",
			pageServices, times.Loads, times.Interactions)}, nil
	}
}

// browse drives a browser through the pages of a controller under load.
func (r *run) browse(ctx context.Context) (times pageTimes, err error) {
	script := filepath.Join(r.Source, "web/tests/measure.mjs")
	if _, err := os.Stat(filepath.Join(r.Source, "web/node_modules/playwright-core")); err != nil {
		return times, errors.New(
			"web/node_modules is not here: run `make build` in the source of Weir, and this bench there")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return times, errors.New("chromium is not installed")
	}
	err = r.onStage(ctx, func(s *stage) error {
		var served service
		for number := range pageServices {
			vs, end, err := s.serve(ctx, fmt.Sprintf("page-%02d", number), http.HandlerFunc(answer), nil)
			defer end()
			if err != nil {
				return err
			}
			served = vs
		}
		load, err := s.lab.BeginLoad(ctx, append(clients.Rate(16, 0, 100), "--url", served.url("/"),
			"--duration", "2m")...)
		if err != nil {
			return err
		}
		defer func() { _, _ = load.End() }()
		password, err := s.controller.Password()
		if err != nil {
			return err
		}
		command := exec.CommandContext(ctx, "node", script)
		command.Env = append(os.Environ(), "WEIR_CHROMIUM="+chromium, "WEIR_URL="+s.controller.URL,
			"WEIR_PASSWORD="+password, "WEIR_ROUNDS="+strconv.Itoa(r.Short(3, 10)))
		var said bytes.Buffer
		command.Stderr = &said
		out, err := command.Output()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", script, err, lastLine(said.String()))
		}
		return json.Unmarshal(out, &times)
	})
	return times, err
}
