package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// LiveEvent is one event of the stream of what happens now (docs/live.md).
type LiveEvent struct {
	Name string // "snapshot" or "delta"
	ID   string
	Data []byte // JSON
}

// silenceMost is how long a stream may be silent before it counts as broken. The controller pings each 15 s.
const silenceMost = 40 * time.Second

// ErrStreamBroken says that a stream ended before its time: connect again, and give the id of the last event.
var ErrStreamBroken = errors.New("the stream of events broke off")

// Live calls take with each event about topics, in order, until ctx ends or take returns an error. after is the id of
// the last event that the caller has, and empty if it has none. Errors: that of take, *SessionOver, *Problem,
// *Unreachable, ErrStreamBroken.
func (s *Session) Live(ctx context.Context, topics []string, after string, take func(LiveEvent) error) error {
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(silenceMost, cancel)
	defer silence.Stop()
	path := "/api/weir/live?topics=" + url.QueryEscape(strings.Join(topics, ","))
	request, err := s.request(reading, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "text/event-stream")
	if after != "" {
		request.Header.Set("Last-Event-ID", after)
	}
	answer, err := (&http.Client{Transport: s.http.Transport}).Do(request)
	if err != nil {
		return s.unreachable(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(answer.Body, answerBytesMax))
		if err != nil {
			return err
		}
		return s.sessionOver(problemOf(request, answer.StatusCode, body))
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, answerBytesMax)
	var event LiveEvent
	for lines.Scan() {
		silence.Reset(silenceMost)
		if len(lines.Bytes()) > 0 {
			event.read(lines.Bytes())
			continue
		}
		if event.Name == "end" {
			return s.ended(request, event.Data)
		}
		if event.Data != nil {
			if err := take(event); err != nil {
				return err
			}
		}
		event = LiveEvent{}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %v", ErrStreamBroken, errors.Join(lines.Err(), reading.Err()))
}

// read takes a line. A line without a name is a comment.
func (e *LiveEvent) read(line []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		e.Name = string(value)
	case "id":
		e.ID = string(value)
	case "data":
		e.Data = bytes.Clone(value)
	}
}

// ended is why the controller ended the stream.
func (s *Session) ended(request *http.Request, data []byte) error {
	var said struct {
		Reason string `json:"reason"`
		Status int    `json:"status"`
	}
	if err := json.Unmarshal(data, &said); err != nil || said.Status == http.StatusServiceUnavailable {
		return fmt.Errorf("%w: %s", ErrStreamBroken, said.Reason)
	}
	return s.sessionOver(&Problem{Method: request.Method, Path: request.URL.Path, Status: said.Status,
		Message: said.Reason})
}
