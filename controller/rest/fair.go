package rest

import (
	"context"

	"github.com/weir-lb/weir/controller/series"
	"github.com/weir-lb/weir/logs/query"
)

// This file gives each user a fair share of the stores that answer questions, whichever handler asks.

// askerKey is where the context of a request has the uuid of its user.
type askerKey struct{}

// asks notes who asks, for fairMetrics and fairLogs.
func (c *call) asks() {
	c.r = c.r.WithContext(context.WithValue(c.r.Context(), askerKey{}, c.who.UUID))
}

func askerOf(ctx context.Context) string {
	user, _ := ctx.Value(askerKey{}).(string)
	return user
}

// inTurn asks when it is the turn of the user of ctx.
func inTurn[T any](ctx context.Context, turns *turns, ask func() (T, error)) (T, error) {
	leave, err := turns.enter(ctx, askerOf(ctx))
	if err != nil {
		var none T
		return none, err
	}
	defer leave()
	return ask()
}

// fairMetrics is a history whose questions wait for their turn.
type fairMetrics struct {
	Metrics
	turns *turns
}

func (m fairMetrics) Ask(ctx context.Context, questions []series.Question) ([]series.Answer, error) {
	return inTurn(ctx, m.turns, func() ([]series.Answer, error) { return m.Metrics.Ask(ctx, questions) })
}

func (m fairMetrics) Query(ctx context.Context, query series.Query) (series.Found, error) {
	return inTurn(ctx, m.turns, func() (series.Found, error) { return m.Metrics.Query(ctx, query) })
}

func (m fairMetrics) LabelNames(ctx context.Context, of series.Selection) (series.Found, error) {
	return inTurn(ctx, m.turns, func() (series.Found, error) { return m.Metrics.LabelNames(ctx, of) })
}

func (m fairMetrics) LabelValues(ctx context.Context, name string, of series.Selection) (series.Found, error) {
	return inTurn(ctx, m.turns, func() (series.Found, error) { return m.Metrics.LabelValues(ctx, name, of) })
}

func (m fairMetrics) Series(ctx context.Context, of series.Selection) (series.Found, error) {
	return inTurn(ctx, m.turns, func() (series.Found, error) { return m.Metrics.Series(ctx, of) })
}

func (m fairMetrics) Expose(ctx context.Context, sight series.Sight, accepted string) (content string, text []byte,
	err error) {
	leave, err := m.turns.enter(ctx, askerOf(ctx))
	if err != nil {
		return "", nil, err
	}
	defer leave()
	return m.Metrics.Expose(ctx, sight, accepted)
}

// fairLogs is a record store whose questions wait for their turn.
type fairLogs struct {
	Logs
	turns *turns
}

func (l fairLogs) Ask(ctx context.Context, asked query.Query) (query.Answer, error) {
	return inTurn(ctx, l.turns, func() (query.Answer, error) { return l.Logs.Ask(ctx, asked) })
}
