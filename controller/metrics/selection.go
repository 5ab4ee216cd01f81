package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/weir-lb/weir/controller/series"
)

// foundMax bounds the series, names or values in an answer.
const foundMax = 10_000

// LabelNames lists the names of the labels of series. Errors: as those of Query.
func (h *History) LabelNames(ctx context.Context, s series.Selection) (series.Found, error) {
	return h.strings(ctx, s, func(ctx context.Context, q storage.Querier, hints *storage.LabelHints,
		m []*labels.Matcher) ([]string, error) {
		names, _, err := q.LabelNames(ctx, hints, m...)
		return names, err
	})
}

// LabelValues lists the values of a label of series. Errors: as those of Query.
func (h *History) LabelValues(ctx context.Context, name string, s series.Selection) (series.Found, error) {
	return h.strings(ctx, s, func(ctx context.Context, q storage.Querier, hints *storage.LabelHints,
		m []*labels.Matcher) ([]string, error) {
		values, _, err := q.LabelValues(ctx, name, hints, m...)
		return values, err
	})
}

// strings collects what list finds for each selector.
func (h *History) strings(ctx context.Context, s series.Selection,
	list func(context.Context, storage.Querier, *storage.LabelHints, []*labels.Matcher) ([]string, error)) (
	series.Found, error) {
	all := map[string]bool{}
	err := h.eachSelector(ctx, s, func(ctx context.Context, q storage.Querier, matchers []*labels.Matcher) error {
		found, err := list(ctx, q, &storage.LabelHints{}, matchers)
		for _, one := range found {
			all[one] = true
		}
		return err
	})
	if err != nil {
		return series.Found{}, err
	}
	return bounded(slices.Sorted(maps.Keys(all)), s.Limit)
}

// Series lists the labels of series. Errors: as those of Query.
func (h *History) Series(ctx context.Context, s series.Selection) (series.Found, error) {
	if len(s.Matches) == 0 {
		return series.Found{}, &series.Refusal{Parameter: "match[]", Problem: "give at least one selector"}
	}
	all := []map[string]string{}
	seen := map[uint64]bool{}
	err := h.eachSelector(ctx, s, func(ctx context.Context, q storage.Querier, matchers []*labels.Matcher) error {
		hints := &storage.SelectHints{Start: s.Start.UnixMilli(), End: s.Stop.UnixMilli(), Func: "series"}
		found := q.Select(ctx, true, hints, matchers...)
		for found.Next() && len(all) <= foundMax {
			if is := found.At().Labels(); !seen[is.Hash()] {
				seen[is.Hash()] = true
				all = append(all, is.Map())
			}
		}
		return found.Err()
	})
	if err != nil {
		return series.Found{}, err
	}
	return bounded(all, s.Limit)
}

// eachSelector calls look for each selector; once, if there is none.
func (h *History) eachSelector(ctx context.Context, s series.Selection,
	look func(context.Context, storage.Querier, []*labels.Matcher) error) error {
	if err := boundText("match[]", s.Matches...); err != nil {
		return err
	}
	selectors := [][]*labels.Matcher{}
	for _, text := range s.Matches {
		matchers, err := language.ParseMetricSelector(text)
		if err != nil {
			return &series.Refusal{Parameter: "match[]", Problem: err.Error()}
		}
		selectors = append(selectors, matchers)
	}
	if len(selectors) == 0 {
		selectors = append(selectors, nil)
	}
	return h.ask(ctx, s.Sight, func(ctx context.Context, seen view) error {
		q, err := seen.Querier(s.Start.UnixMilli(), s.Stop.UnixMilli())
		if err != nil {
			return err
		}
		defer q.Close()
		for _, matchers := range selectors {
			if err := look(ctx, q, matchers); err != nil {
				return err
			}
		}
		return nil
	})
}

// bounded encodes a list, up to a limit.
func bounded[T any](list []T, limit int) (found series.Found, err error) {
	if limit <= 0 || limit > foundMax {
		limit = foundMax
	}
	if len(list) > limit {
		list = list[:limit]
		found.Warnings = []string{fmt.Sprintf("there are more than %d: the answer is cut", limit)}
	}
	if list == nil {
		list = []T{}
	}
	found.Data, err = json.Marshal(list)
	return found, err
}
