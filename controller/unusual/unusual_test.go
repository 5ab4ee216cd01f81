package unusual

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/series"
)

// now has the values of vs-1 by metric.
type now map[string]float64

func (n now) EachNewest(_ series.Kind, metrics []string, take func(uuid string, values []float64)) bool {
	values := make([]float64, len(metrics))
	for i, metric := range metrics {
		value, there := n[metric]
		if values[i] = value; !there {
			values[i] = math.NaN()
		}
	}
	take("vs-1", values)
	return true
}

type tower struct {
	*fleettest.Stage
	watch  *Watch
	values now
	minute int
}

func newTower(t *testing.T) *tower {
	s := fleettest.New(t)
	w := &tower{Stage: s, values: now{}}
	w.watch = New(s.Fleet, w.values, s.Events, func() time.Time { return s.Now })
	return w
}

// pass lets minutes pass, in which the rate is about as given.
func (w *tower) pass(minutes int, rate float64) (told []string) {
	return w.Told(func() {
		for range minutes {
			w.minute++
			w.Now = w.Now.Add(time.Minute)
			wobble := 1 + 0.02*float64(w.minute%5-2)
			w.values["l7_client.avg_complete_responses"] = rate * wobble
			w.values["l4_client.avg_bandwidth"] = 1e6 * rate * wobble
			w.watch.sample()
			w.watch.Look(w.Now)
		}
	})
}

func TestTellsWhatIsUnusualAndWhenItIsOver(t *testing.T) {
	w := newTower(t)
	if told := w.pass(90, 100); len(told) > 0 {
		t.Fatalf("usual: %q", told)
	}
	told := w.pass(6, 300)
	if len(told) != 2 || !strings.HasPrefix(told[0], "ANOMALY VIRTUALSERVICE web bandwidth is 3") ||
		!strings.Contains(told[1], "σ above the last hour's habit of 100") {
		t.Fatalf("told %q", told)
	}
	unusual := w.watch.Unusual("vs-1")
	if len(unusual) != 2 || !unusual[0].High || unusual[1].Metric != "l7_client.avg_complete_responses" {
		t.Errorf("unusual is %+v", unusual)
	}
	if all := w.watch.Anomalies("vs-1"); len(all) != 2 || w.Now.Sub(all[0].Since) > 6*time.Minute {
		t.Errorf("anomalies are %+v", all)
	}
	if told := w.pass(5, 100); len(told) > 0 || len(w.watch.Unusual("vs-1")) != 2 {
		t.Errorf("it lingers: %q", told)
	}
	told = w.pass(6, 100)
	if len(told) != 2 || !strings.Contains(told[0], "ANOMALY_ENDED VIRTUALSERVICE web") {
		t.Errorf("told %q", told)
	}
	low, high, known := w.watch.Band("vs-1", "", "l7_client.avg_complete_responses", w.Now)
	if !known || low > 100 || high < 100 || high > 150 {
		t.Errorf("the band is %v to %v, %v", low, high, known)
	}
	if _, _, known := w.watch.Band("vs-1", "", "l7_client.avg_complete_responses", w.Now.Add(-24*time.Hour)); known {
		t.Error("the band of yesterday is known")
	}
}

// slow lets minutes pass with traffic as always, whose requests take a time.
func (w *tower) slow(minutes int, took float64) []string {
	w.values["l7_client.avg_client_txn_latency"] = took
	return w.pass(minutes, 100)
}

func TestAnomalyEndsWhenTrafficStopsAndWhenTheServiceIsDeleted(t *testing.T) {
	w := newTower(t)
	w.slow(90, 20)
	if told := w.slow(4, 200); len(told) != 1 || !strings.Contains(told[0], "ANOMALY VIRTUALSERVICE web mean time") {
		t.Fatalf("told %q", told)
	}
	clear(w.values)
	told := w.Told(func() {
		for range 7 {
			w.Now = w.Now.Add(time.Minute)
			w.watch.sample()
			w.watch.Look(w.Now)
		}
	})
	if len(told) != 1 || !strings.Contains(told[0],
		"ANOMALY_ENDED VIRTUALSERVICE web mean time of requests cannot be") ||
		len(w.watch.Unusual("vs-1")) > 0 {
		t.Errorf("told %q, unusual is %v", told, w.watch.Unusual("vs-1"))
	}

	w = newTower(t)
	w.slow(90, 20)
	w.slow(4, 200)
	told = w.Told(func() {
		// as if no object had the uuid any more
		w.watch.services = map[string]*service{"vs-gone": w.watch.services["vs-1"]}
		w.watch.Look(w.Now)
	})
	if len(told) != 1 || !strings.Contains(told[0], "ANOMALY_ENDED VIRTUALSERVICE web it is deleted") ||
		len(w.watch.services) > 0 {
		t.Errorf("told %q, left are %v", told, w.watch.services)
	}
}

func TestSaysNothingOfLittleTrafficAndAfterChanges(t *testing.T) {
	w := newTower(t)
	w.pass(90, 2)
	if told := w.pass(10, 8); len(told) > 0 {
		t.Errorf("little traffic: %q", told)
	}
	w = newTower(t)
	w.pass(90, 100)
	w.VS.Description = "another one"
	w.Want(12, "vs-1", "pool-1")
	if told := w.pass(9, 300); len(told) > 0 {
		t.Errorf("after a change: %q", told)
	}
	w = newTower(t)
	w.VS.Analytics = schema.Defaults[kinds.AnalyticsProfile]()
	w.VS.Analytics.EnableAdvancedAnalytics = false
	w.Want(12, "vs-1", "pool-1")
	w.pass(90, 100)
	if told := w.pass(10, 300); len(told) > 0 {
		t.Errorf("switched off: %q", told)
	}
}

func TestHabitsComeBackFromTheHistory(t *testing.T) {
	w := newTower(t)
	past := func(_ context.Context, questions []series.Question) ([]series.Answer, error) {
		q := questions[0]
		if fmt.Sprint(q.UUIDs) != "[vs-1]" || q.Step != 5*time.Minute || q.Stop.Sub(q.Start) != recalled {
			t.Errorf("asked %+v", q)
		}
		one := series.Series{UUID: "vs-1"}
		for at := q.Start; !at.After(q.Stop); at = at.Add(q.Step) {
			one.Points = append(one.Points, series.Point{At: at, Value: 100})
		}
		return []series.Answer{{Series: []series.Series{one}}}, nil
	}
	if err := w.watch.recall(t.Context(), past, series.VirtualService, ofServices, []string{"vs-1"}); err != nil {
		t.Fatal(err)
	}
	if told := w.pass(4, 300); len(told) == 0 || !strings.Contains(strings.Join(told, " "), "this time of day") &&
		!strings.Contains(strings.Join(told, " "), "hour") {
		t.Errorf("told %q", told)
	}
}

func TestForgetsWhatIsDeletedOrIdle(t *testing.T) {
	w := newTower(t)
	w.pass(3, 100)
	w.Now = w.Now.Add(idleMost)
	clear(w.values)
	w.Now = w.Now.Add(time.Minute)
	w.watch.Look(w.Now)
	if len(w.watch.services) > 0 {
		t.Errorf("it still has %v", w.watch.services)
	}
}
