package rest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/place"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/controller/store"
	"github.com/weir-lb/weir/logs"
	"github.com/weir-lb/weir/logs/query"
)

// This file is the only map from an error to a status.

type noSuchPath struct{ path string }

func (e *noSuchPath) Error() string { return fmt.Sprintf("There is nothing at %s", e.path) }

const statusSessionExpired = 419 // not registered; clients log in again and repeat the request

// refuse answers with the status and the text of an error.
func (c *call) refuse(err error) {
	status := statusOf(err)
	text := err.Error()
	if status == http.StatusInternalServerError {
		c.api.log.Error("request failed", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
		text = "The controller failed to answer; its log says why"
	}
	if errors.Is(err, store.ErrBusy) {
		c.api.log.Warn("request failed", "method", c.r.Method, "path", c.r.URL.Path, "error", err)
		c.w.Header().Set("Retry-After", "5")
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		text = fmt.Sprintf("The body is larger than %d MiB", large.Limit>>20)
	}
	if wait, ok := errors.AsType[*admit.Throttled](err); ok {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Wait.Seconds()))))
	}
	if away, ok := errors.AsType[*logs.Unavailable](err); ok {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(away.RetryAfter().Seconds()))))
	}
	if errors.Is(err, admit.ErrBusy) || errors.Is(err, series.ErrBusy) || errors.Is(err, ErrExplainBusy) ||
		errors.Is(err, logs.ErrBusy) {
		c.w.Header().Set("Retry-After", "1")
	}
	if _, full := errors.AsType[*crowded](err); full {
		c.w.Header().Set("Retry-After", "1")
	}
	if errors.Is(err, series.ErrOpening) {
		c.w.Header().Set("Retry-After", "5")
	}
	if errors.Is(err, admit.ErrForged) { // plain text, because clients compare it
		c.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		c.send(status, []byte(text))
		return
	}
	body := schema.Object{"error": text}
	if field, ok := errors.AsType[*schema.FieldError](err); ok { // forms show it there
		body["weir_kind"], body["weir_field"], body["weir_problem"] = field.Kind, field.Field, field.Problem
	}
	if taken, ok := errors.AsType[*admit.Duplicate](err); ok {
		body["weir_kind"], body["weir_field"], body["weir_problem"] = strings.ToLower(taken.Title), taken.Field, text
	}
	if lacking, ok := errors.AsType[*admit.Lacking](err); ok { // pages say it beside what they do not show
		body["weir_lacking"] = schema.Object{"resource": lacking.Resource, "type": lacking.Access.String(),
			"tenant": lacking.Tenant}
	}
	if c.isPromQL() {
		body = promFailure(status, text)
	}
	c.broken(c.reply(status, body))
}

func statusOf(err error) int {
	for _, known := range sentinels {
		if errors.Is(err, known.err) {
			return known.status
		}
	}
	switch cause := err.(type) {
	case *schema.FieldError, *unsupportedVersion, *badQuery, *place.Refusal, *series.Refusal, *series.UnknownMetric,
		*query.Error:
		return http.StatusBadRequest
	case *logs.Unavailable:
		return http.StatusServiceUnavailable
	case *admit.Forbidden, *admit.Lacking:
		return http.StatusForbidden
	case *admit.NotFound, *noSuchPath, *noSuchMetrics:
		return http.StatusNotFound
	case *admit.NotAllowed:
		return http.StatusMethodNotAllowed
	case *admit.Duplicate:
		return http.StatusConflict
	case *admit.InUse:
		return http.StatusPreconditionFailed
	case *admit.Throttled, *tooManyStreams, *crowded:
		return http.StatusTooManyRequests
	case *http.MaxBytesError:
		return http.StatusRequestEntityTooLarge
	case interface{ Unwrap() error }:
		return statusOf(cause.Unwrap())
	}
	return http.StatusInternalServerError
}

var sentinels = []struct {
	err    error
	status int
}{
	{admit.ErrNotLoggedIn, http.StatusUnauthorized},
	{admit.ErrInvalidCredentials, http.StatusUnauthorized},
	{admit.ErrForged, http.StatusUnauthorized},
	{admit.ErrSessionExpired, statusSessionExpired},
	{admit.ErrBusy, http.StatusServiceUnavailable},
	{logs.ErrBusy, http.StatusTooManyRequests},
	{admit.ErrStale, http.StatusPreconditionFailed},
	{store.ErrTooLarge, http.StatusRequestEntityTooLarge},
	{store.ErrDiskFull, http.StatusInsufficientStorage},
	{store.ErrBusy, http.StatusServiceUnavailable},
	{errStops, http.StatusServiceUnavailable},
	{store.ErrClosed, http.StatusServiceUnavailable},
	{series.ErrOpening, http.StatusServiceUnavailable},
	{series.ErrBusy, http.StatusTooManyRequests},
	{ErrExplainBusy, http.StatusTooManyRequests},
	{series.ErrTimeout, http.StatusServiceUnavailable},
	{errNotReached, http.StatusServiceUnavailable},
	{context.DeadlineExceeded, http.StatusServiceUnavailable},
	{context.Canceled, http.StatusServiceUnavailable},
}
