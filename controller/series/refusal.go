package series

import (
	"errors"
	"fmt"
)

// ErrOpening: the history is not open yet, or cannot be opened. Asking again later may help.
var ErrOpening = errors.New("the history of metrics is not open yet")

// ErrBusy: too many questions are waiting.
var ErrBusy = errors.New("too many queries of metrics at once: try again")

// ErrTimeout: a query took too long.
var ErrTimeout = errors.New("the query took too long: ask for less time, for longer steps, or for fewer series")

// UnknownMetric says that there is no metric with this id.
type UnknownMetric struct{ ID string }

func (e *UnknownMetric) Error() string {
	return fmt.Sprintf("there is no metric %q: GET /api/analytics/metric_id lists all", e.ID)
}

// Refusal says why a question cannot be answered: part of it is wrong, or it asks for too much.
type Refusal struct {
	Parameter string // "query", "step"
	Problem   string
}

func (e *Refusal) Error() string { return fmt.Sprintf("%s: %s", e.Parameter, e.Problem) }
