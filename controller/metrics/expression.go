package metrics

import (
	"fmt"
	"strings"
)

// expression is how a value follows from series: factor × (Σ terms − Σ less) ÷ Σ over, for each object. A term without
// series is 0: counters that never moved have none.
type expression struct {
	factor            float64
	terms, less, over []term
	perStep           bool // what came in a step; otherwise in a second
	// sparse: without series there is no value.
	sparse bool
}

// term is PromQL with three blanks: series{$} are those of the objects that are asked for, [step] is the length of a
// step, and (key) says which labels tell the objects apart.
type term string

// rate is how much counters grew in a second, all together.
func rate(counters ...string) expression { return expression{factor: 1, terms: rates(counters)} }

// grown is how much a counter grew in a step.
func grown(counters ...string) expression {
	return expression{factor: 1, terms: rates(counters), perStep: true}
}

// gauge is the mean of gauges over a step.
func gauge(names ...string) expression {
	return expression{factor: 1, terms: terms("avg_over_time(%s[step])", names)}
}

// peak is the largest value of gauges in a step.
func peak(names ...string) expression {
	return expression{factor: 1, terms: terms("max_over_time(%s[step])", names)}
}

// minusChange subtracts by how much gauges changed in a second.
func (e expression) minusChange(gauges ...string) expression {
	e.less = append(e.less, terms("delta(%s[step] anchored)", gauges)...)
	for i := range e.less {
		e.less[i] += " / seconds"
	}
	return e
}

// minus subtracts how much counters grew in a second.
func (e expression) minus(counters ...string) expression {
	e.less = append(e.less, rates(counters)...)
	return e
}

func (e expression) times(factor float64) expression {
	e.factor *= factor
	return e
}

// per divides by how much counters grew in a second. The value is null where they did not grow.
func (e expression) per(counters ...string) expression {
	e.over = rates(counters)
	return e
}

// perGauge divides by gauges.
func (e expression) perGauge(names ...string) expression {
	e.over = terms("avg_over_time(%s[step])", names)
	return e
}

// known is null where there is no sample, and not 0.
func (e expression) known() expression {
	e.sparse = true
	return e
}

// meanMs is the mean of a part of the time of requests, in milliseconds.
func meanMs(measure string) expression {
	return rate("weir_service_" + measure + "_seconds_sum").per("weir_service_timed_requests_total").times(1000)
}

// quantileMs is a quantile of the times in histograms, in milliseconds.
func quantileMs(q, histogram string) expression {
	of := term("histogram_quantile(" + q + ", sum by (key) (rate(" + histogram + "{$}[wide])))")
	return expression{factor: 1000, terms: []term{of}, sparse: true}
}

// penalty is a part of a health score. It has series only since it first cost something, and is 0 where the score has
// series and the part has none.
func penalty(score, part string) expression {
	mean := func(name string) string { return "sum by (key) (avg_over_time(" + name + "{$}[step]))" }
	of := term(mean(score+"_"+part+"_penalty") + " or 0 * " + mean(score))
	return expression{factor: 1, terms: []term{of}, sparse: true}
}

func rates(counters []string) []term { return terms("rate(%s[step] anchored)", counters) }

// terms puts series into a function. A name may have matchers of its own: responses_total{class="5xx"}.
func terms(function string, names []string) []term {
	made := make([]term, len(names))
	for i, name := range names {
		bare, own, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
		if own != "" {
			own += ","
		}
		made[i] = term("sum by (key) (" + fmt.Sprintf(function, bare+"{"+own+"$}") + ")")
	}
	return made
}

// blanks are what fills the blanks of a term.
type blanks struct {
	matchers, key string
	stepSeconds   int
	wideSeconds   int // at least four collections of histograms
}

func (t term) fill(b blanks) string {
	return strings.NewReplacer(
		"{$}", "{"+b.matchers+"}", ",$}", ","+b.matchers+"}",
		"[step]", fmt.Sprintf("[%ds]", b.stepSeconds), "[wide]", fmt.Sprintf("[%ds]", b.wideSeconds),
		"(key)", "("+b.key+")", " / seconds", fmt.Sprintf(" / %d", b.stepSeconds),
	).Replace(string(t))
}
