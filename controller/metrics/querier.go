package metrics

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/weir-lb/weir/controller/metrics/retention"
	"github.com/weir-lb/weir/controller/series"
)

// view is the tiers as a question sees them.
type view struct {
	tiers *tiers
	sight series.Sight
	now   time.Time
}

// Querier returns a querier for a time, in ms since 1970.
func (v view) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{view: v, mint: mint, maxt: maxt}, nil
}

// querier chooses tiers for each selector of a query.
type querier struct {
	view
	mint, maxt int64
	opened     []storage.Querier
}

// A query over at most this time reads samples of the tier.
var tierSpans = [...]time.Duration{26 * time.Hour, 32 * day, 1 << 62}

// span is a part of the time of a query, and the tier that has it.
type span struct {
	tier     int
	from, to int64
}

// spans divides the time of a query among tiers. Long queries read coarse tiers, if the windows of the query have at
// least two samples there. What a coarse tier does not have yet comes from the finest, and what a fine tier does not
// have any more comes from the next.
func (v view) spans(mint, maxt int64, window time.Duration) []span {
	mint = max(mint, v.earliest())
	base := 0
	for base < len(tierSpans)-1 && time.Duration(maxt-mint)*time.Millisecond > tierSpans[base] {
		base++
	}
	for base > 0 && window < 2*retention.Tiers[base].Step {
		base--
	}
	var spans []span
	if base > 0 {
		newest := v.now.Add(-retention.Tiers[base].Step).UnixMilli()
		if maxt > newest {
			spans = append(spans, span{0, max(mint, newest+1), maxt})
			maxt = min(maxt, newest)
		}
	}
	for tier := base; tier < len(retention.Tiers) && mint <= maxt; tier++ {
		oldest := v.oldest(tier)
		if tier == len(retention.Tiers)-1 {
			oldest = mint
		}
		if oldest <= maxt {
			spans = append(spans, span{tier, max(mint, oldest), maxt})
			maxt = min(maxt, oldest-1)
		}
	}
	return spans
}

// earliest is the time of the oldest samples of all tiers.
func (v view) earliest() int64 {
	earliest := v.oldest(0)
	for tier := range retention.Tiers {
		earliest = min(earliest, v.oldest(tier))
	}
	return earliest
}

// oldest is the time of the oldest samples of a tier, in ms since 1970.
func (v view) oldest(tier int) int64 {
	oldest, err := v.tiers.of[tier].StartTime()
	if err != nil {
		return v.now.Add(-retention.Tiers[tier].Keep).UnixMilli()
	}
	return oldest
}

// Select returns the series that fit the matchers, of those that the question sees.
func (q *querier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	mint, maxt, window := q.mint, q.maxt, time.Duration(0)
	if hints != nil {
		mint, maxt = hints.Start, hints.End
		window = time.Duration(max(hints.Range, hints.Step)) * time.Millisecond
	}
	merged, err := q.open(q.spans(mint, maxt, window))
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	return merged.Select(ctx, sorted, hints, q.own(matchers)...)
}

// open opens a querier for each span, and merges them.
func (q *querier) open(spans []span) (storage.Querier, error) {
	queriers := []storage.Querier{}
	for _, span := range spans {
		opened, err := q.tiers.of[span.tier].Querier(span.from, span.to)
		if err != nil {
			return nil, errors.Join(err, closeAll(queriers))
		}
		queriers = append(queriers, opened)
	}
	merged := storage.NewMergeQuerier(queriers, nil, storage.ChainedSeriesMerge)
	q.opened = append(q.opened, merged)
	return merged, nil
}

// own adds to matchers that the series are those which the question sees.
func (v view) own(matchers []*labels.Matcher) []*labels.Matcher {
	matchers = slices.Clone(matchers)
	if v.sight.Tenant != "" {
		matchers = append(matchers, labels.MustNewMatcher(labels.MatchEqual, tenantLabel, v.sight.Tenant))
	}
	if v.sight.Kinds != nil {
		matchers = append(matchers, labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName,
			namesOf(v.sight.Kinds)))
	}
	return matchers
}

// prefixes are the beginnings of the names of all series, with the kind of object that the series are about.
var prefixes = []struct {
	text string
	kind series.Kind
}{
	{"weir_service_", series.VirtualService},
	{"weir_server_", series.Pool},
	{"weir_pool_", series.Pool},
	{"weir_engine_", series.Engine},
	{"weir_controller_", series.Controller},
	{"weir_metrics_", series.Controller},
}

// namesOf is a regular expression for the names of the series of some kinds.
func namesOf(kinds []series.Kind) string {
	var names []string
	for _, prefix := range prefixes {
		if slices.Contains(kinds, prefix.kind) {
			names = append(names, prefix.text+".*")
		}
	}
	return strings.Join(names, "|")
}

// sees tells whether a question sees the series with a name.
func sees(sight series.Sight, name string) bool {
	if sight.Kinds == nil {
		return true
	}
	for _, prefix := range prefixes {
		if strings.HasPrefix(name, prefix.text) {
			return slices.Contains(sight.Kinds, prefix.kind)
		}
	}
	return false
}

// LabelValues returns the values of a label, of the series that the question sees.
func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	merged, err := q.open(q.spans(q.mint, q.maxt, time.Duration(q.maxt-q.mint)*time.Millisecond))
	if err != nil {
		return nil, nil, err
	}
	return merged.LabelValues(ctx, name, hints, q.own(matchers)...)
}

// LabelNames returns the names of labels, of the series that the question sees.
func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	merged, err := q.open(q.spans(q.mint, q.maxt, time.Duration(q.maxt-q.mint)*time.Millisecond))
	if err != nil {
		return nil, nil, err
	}
	return merged.LabelNames(ctx, hints, q.own(matchers)...)
}

// Close closes what the selectors opened.
func (q *querier) Close() error { return closeAll(q.opened) }

func closeAll(queriers []storage.Querier) (err error) {
	for _, one := range queriers {
		err = errors.Join(err, one.Close())
	}
	return err
}
