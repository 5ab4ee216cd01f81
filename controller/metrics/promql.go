package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/weir-lb/weir/controller/metrics/retention"
	"github.com/weir-lb/weir/controller/series"
)

// Language is the version of Prometheus whose PromQL this is: that of the library, whose v0.315.0 is Prometheus 3.15.0.
func (*History) Language() string { return "3.15.0" }

const (
	queryTimeout = 30 * time.Second
	// samplesMax bounds the samples that a query holds in memory, of 16 bytes each.
	samplesMax = 5_000_000
	// answerMax bounds the samples of an answer: as JSON, and while that is made, each takes far more than 16 bytes.
	answerMax = 500_000
	lookback  = 5 * time.Minute
)

// language is PromQL with "anchored": increases that are exact, without extrapolation.
var language = parser.NewParser(parser.Options{EnableExtendedRangeSelectors: true})

func newEngine(log *slog.Logger) *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		Logger: slog.New(warnings{log.Handler()}), MaxSamples: samplesMax, Timeout: queryTimeout,
		LookbackDelta: lookback, EnableAtModifier: true, EnableNegativeOffset: true, Parser: language,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
	})
}

// Query answers a query in PromQL. Errors: *series.Refusal, series.ErrOpening, ErrBusy, ErrTimeout.
func (h *History) Query(ctx context.Context, query series.Query) (series.Found, error) {
	if err := boundText("query", query.Text); err != nil {
		return series.Found{}, err
	}
	if query.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, query.Timeout)
		defer cancel()
	}
	var found series.Found
	err := h.ask(ctx, query.Sight, func(ctx context.Context, seen view) error {
		result, err := h.run(ctx, seen, query)
		if err != nil {
			return err
		}
		defer result.Close()
		if count := samplesIn(result.value); count > answerMax {
			return &series.Refusal{Parameter: "query", Problem: fmt.Sprintf(
				"the answer has %d samples, and the limit is "+
					"%d: ask for less time, for longer steps, or for fewer series", count, answerMax)}
		}
		found.Data, err = json.Marshal(struct {
			Type   parser.ValueType `json:"resultType"`
			Result parser.Value     `json:"result"`
		}{result.value.Type(), result.value})
		found.Warnings = result.warnings
		return err
	})
	return found, err
}

// samplesIn counts the samples of an answer; histograms count by their size.
func samplesIn(value parser.Value) int {
	switch value := value.(type) {
	case promql.Matrix:
		return value.TotalSamples()
	case promql.Vector:
		return value.TotalSamples()
	}
	return 1
}

// ask calls look with the tiers as a question sees them, when there is a place. All that look does has one deadline, so
// that no request holds a place for longer.
func (h *History) ask(ctx context.Context, sight series.Sight, look func(context.Context, view) error) error {
	leave, err := h.places.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, h.patience)
	defer cancel()
	defer context.AfterFunc(h.life, cancel)() // a controller that stops does not wait for queries
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.tiers == nil {
		if why := h.health.why(); why != "" {
			return fmt.Errorf("%w: %s", series.ErrOpening, why)
		}
		return series.ErrOpening
	}
	err = look(ctx, view{h.tiers, sight, h.config.Now()})
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return series.ErrTimeout
	}
	return err
}

// result is the value of a query. Close it when it is not needed any more.
type result struct {
	promql.Query
	value    parser.Value
	warnings []string
}

// run runs a query. The caller has a place.
func (h *History) run(ctx context.Context, seen view, query series.Query) (*result, error) {
	if err := check(query); err != nil {
		return nil, err
	}
	made, err := h.prepare(ctx, seen, query)
	if err != nil {
		return nil, refusalOf(err)
	}
	got := made.Exec(ctx)
	if got.Err != nil {
		made.Close()
		return nil, refusalOf(got.Err)
	}
	warned, told := got.Warnings.AsStrings(query.Text, 10, 10)
	return &result{Query: made, value: got.Value, warnings: append(warned, told...)}, nil
}

func check(query series.Query) error {
	switch {
	case query.Stop.Before(query.Start):
		return &series.Refusal{Parameter: "end", Problem: "is before the start"}
	case query.Step != 0 && query.Step < time.Millisecond:
		return &series.Refusal{Parameter: "step", Problem: "is below 1 ms"}
	case query.Step > 0 && query.Stop.Sub(query.Start)/query.Step > series.StepsMax:
		return &series.Refusal{Parameter: "step",
			Problem: fmt.Sprintf("gives more than %d values for a series: make it longer", series.StepsMax)}
	}
	return nil
}

func (h *History) prepare(ctx context.Context, seen view, query series.Query) (promql.Query, error) {
	if query.Step == 0 {
		return h.engine.NewInstantQuery(ctx, seen, nil, query.Text, query.Stop)
	}
	options := promql.NewPrometheusQueryOpts(false, seen.lookback(query))
	return h.engine.NewRangeQuery(ctx, seen, options, query.Text, query.Start, query.Stop, query.Step)
}

// lookback is how long a sample counts as the newest one: more than two steps of the coarsest tier that is read.
func (v view) lookback(query series.Query) time.Duration {
	longest := lookback
	for _, span := range v.spans(query.Start.UnixMilli(), query.Stop.UnixMilli(), query.Step) {
		longest = max(longest, retention.Tiers[span.tier].Step*5/2)
	}
	return longest
}

// refusalOf turns an error of the engine into one of ours.
func refusalOf(err error) error {
	var timeout promql.ErrQueryTimeout
	var canceled promql.ErrQueryCanceled
	var storage promql.ErrStorage
	switch {
	case errors.As(err, &timeout):
		return series.ErrTimeout
	case errors.As(err, &canceled):
		return context.Canceled
	case errors.As(err, &storage):
		return err
	}
	return &series.Refusal{Parameter: "query", Problem: err.Error()}
}
