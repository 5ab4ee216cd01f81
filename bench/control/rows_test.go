package control

import (
	"testing"
	"time"
)

func spans(milliseconds ...int) (all []time.Duration) {
	for _, span := range milliseconds {
		all = append(all, time.Duration(span)*time.Millisecond)
	}
	return all
}

func TestAQuantileIsOneOfTheSpans(t *testing.T) {
	var hundred []int
	for i := range 100 {
		hundred = append(hundred, 100-i)
	}
	for _, c := range []struct {
		spans []time.Duration
		share float64
		want  time.Duration
	}{
		{spans(hundred...), 0.99, 99 * time.Millisecond},
		{spans(hundred...), 0.5, 50 * time.Millisecond},
		{spans(7), 0.99, 7 * time.Millisecond},
		{spans(3, 1, 2), 0.5, 2 * time.Millisecond},
		{nil, 0.99, 0},
	} {
		if got := quantile(c.spans, c.share); got != c.want {
			t.Errorf("%v of %d spans: got %v, want %v", c.share, len(c.spans), got, c.want)
		}
	}
}

func TestARowIsOkOnlyWithinItsBarWithNothingFailed(t *testing.T) {
	most, times := row{name: "most", bar: 3, value: last}, row{name: "times", bar: 1.5, value: growth}
	for _, c := range []struct {
		row   row
		curve []Point
		want  bool
	}{
		{most, []Point{{Services: 1, Value: 9}, {Services: 5000, Value: 3}}, true},
		{most, []Point{{Services: 1, Value: 1}, {Services: 5000, Value: 3.001}}, false},
		{most, []Point{{Services: 1, Value: 1, Failed: 1}, {Services: 5000, Value: 1}}, false},
		{most, []Point{{Services: 5000}}, false}, // nothing was measured
		{times, []Point{{Services: 1, Value: 2}, {Services: 5000, Value: 3}}, true},
		{times, []Point{{Services: 1, Value: 2}, {Services: 5000, Value: 3.1}}, false},
		{times, []Point{{Services: 1, Value: 0}, {Services: 5000, Value: 1}}, false},
	} {
		if got := c.row.judge(Finding{c.curve}).OK; got != c.want {
			t.Errorf("%s with %+v: %v", c.row.name, c.curve, got)
		}
	}
}

func TestARowIsJudgedOnlyAtTheNumberOfServicesThatItsBarIsFor(t *testing.T) {
	for services, want := range map[int]string{
		1:            "NOT JUDGED  1 ms at 1 services, 0 failed (bar 100, 0; at 5000)",
		4999:         "NOT JUDGED  1 ms at 4999 services, 0 failed (bar 100, 0; at 5000)",
		fullServices: "ok  1 ms at 5000 services, 0 failed (bar 100, 0; at 5000)",
		servicesMax:  "ok  1 ms at 8000 services, 0 failed (bar 100, 0; at 5000)",
	} {
		result := rows[0].judge(Finding{[]Point{{Services: services, Value: 1, Count: 1}}})
		if result.OK != (services >= 5000) || result.Line() != want {
			t.Errorf("ok: %v, %s; want %s", result.OK, result.Line(), want)
		}
	}
}

func TestACurveEndsAtTheNumberThatWasAskedFor(t *testing.T) {
	for last, want := range map[int][]int{1: {1}, 100: {1, 100}, 200: {1, 100, 200}, 5000: {1, 100, 1000, 5000}} {
		got := sizesUpTo(last)
		if len(got) != len(want) || got[len(got)-1] != last {
			t.Errorf("up to %d: got %v, want %v", last, got, want)
		}
	}
}

func TestServicesAndServersHaveAddressesOfTheirOwn(t *testing.T) {
	s := &stage{servers: []string{"127.0.0.1:1"}}
	seen := map[string]bool{}
	for index := range servicesMax {
		for _, address := range append(s.serversOf(index), addressOf(index)) {
			if seen[address] {
				t.Fatalf("%s is taken twice, by service %d last", address, index)
			}
			seen[address] = true
		}
	}
}

func TestSpreadReachesAllServicesBeforeItComesBackToOne(t *testing.T) {
	for _, size := range []int{1, 100, quickServices, 1000, fullServices} {
		seen := map[int]bool{}
		for number := range size {
			seen[spread(number, size)] = true
		}
		if len(seen) != size {
			t.Errorf("%d of %d services are reached", len(seen), size)
		}
	}
}
