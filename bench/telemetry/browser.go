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

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/bench/ours"
	"github.com/weir-lb/weir/lab/clients"
)

// pageTimes are what web/tests/measure.mjs prints.
type pageTimes struct {
	KiB           float64 `json:"kib"`
	PaintMs       float64 `json:"paint_ms"`
	UsableMs      float64 `json:"usable_ms"`
	InteractionMs float64 `json:"interaction_p95_ms"`
	Interactions  int     `json:"interactions"`
	PageMs        float64 `json:"page_p95_ms"`
	Loads         int     `json:"loads"`
	Slowest       []struct {
		Act       string  `json:"act"`
		Ms        float64 `json:"ms"`
		WaitedMs  float64 `json:"waited_ms"`
		WorkedMs  float64 `json:"worked_ms"`
		PaintedMs float64 `json:"painted_ms"`
	} `json:"slowest"`
}

// pageServices are on the pages while they are measured.
const pageServices = 20

// pageRow is one figure of the pages.
func pageRow(of func(pageTimes) float64) func(context.Context, *run) (findings.Finding, error) {
	return func(ctx context.Context, r *run) (findings.Finding, error) {
		times, err := r.browser.get(func() (pageTimes, error) { return r.browse(ctx) })
		if err != nil {
			return findings.Finding{}, err
		}
		return findings.Finding{Value: of(times), Note: times.note()}, nil
	}
}

// note says what was measured, and which clicks were the slowest.
func (t pageTimes) note() string {
	text := fmt.Sprintf("Chromium without a screen, %d services of which one has traffic; the slowest of %d loads, "+
		"%d clicks and keys. The page behind a click is there after %.0f ms (p95)", pageServices, t.Loads,
		t.Interactions, t.PageMs)
	for at, one := range t.Slowest {
		text += []string{". Slowest: ", ", "}[min(at, 1)] + fmt.Sprintf(
			"%s %.0f ms (waited %.0f, in handlers %.0f, until painted %.0f)", one.Act, one.Ms,
			one.WaitedMs, one.WorkedMs,
			one.PaintedMs)
	}
	return text
}

// browse drives a browser through the pages of a controller under load.
func (r *run) browse(ctx context.Context) (times pageTimes, err error) {
	err = r.onPages(ctx, func(s *stage) error {
		return s.drive(ctx, "measure.mjs", &times, "WEIR_ROUNDS="+strconv.Itoa(r.Short(3, 10)))
	})
	return times, err
}

// onPages does something with a controller that has some services, one of them under load.
func (r *run) onPages(ctx context.Context, do func(*stage) error) error {
	return r.onStage(ctx, func(s *stage) error {
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
			"--duration", "20m")...)
		if err != nil {
			return err
		}
		defer func() { _, _ = load.End() }()
		return do(s)
	})
}

// drive runs a script of web/tests, which drives a browser, and reads the JSON object that it prints.
func (s *stage) drive(ctx context.Context, name string, into any, environment ...string) error {
	script := filepath.Join(s.Source, "web/tests", name)
	if _, err := os.Stat(filepath.Join(s.Source, "web/node_modules/playwright-core")); err != nil {
		return errors.New("web/node_modules is not here: run `make build` in the source of Weir, and this bench there")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return errors.New("chromium is not installed")
	}
	password, err := s.controller.Password()
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "node", script)
	command.Env = append(os.Environ(), append(environment, "WEIR_CHROMIUM="+chromium, "WEIR_URL="+s.controller.URL,
		"WEIR_PASSWORD="+password)...)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", script, err, ours.LastLine(said.String()))
	}
	return json.Unmarshal(out, into)
}
