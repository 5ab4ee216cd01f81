package unusual

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/fleet/fleettest"
	"github.com/weir-lb/weir/controller/series"
)

// loads are what an engine has, by metric.
type loads map[string]float64

func (l loads) EachNewest(kind series.Kind, metrics []string, take func(uuid string, values []float64)) bool {
	values := make([]float64, len(metrics))
	for i, metric := range metrics {
		value, there := l[metric]
		if values[i] = value; !there {
			values[i] = math.NaN()
		}
	}
	if kind == series.Engine {
		take("se-1", values)
	}
	return true
}

func TestTellsOfEnginesThatAreUnlikeTheirLastHour(t *testing.T) {
	s := fleettest.New(t)
	values, exists := loads{}, true
	watch := New(s.Fleet, values, s.Events, func() time.Time { return s.Now })
	watch.EngineName = func(string) (string, bool) { return "engine-1", exists }
	pass := func(minutes int, cpu float64) []string {
		return s.Told(func() {
			for range minutes {
				s.Now = s.Now.Add(time.Minute)
				values["se_stats.avg_cpu_usage"] = cpu
				watch.sampleEngines()
				watch.Look(s.Now)
			}
		})
	}
	if told := append(pass(90, 1), pass(10, 8)...); len(told) > 0 {
		t.Errorf("little is noise: %q", told)
	}
	if told := pass(90, 20); len(told) != 2 {
		t.Errorf("it begins, and becomes the new habit: %q", told)
	}
	if told := pass(90, 20); len(told) > 0 {
		t.Errorf("it is the habit: %q", told)
	}
	told := pass(6, 70)
	if len(told) != 1 || !strings.HasPrefix(told[0], "ANOMALY SERVICEENGINE engine-1 CPU usage is 70") {
		t.Fatalf("told %q", told)
	}
	if all := watch.Unusual("se-1"); len(all) != 1 || all[0].High || all[0].Metric != "se_stats.avg_cpu_usage" {
		t.Errorf("unusual is %+v", all)
	}
	if low, high, known := watch.Band("se-1", "", "se_stats.avg_cpu_usage", s.Now); !known || low > 20 ||
		high < 20 || high > 60 {
		t.Errorf("the band is %v to %v, %v", low, high, known)
	}
	exists = false
	told = pass(1, 70)
	if len(told) != 1 || !strings.Contains(told[0], "ANOMALY_ENDED SERVICEENGINE") || len(watch.engines) > 0 {
		t.Errorf("it is deleted: %q", told)
	}
}

func TestHabitsOfAnEngineThatIsAwayAreForgotten(t *testing.T) {
	s := fleettest.New(t)
	values := loads{"se_stats.avg_cpu_usage": 50}
	watch := New(s.Fleet, values, s.Events, func() time.Time { return s.Now })
	watch.EngineName = func(string) (string, bool) { return "engine-1", true }
	watch.sampleEngines()
	watch.Look(s.Now)
	if len(watch.engines) != 1 {
		t.Fatalf("there are %d engines", len(watch.engines))
	}
	s.Now = s.Now.Add(settles + time.Minute)
	watch.Look(s.Now)
	if len(watch.engines) != 0 {
		t.Error("it is still known")
	}
}
