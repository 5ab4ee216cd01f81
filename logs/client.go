package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// ErrBusy says that too many queries run and wait.
var ErrBusy = errors.New("too many queries of logs run and wait: try again soon")

// ErrNoSpace says that the store takes no rows, because its disk is full.
var ErrNoSpace = errors.New("no space")

// oldEpoch says that the store knows a later epoch of the source.
type oldEpoch struct{ newest uint64 }

func (e *oldEpoch) Error() string { return fmt.Sprintf("the store knows epoch %d", e.newest) }

// refusal says that the store will never take a batch, or a query.
type refusal struct{ reason string }

func (e *refusal) Error() string { return e.reason }

// Client speaks with the store of a directory. It is safe for concurrent use.
type Client struct{ http http.Client }

// NewClient connects when it is used.
func NewClient(dir string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		path, release, err := SocketPath(dir)
		if err != nil {
			return nil, err
		}
		defer release()
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return &Client{http.Client{Transport: &http.Transport{DialContext: dial, DisableCompression: true,
		MaxIdleConnsPerHost: 4}}}
}

// Add stores a batch of rows.
func (c *Client) Add(ctx context.Context, origin wire.Origin, rows []wire.Row) (ack Ack, err error) {
	path := "batches?" + url.Values{"source": {origin.Source}, "epoch": {strconv.FormatUint(origin.Epoch, 10)},
		"sequence": {strconv.FormatUint(origin.Sequence, 10)}}.Encode()
	err = c.call(ctx, http.MethodPost, path, wire.Append(nil, rows), &ack)
	return ack, err
}

// Ask answers a query. Errors: *query.Error, ErrBusy, and those of a store that is away.
func (c *Client) Ask(ctx context.Context, asked query.Query) (answer query.Answer, err error) {
	body, err := json.Marshal(asked)
	if err == nil {
		err = c.call(ctx, http.MethodPost, "query", body, &answer)
	}
	return answer, err
}

// Delete removes the rows of a type, in a scope, that match a condition. It returns when they are gone.
func (c *Client) Delete(ctx context.Context, matching query.Query) error {
	body, err := json.Marshal(matching)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPost, "deletions", body, &struct{}{})
}

// State returns how the store is.
func (c *Client) State(ctx context.Context) (state State, err error) {
	err = c.call(ctx, http.MethodGet, "state", nil, &state)
	return state, err
}

// close ends the connections that nobody uses.
func (c *Client) close() { c.http.CloseIdleConnections() }

// answerBytesMax bounds what is read of an answer. The store bounds what it sends, to less.
const answerBytesMax = 512 << 20

func (c *Client) call(ctx context.Context, method, path string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://records/"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content := json.NewDecoder(io.LimitReader(answer.Body, answerBytesMax))
	if answer.StatusCode == http.StatusOK {
		return content.Decode(into)
	}
	var trouble Trouble
	if err := content.Decode(&trouble); err != nil {
		return fmt.Errorf("the record store answered %s: %w", answer.Status, err)
	}
	return trouble.err(answer.StatusCode)
}

func (t Trouble) err(status int) error {
	switch {
	case status == http.StatusTooManyRequests:
		return ErrBusy
	case status == http.StatusInsufficientStorage:
		return fmt.Errorf("%w: %s", ErrNoSpace, t.Error)
	case status == http.StatusConflict:
		return &oldEpoch{t.Epoch}
	case status == http.StatusBadRequest && t.Part != "":
		return &query.Error{Part: t.Part, Problem: t.Error}
	case status == http.StatusBadRequest:
		return &refusal{t.Error}
	}
	return errors.New(t.Error)
}

// wait waits, unless ctx ends.
func wait(ctx context.Context, pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
}
