package habit

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var monday = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// day is a metric that follows the time of day, with noise, bursts and a lunch break.
func day(random *rand.Rand, noise float64) func(at time.Time) float64 {
	peak := 500 + random.Float64()*5000
	phase := random.Float64() * 2 * math.Pi
	return func(at time.Time) float64 {
		hours := float64(at.Unix()%86400) / 3600
		shape := 1 + 0.6*math.Sin(2*math.Pi*hours/24+phase) + 0.2*math.Sin(4*math.Pi*hours/24)
		if hours > 12 && hours < 13 {
			shape *= 0.85
		}
		return max(0, peak*shape*(1+noise*random.NormFloat64()))
	}
}

// At most one false alarm a day and service is allowed: seven habits over three usual days may have three in the worst
// case, and have fewer.
func TestUsualDaysHaveHardlyAnyFalseAlarm(t *testing.T) {
	const services, days = 40, 4
	alarms, worst := 0, 0
	for seed := range uint64(services) {
		random := rand.New(rand.NewPCG(seed, 7))
		value := day(random, 0.02+0.13*random.Float64())
		h, own, was := New(seed%4 != 0), 0, false
		for minute := range days * 1440 {
			at := monday.Add(time.Duration(minute) * time.Minute)
			v := h.Look(at, value(at), false)
			if v.Unusual && !was {
				own++
			}
			was = v.Unusual
		}
		alarms += own
		worst = max(worst, own)
	}
	t.Logf("%d alarms in %d days of services, at most %d of one in %d days", alarms, services*days, worst, days)
	if worst > days || alarms > services*days/10 {
		t.Errorf("%d false alarms in %d days of services, and %d of one service in %d days", alarms, services*days,
			worst, days)
	}
}

func TestWhatIsUnusualIsFoundWithinMinutesAndNotLearnt(t *testing.T) {
	missed := 0
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 9))
		value := day(random, 0.05)
		h := New(seed%2 == 0)
		at := monday
		for range 3 * 1440 {
			at = at.Add(time.Minute)
			h.Look(at, value(at), false)
		}
		found := -1
		for minute := range 30 {
			at = at.Add(time.Minute)
			if v := h.Look(at, 3*value(at), false); v.Unusual && found < 0 {
				found = minute
			}
		}
		if found < 0 || found > 5 {
			missed++
		}
		for range 5 {
			at = at.Add(time.Minute)
			h.Look(at, value(at), false)
		}
		if v := h.Look(at.Add(time.Minute), value(at), false); v.Unusual {
			t.Errorf("seed %d: half an hour later, the habit is another: %+v", seed, v)
		}
	}
	if missed > 2 {
		t.Errorf("of 40 that tripled, %d were not found within 5 minutes", missed)
	}
}

func TestWhatLastsIsTheNewHabit(t *testing.T) {
	h := New(false)
	at, random := monday, rand.New(rand.NewPCG(1, 1))
	look := func(value float64) Verdict {
		at = at.Add(time.Minute)
		return h.Look(at, value*(1+0.02*random.NormFloat64()), false)
	}
	for range 120 {
		look(100)
	}
	for range 30 {
		look(300)
	}
	if !look(300).Unusual {
		t.Error("half an hour later it is usual")
	}
	for range 120 {
		look(300)
	}
	if v := look(300); v.Unusual || math.Abs(v.Mean-300) > 30 {
		t.Errorf("two hours later: %+v", v)
	}
}

func TestNothingIsSaidTooEarlyOrWhereQuietIsWanted(t *testing.T) {
	h := New(true)
	at := monday
	for minute := range 29 {
		at = at.Add(time.Minute)
		if v := h.Look(at, float64(minute%2)*1000, false); v.Known || v.Unusual {
			t.Fatalf("after %d minutes: %+v", minute, v)
		}
	}
	for range 60 {
		at = at.Add(time.Minute)
		h.Look(at, 100, false)
	}
	for range 10 {
		at = at.Add(time.Minute)
		if v := h.Look(at, 100_000, true); v.Unusual {
			t.Fatalf("quiet: %+v", v)
		}
	}
}

func TestSeasonKnowsTheTimeOfDay(t *testing.T) {
	h := New(true)
	value := func(at time.Time) float64 {
		if hour := at.UTC().Hour(); hour >= 9 && hour < 17 {
			return 1000
		}
		return 100
	}
	at := monday
	for range 3 * 288 {
		h.Recall(at, value(at))
		at = at.Add(5 * time.Minute)
	}
	for range 1440 { // nine in the morning and five in the afternoon are jumps, and usual ones
		at = at.Add(time.Minute)
		if v := h.Look(at, value(at), false); v.Unusual {
			t.Fatalf("%v: %+v", at, v)
		}
	}
	at = at.Truncate(24 * time.Hour).Add(27 * time.Hour) // three at night
	var v Verdict
	for range 5 {
		at = at.Add(time.Minute)
		v = h.Look(at, 1000, false)
	}
	if !v.Unusual {
		t.Errorf("at night, what is usual by day: %+v", v)
	}
}
