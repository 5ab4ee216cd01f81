package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// LoadReport is what weir-load prints with --json. Times in microseconds.
type LoadReport struct {
	Seconds    float64          `json:"seconds"`
	Requests   int64            `json:"requests"`
	TPS        float64          `json:"tps"`
	ErrorTotal int64            `json:"error_total"`
	Errors     map[string]int64 `json:"errors"`
	P50us      float64          `json:"p50_us"`
	P95us      float64          `json:"p95_us"`
	P99us      float64          `json:"p99_us"`
	P999us     float64          `json:"p999_us"`
	Bytes      int64            `json:"bytes"`
	Missed     int64            `json:"missed"` // that were due and never begun, because all connections were busy
	IdleHeld   int              `json:"idle_held"`
	// WaitingHeld are the streams of HTTP/2 that still waited for their answer at the end.
	WaitingHeld int `json:"waiting_held"`
	TLS         struct {
		Version        string `json:"version"`
		Cipher         string `json:"cipher"`
		Group          string `json:"group"`
		FullHandshakes int64  `json:"full_handshakes"`
		Resumed        int64  `json:"resumed"`
	} `json:"tls"`
	PerValue map[string]int64 `json:"per_value"`
	Timeline *Timeline        `json:"timeline"` // nil without --timeline
}

// Timeline is when things happened, from the begin of the load.
type Timeline struct {
	BegunUnixUs int64            `json:"begun_unix_us"`
	Seconds     []LoadSecond     `json:"seconds"`
	Failures    []LoadFailure    `json:"failures"`
	FirstUs     map[string]int64 `json:"first_us"` // when each value was seen first
}

// LoadSecond is what came in one second.
type LoadSecond struct {
	Answers  int64            `json:"answers"`
	Failures int64            `json:"failures"`
	PerValue map[string]int64 `json:"per_value"`
}

// LoadFailure is one failed request. Value is the engine that answered on its connection before; empty: none had.
type LoadFailure struct {
	BegunUs  int64  `json:"begun_us"`
	FailedUs int64  `json:"failed_us"`
	Cause    string `json:"cause"`
	Value    string `json:"value"`
}

// Begun is the moment from which the times count.
func (t *Timeline) Begun() time.Time { return time.UnixMicro(t.BegunUnixUs) }

// Load runs the load generator to its end. Failed requests are in the report, not in the error.
func (h *Host) Load(ctx context.Context, flags ...string) (LoadReport, error) {
	var said bytes.Buffer
	return h.load(ctx, nil, &said, &said, flags)
}

// LoadBetween calls begun when the load begins, and over when the load ends and all connections are still open.
func (h *Host) LoadBetween(ctx context.Context, begun, over func(), flags ...string) (LoadReport, error) {
	herald := &herald{calls: map[string]func(){"weir-load: begun": begun, "weir-load: over": over}}
	return h.load(ctx, nil, herald, &herald.said, append(flags, "--announce"))
}

// RunningLoad is a load generator that runs until it is stopped, or until its duration is over.
type RunningLoad struct {
	input io.Closer
	ended chan endedLoad
}

type endedLoad struct {
	report LoadReport
	err    error
}

// BeginLoad starts the load generator, and returns when the load begins.
func (h *Host) BeginLoad(ctx context.Context, flags ...string) (*RunningLoad, error) {
	reading, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	begun := make(chan struct{})
	herald := &herald{calls: map[string]func(){"weir-load: begun": func() { close(begun) }}}
	l := &RunningLoad{input, make(chan endedLoad, 1)}
	go func() {
		defer reading.Close()
		report, err := h.load(ctx, reading, herald, &herald.said, append(flags, "--announce", "--until-eof"))
		l.ended <- endedLoad{report, err}
	}()
	select {
	case <-begun:
		return l, nil
	case ended := <-l.ended:
		_ = input.Close()
		return nil, fmt.Errorf("the load ended before it began: %w", ended.err)
	}
}

// End tells it to end, and returns what it saw.
func (l *RunningLoad) End() (LoadReport, error) {
	_ = l.input.Close()
	ended := <-l.ended
	return ended.report, ended.err
}

func (h *Host) load(ctx context.Context, stdin io.Reader, stderr io.Writer, said *bytes.Buffer, flags []string) (
	LoadReport, error) {
	var out bytes.Buffer
	load := exec.CommandContext(ctx, h.lab.program("weir-load"), append(flags, "--json")...)
	load.Stdin, load.Stdout, load.Stderr = stdin, &out, stderr
	err := h.launch(load)
	if err == nil {
		err = load.Wait()
	}
	if ctx.Err() != nil {
		return LoadReport{}, fmt.Errorf("weir-load: %w", ctx.Err())
	}
	if err != nil && out.Len() == 0 {
		return LoadReport{}, fmt.Errorf("weir-load: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return parseLoadReport(out.Bytes())
}

// herald calls what waits for a line, as soon as the line is there.
type herald struct {
	said  bytes.Buffer
	calls map[string]func()
	line  []byte
}

func (h *herald) Write(text []byte) (int, error) {
	h.said.Write(text)
	h.line = append(h.line, text...)
	for {
		line, rest, whole := bytes.Cut(h.line, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		if call := h.calls[string(line)]; call != nil {
			call()
		}
		h.line = rest
	}
}

// parseLoadReport reads the last line.
func parseLoadReport(out []byte) (report LoadReport, err error) {
	text := bytes.TrimSpace(out)
	if err := json.Unmarshal(text[bytes.LastIndexByte(text, '\n')+1:], &report); err != nil {
		return LoadReport{}, fmt.Errorf("weir-load printed no report: %w", err)
	}
	return report, nil
}
