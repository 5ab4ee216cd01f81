package metrics

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/weir-lb/weir/controller/metrics/retention"
	"github.com/weir-lb/weir/controller/series"
)

// namedMax is the number of objects up to which a query names them. Otherwise it asks for all of the tenant.
const namedMax = 50

// Ask answers questions by metric ids of Avi. Errors: *series.UnknownMetric, *series.Refusal, series.ErrOpening,
// ErrBusy, ErrTimeout.
func (h *History) Ask(ctx context.Context, questions []series.Question) ([]series.Answer, error) {
	answers := make([]series.Answer, 0, len(questions))
	for _, q := range questions {
		if !isKnown(q.Metric) {
			return nil, &series.UnknownMetric{ID: q.Metric}
		}
		if err := check(series.Query{Start: q.Start, Stop: q.Stop, Step: q.Step}); err != nil {
			return nil, err
		}
	}
	err := h.ask(ctx, series.Sight{}, func(ctx context.Context, all view) error {
		for _, q := range questions {
			answer, err := h.answer(ctx, all, q)
			if err != nil {
				return err
			}
			answers = append(answers, answer)
		}
		return nil
	})
	return answers, err
}

func (h *History) answer(ctx context.Context, all view, q series.Question) (series.Answer, error) {
	is := find(q.Kind, q.Metric)
	if own := find(serverKind, q.Metric); own != nil && q.Server != "" {
		is = own
	}
	if is == nil {
		return series.Answer{Metric: series.Metric{ID: q.Metric, Unit: count, Missing: true}}, nil
	}
	answer := series.Answer{Metric: series.Metric{ID: is.id, Unit: is.unit, Text: is.text,
		Kinds: []series.Kind{q.Kind}}}
	asked := h.question(all, q)
	collected, err := asked.collected(ctx)
	if err != nil {
		return answer, err
	}
	answer.Series, err = asked.evaluate(ctx, is.is, collected)
	return answer, err
}

// asked is a question with what its terms need.
type asked struct {
	*History
	seen   view
	q      series.Question
	blanks blanks
}

func (h *History) question(all view, q series.Question) asked {
	window := max(q.Step, resolution(all.now.Sub(q.Start)))
	matchers := []string{}
	if len(q.UUIDs) <= namedMax {
		matchers = append(matchers, fmt.Sprintf("uuid=~%q", strings.Join(q.UUIDs, "|")))
	}
	key := "uuid"
	switch q.Server {
	case "":
	case series.EachServer:
		key = "uuid, server"
	default:
		matchers, key = append(matchers, fmt.Sprintf("server=%q", q.Server)), "uuid, server"
	}
	all.sight.Tenant = q.Tenant
	return asked{h, all, q, blanks{
		matchers: strings.Join(matchers, ","), key: key, stepSeconds: int(window.Seconds()),
		wideSeconds: int(max(window, 4*max(retention.HistogramEvery, resolution(all.now.Sub(q.Start)))).Seconds()),
	}}
}

// resolution is the time between samples of the tier that still has samples of this age.
func resolution(age time.Duration) time.Duration {
	for _, spec := range retention.Tiers {
		if age < spec.Keep {
			return spec.Step
		}
	}
	return retention.Tiers[len(retention.Tiers)-1].Step
}

// values are those of one series, by time in ms since 1970.
type values map[int64]float64

// collected tells in which steps the controller was collecting. What has no series is 0 then, and unknown otherwise.
func (a asked) collected(ctx context.Context) (values, error) {
	whole := a.seen
	whole.sight.Tenant = ""
	found, err := a.matrix(ctx, whole, fmt.Sprintf("sum(count_over_time(weir_metrics_collections_total[%ds]))",
		a.blanks.stepSeconds))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return valuesOf(found[0].Floats), nil
}

func (a asked) matrix(ctx context.Context, seen view, text string) (promql.Matrix, error) {
	result, err := a.run(ctx, seen, series.Query{Text: text, Start: a.q.Start, Stop: a.q.Stop, Step: a.q.Step})
	if err != nil {
		return nil, err
	}
	defer result.Close()
	matrix, _ := result.value.(promql.Matrix)
	copied := make(promql.Matrix, len(matrix)) // the engine uses its points again
	for i, one := range matrix {
		one.Floats = append([]promql.FPoint(nil), one.Floats...)
		copied[i] = one
	}
	return copied, nil
}

func valuesOf(points []promql.FPoint) values {
	made := make(values, len(points))
	for _, point := range points {
		made[point.T] = point.F
	}
	return made
}

// object is what a series of an answer is about.
type object struct{ uuid, server string }

// sums are the sum of terms, by object.
type sums map[object]values

func (a asked) sum(ctx context.Context, terms []term, sign float64, into sums) error {
	for _, t := range terms {
		found, err := a.matrix(ctx, a.seen, t.fill(a.blanks))
		if err != nil {
			return err
		}
		for _, one := range found {
			key := object{one.Metric.Get("uuid"), one.Metric.Get("server")}
			if into[key] == nil {
				into[key] = values{}
			}
			for _, point := range one.Floats {
				into[key][point.T] += sign * point.F
			}
		}
	}
	return nil
}

func (a asked) evaluate(ctx context.Context, e expression, collected values) ([]series.Series, error) {
	above, below := sums{}, sums{}
	if err := a.sum(ctx, e.terms, 1, above); err != nil {
		return nil, err
	}
	if err := a.sum(ctx, e.less, -1, above); err != nil {
		return nil, err
	}
	if err := a.sum(ctx, e.over, 1, below); err != nil {
		return nil, err
	}
	for key := range below {
		if above[key] == nil {
			above[key] = values{}
		}
	}
	wanted := map[string]bool{}
	for _, uuid := range a.q.UUIDs {
		wanted[uuid] = true
		key := object{uuid, a.q.Server}
		if above[key] == nil && a.q.Server != series.EachServer && !e.sparse {
			above[key] = values{} // none of the counters ever moved
		}
	}
	var all []series.Series
	for key, found := range above {
		if !wanted[key.uuid] {
			continue
		}
		made := series.Series{UUID: key.uuid, Server: key.server}
		for at := a.q.Start; !at.After(a.q.Stop); at = at.Add(a.q.Step) {
			value, known := a.value(e, at.UnixMilli(), found, below[key], collected)
			made.Points = append(made.Points, series.Point{At: at, Value: value, Null: !known})
		}
		all = append(all, made)
	}
	return all, nil
}

// value is the value of an expression at one time; false: it is unknown.
func (a asked) value(e expression, at int64, above, below, collected values) (float64, bool) {
	value, has := above[at]
	if _, there := collected[at]; !has && (e.sparse || !there) {
		return 0, false
	}
	value = max(0, value) * e.factor
	if e.perStep {
		value *= a.q.Step.Seconds()
	}
	if e.over != nil {
		if below[at] <= 0 {
			return 0, false
		}
		value /= below[at]
	}
	return value, !math.IsNaN(value) && !math.IsInf(value, 0)
}
