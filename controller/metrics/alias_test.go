package metrics

import (
	"regexp"
	"slices"
	"testing"

	"github.com/weir-lb/weir/controller/series"
)

func TestEachExpressionIsPromQLOverSeriesThatExist(t *testing.T) {
	name := regexp.MustCompile(`weir_[a-z0-9_]+`)
	for _, a := range aliases {
		if a.text == "" || a.unit == "" {
			t.Errorf("%s has no text or unit", a.id)
		}
		for _, term := range slices.Concat(a.is.terms, a.is.less, a.is.over) {
			text := term.fill(blanks{matchers: `uuid="x"`, key: "uuid, server", stepSeconds: 15, wideSeconds: 240})
			if _, err := language.ParseExpr(text); err != nil {
				t.Errorf("%s: %s: %v", a.id, text, err)
			}
			for _, used := range name.FindAllString(text, -1) {
				if !slices.ContainsFunc(families, func(f family) bool { return f.name == used }) {
					t.Errorf("%s uses %s, which is no series", a.id, used)
				}
			}
		}
	}
}

func TestNoMetricIsBothCountedAndMissing(t *testing.T) {
	for _, metric := range Catalog() {
		for _, kind := range series.Kinds {
			if metric.Missing && find(kind, metric.ID) != nil {
				t.Errorf("%s of %s is counted, and in the list of those that are not", metric.ID, kind)
			}
		}
	}
}
