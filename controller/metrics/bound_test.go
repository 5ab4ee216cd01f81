package metrics

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/series"
)

func TestTextsThatAreCostlyToParseAreRefused(t *testing.T) {
	s := newStage(t)
	times := strings.Repeat
	for name, text := range map[string]string{
		"long":           `up{a="` + times("x", textBytesMax) + `"}`,
		"nested calls":   times("sum(", 3000) + "up" + times(")", 3000),
		"brackets":       times("(", 65) + "up" + times(")", 65),
		"never closed":   times("(", 16000) + "up",
		"signs":          times("-", 201) + "up",
		"signed":         times("-(", 70) + "up" + times(")", 70),
		"chain":          "1" + times("+1", 201),
		"words":          "up" + times(" or up", 201),
		"capitals":       "up" + times(" UNLESS up", 201),
		"comparisons":    "up" + times(" >= up", 201),
		"matchers":       "up{" + times(`a!~"b",`, 201) + "}",
		"subqueries":     "up" + times("[1m:]", 201),
		"after literals": `"\"" ` + "`\\` '\\''" + times("-", 201),
		"after comments": "# '\r" + times("-", 201) + "up",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.history.Query(t.Context(), series.Query{Text: text, Start: s.Now, Stop: s.Now})
			var refusal *series.Refusal
			if !errors.As(err, &refusal) || refusal.Parameter != "query" ||
				!strings.Contains(refusal.Problem, "make it") {
				t.Errorf("as a query: %v", err)
			}
			_, err = s.history.LabelNames(t.Context(), series.Selection{Matches: []string{text}})
			if !errors.As(err, &refusal) || refusal.Parameter != "match[]" ||
				!strings.Contains(refusal.Problem, "make it") {
				t.Errorf("as a selector: %v", err)
			}
		})
	}
	half := `up{a="` + times("x", textBytesMax/2) + `"}`
	for _, matches := range [][]string{{half, half}, make([]string, selectorsMax+1)} {
		_, err := s.history.Series(t.Context(), series.Selection{Matches: matches})
		if err == nil || strings.Contains(err.Error(), "parse error") {
			t.Errorf("%d selectors: %v", len(matches), err)
		}
	}
}

func TestTextsWithinTheLimitsAreParsed(t *testing.T) {
	s := newStage(t)
	for _, text := range []string{
		strings.Repeat("(", 64) + "1" + strings.Repeat(")", 64),
		`count(label_replace(vector(1), "a", "` + strings.Repeat("-(", 300) + `", "", "")) # ` +
			strings.Repeat("(", 300),
		"1" + strings.Repeat(" + 1", 200),
	} {
		_, err := s.history.Query(t.Context(), series.Query{Text: text, Start: s.Now, Stop: s.Now})
		if err != nil {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

func TestAllQuestionsOfARequestHaveOneDeadline(t *testing.T) {
	s := newStage(t)
	s.pass(2, nil)
	s.history.patience = time.Nanosecond
	_, err := s.history.Ask(t.Context(), []series.Question{{Metric: "l7_client.avg_total_requests",
		Kind: series.VirtualService, Step: time.Minute, Start: s.Now, Stop: s.Now}})
	if !errors.Is(err, series.ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

func TestQuestionsOfTooManyStepsAreRefusedAlsoOfMetricsThatAreNotCounted(t *testing.T) {
	s := newStage(t)
	for _, id := range []string{"l7_client.avg_total_requests", "l7_client.apdexr"} {
		_, err := s.history.Ask(t.Context(), []series.Question{{Metric: id, Kind: series.VirtualService,
			Step: 5 * time.Second, Start: s.Now.Add(-365 * day), Stop: s.Now}})
		var refusal *series.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestAnswersWithTooManySamplesAreRefused(t *testing.T) {
	s := newStage(t)
	some := []string{}
	for n := range 50 {
		some = append(some, `label_replace(vector(1),"a","`+number(float64(n))+`","","")`)
	}
	query := series.Query{Text: strings.Join(some, " or "), Start: s.Now.Add(-11_000 * time.Second), Stop: s.Now,
		Step: time.Second}
	_, err := s.history.Query(t.Context(), query)
	if err == nil || !strings.Contains(err.Error(), "the answer has 550050 samples, and the limit is 500000") {
		t.Errorf("got %v", err)
	}
	query.Step = 2 * time.Second
	if _, err := s.history.Query(t.Context(), query); err != nil {
		t.Error(err)
	}
}

func TestStepsBelowAMillisecondAreRefused(t *testing.T) {
	s := newStage(t)
	_, err := s.history.Query(t.Context(), series.Query{Text: "1", Start: s.Now, Stop: s.Now, Step: time.Microsecond})
	var refusal *series.Refusal
	if !errors.As(err, &refusal) || refusal.Parameter != "step" {
		t.Errorf("got %v", err)
	}
}

func TestScrapesNeedAPlace(t *testing.T) {
	s := newStage(t)
	for range queriesAtOnce + queriesQueued {
		s.history.places.all <- struct{}{}
	}
	if _, _, err := s.history.Expose(t.Context(), series.Sight{}, ""); !errors.Is(err, series.ErrBusy) {
		t.Errorf("got %v", err)
	}
}

func TestAClockThatWentBackIsTold(t *testing.T) {
	s := newStage(t)
	s.report("se-one", 7, requested(0))
	s.pass(8, func(n int) { s.report("se-one", 7, requested(uint64(150*(n+1)))) })
	newest := s.Now
	s.Now = s.Now.Add(-time.Hour)
	told := s.Told(func() { s.pass(2, nil) })
	if len(told) != 1 || !strings.Contains(told[0], "METRICS_NOT_KEPT") ||
		!strings.Contains(told[0], "the clock went back") ||
		!strings.Contains(told[0], "newest samples are of "+newest.UTC().Format(time.RFC3339)) {
		t.Errorf("told %q", told)
	}
	s.Now = newest
	if told := s.Told(func() { s.pass(2, nil) }); len(told) != 1 || !strings.Contains(told[0], "METRICS_KEPT") {
		t.Errorf("told %q", told)
	}
}

func TestGroupsOfDeletedObjectsDoNotPileUpWhileNothingIsWritten(t *testing.T) {
	s := newStage(t)
	c := s.history.collector
	s.report("se-one", 7, requested(0))
	s.pass(2, func(n int) { s.report("se-one", 7, requested(uint64(150*(n+1)))) })
	kept := len(c.groups)
	for range 100 { // the disk is full: tick does not write
		c.groups["deleted-"+number(float64(len(c.groups)))] = newGroup("service")
		c.read(s.Now)
	}
	if len(c.groups) != kept {
		t.Errorf("there are %d groups, want %d", len(c.groups), kept)
	}
	for _, g := range c.groups {
		g.ended = true // nothing was known of it for a moment
	}
	c.read(s.Now)
	if c.groups["vs-1"] == nil || c.groups["vs-1"].ended {
		t.Error("the series of an object that is there end")
	}
}
