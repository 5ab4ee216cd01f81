package shares

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
)

const (
	service = "virtualservice-1"
	tag     = 7
)

// scene is a virtual service with a limit.
type scene struct {
	engines int
	perS    float64 // the limit
	atOnceS float64 // how many may come at once, in seconds of the limit
}

var eight = scene{8, 200, 1}

// quiet is the interval of an engine's part.
func (s scene) quiet() float64 { return float64(s.engines) / s.perS }

// engine is what dataplane/rate does with one key, in seconds and parts of the whole.
type engine struct {
	scene
	arrival  float64
	interval float64
	isHot    bool
	asked    uint32
	heard    float64
	fallen   bool
	told     bool
	number   uint64
	base     float64 // arrival when it was reported last
	inbox    []*dataplanev1.KeyShares
	passed   int
}

func (e *engine) ask(now float64) bool {
	interval := e.interval
	if !e.isHot {
		interval = e.quiet()
	} else {
		e.asked++
	}
	next := max(e.arrival, now) + interval
	if next-now > e.atOnceS+max(0, interval-e.quiet()) {
		return false
	}
	e.arrival = next
	e.passed++
	if !e.isHot && next-now+interval > e.atOnceS {
		e.isHot, e.interval, e.heard, e.told, e.fallen = true, e.quiet(), now, false, false
	}
	return true
}

func (e *engine) report(now float64) *dataplanev1.KeyDemands {
	if !e.isHot {
		return nil
	}
	if now-e.heard > 1 && !e.fallen {
		last := 1 / e.perS
		if e.told {
			last = e.interval
		}
		e.fallen, e.interval = true, min(2*last, e.quiet())
	}
	e.base = max(e.arrival, now)
	used := max(0, e.arrival-now) / e.atOnceS
	asked := e.asked
	e.asked = 0
	return &dataplanev1.KeyDemands{Heard: e.number, Limits: []*dataplanev1.LimitDemand{{VirtualServiceUuid: service,
		Limit: 1, Engines: uint32(e.engines), IntervalNs: uint64(1e9 / e.perS),
		Keys: []*dataplanev1.KeyDemand{{Tag: tag, Asked: asked, Used: uint32(used * Whole)}}}}}
}

func (e *engine) hear(now float64, shares *dataplanev1.KeyShares) {
	e.number = shares.GetNumber()
	for _, key := range shares.GetLimits()[0].GetKeys() {
		if !e.isHot {
			e.isHot, e.interval, e.base = true, e.quiet(), max(e.arrival, now)
		}
		interval := 1 / e.perS * Whole / float64(key.GetShare())
		since := max(0, e.arrival-e.base) * interval / e.interval
		shift := e.atOnceS * float64(key.GetShift()) / Whole
		e.arrival = max(now, max(now, min(e.arrival, e.base)+since)+shift)
		e.base = max(now, max(now, e.base)+shift)
		e.interval, e.heard, e.told, e.fallen = interval, now, true, false
	}
}

// play asks engines for a key, by so many requests a second of each at each moment, and returns how many passed in each
// tenth of a second. Every message is late by a random time; isLost says which answers never come.
func (s scene) play(seconds float64, demand func(now float64, engine int) float64, isLost func(now float64) bool) (
	passed []int,
) {
	begun := time.Unix(1_000_000, 0)
	at, now := begun, 0.
	var names []string
	var fleet []*engine
	for i := range s.engines {
		names = append(names, fmt.Sprint(i))
		fleet = append(fleet, &engine{scene: s, arrival: -10})
	}
	b := New(func(string) []string { return names }, reachesAll, func() time.Time { return at })
	b.Connect(func(to string, shares *dataplanev1.KeyShares) bool {
		var number int
		fmt.Sscan(to, &number)
		if !isLost(now) {
			fleet[number].inbox = append(fleet[number].inbox, shares)
		}
		return true
	})
	random := rand.New(rand.NewPCG(1, 2))
	const step = 0.001
	due := make([]float64, s.engines)
	for tick := range int(seconds / step) {
		now = float64(tick) * step
		at = begun.Add(time.Duration(now * 1e9))
		if tick%100 == 0 {
			passed = append(passed, 0)
		}
		if tick%100 == 50 {
			b.Answer()
		}
		for i, e := range fleet {
			if tick%100 == (i*13)%100 { // engines report when they like
				if report := e.report(now); report != nil {
					b.Heard(names[i], report)
				}
			}
			if len(e.inbox) > 0 && random.Float64() < 0.1 { // after 10 ms, more or less
				e.hear(now, e.inbox[0])
				e.inbox = e.inbox[1:]
			}
			due[i] += demand(now, i) * step
			for ; due[i] >= 1; due[i]-- {
				if e.ask(now) {
					passed[len(passed)-1]++
				}
			}
		}
	}
	return passed
}

// highest is how much more than the limit and what may come at once passed in any time of a tenth of a second or more,
// as a part of the limit in that time, from a second on; and in shorter ones, of a second.
func (s scene) highest(passed []int) (most float64) {
	for from := range passed {
		sum := -s.perS
		for i, each := range passed[from:] {
			sum += float64(each)
			span := max(1, float64(i+1)/10)
			most = max(most, (sum-s.perS*float64(i+1)/10)/(s.perS*span))
		}
	}
	return most
}

func TestClientThatChangesEnginesBelowItsRateIsNeverRefused(t *testing.T) {
	for _, of := range []scene{{8, 100. / 60, 60}, {8, 20, 60}, {4, 10, 10}, {2, 1, 60}} {
		for _, stays := range []float64{0.3, 1, 4, 20} {
			t.Run(fmt.Sprintf("%.1f a second on %d engines, for %.1f s each", of.perS, of.engines, stays),
				func(t *testing.T) {
					asked := 0.
					passed := of.play(120, func(now float64, engine int) float64 {
						switch {
						case now < 4 && engine == 0: // two fifths of what may come at once
							return of.perS * of.atOnceS / 10
						case now < 4 || int(now/stays)%of.engines != engine:
							return 0
						}
						asked += of.perS / 3 * 0.001
						return of.perS / 3
					}, heardAll)
					total := 0
					for _, each := range passed[40:] {
						total += each
					}
					if refused := asked - float64(total); refused > float64(of.engines) { // parts of one are due
						t.Errorf("%.0f of %.0f are refused: %v", refused, asked, passed)
					}
				})
		}
	}
}

// dataplane/rate writes what an engine does (tests/transcript.rs).
func TestModelOfAnEngineDoesWhatEnginesDo(t *testing.T) {
	text, err := os.ReadFile("testdata/engine.txt")
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{scene: scene{8, 100. / 60, 60}, arrival: -10}
	for n, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var ms, number float64
		var shift int32
		at, what, _ := strings.Cut(line, " ")
		fmt.Sscan(at, &ms)
		now, is := ms/1000, ""
		switch strings.Fields(what)[0] {
		case "asked":
			if is = "asked refused"; e.ask(now) {
				is = "asked passes"
			}
		case "hears":
			fmt.Sscanf(what, "hears %g share %d shift", &number, &shift)
			e.hear(now, &dataplanev1.KeyShares{Limits: []*dataplanev1.LimitShares{{Keys: []*dataplanev1.KeyShare{
				{Tag: tag, Share: uint32(number), Shift: shift}}}}})
			continue
		case "reports":
			is = "reports nothing"
			if report := e.report(now); report != nil {
				key := report.GetLimits()[0].GetKeys()[0]
				fmt.Sscanf(what, "reports %g asked %d used", &number, &shift)
				if used := int32(key.GetUsed()); used >= shift-1 && used <= shift+1 { // it counts in parts of a second
					key.Used = uint32(shift)
				}
				is = fmt.Sprintf("reports %d asked %d used", key.GetAsked(), key.GetUsed())
			}
		}
		if is != what {
			t.Fatalf("line %d is %q, and the model %q", n+1, line, is)
		}
	}
}

func reachesAll(string) bool { return true }

func heardAll(float64) bool { return false }

func TestKeyThatIsAskedOfAllEnginesPassesAtItsRate(t *testing.T) {
	for _, of := range []scene{eight, {2, 200, 1}, {2, 4, 1}, {3, 30, 1}, {5, 10_000, 1}, {8, 16, 1}, {24, 200, 1}} {
		t.Run(fmt.Sprintf("%d a second on %d engines", int(of.perS), of.engines), of.passesAtItsRate)
	}
}

func (s scene) passesAtItsRate(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	engines, perS := s.engines, s.perS
	weights := make([]float64, engines)
	for name, demand := range map[string]func(now float64, engine int) float64{
		"even":   func(float64, int) float64 { return 10 * perS / float64(engines) },
		"uneven": func(_ float64, engine int) float64 { return 10 * perS * math.Pow(0.5, float64(engine+1)) },
		"half":   func(float64, int) float64 { return 0.5 * perS },
		"moving": func(now float64, engine int) float64 {
			if int(now/0.7)%engines == engine {
				return 9 * perS
			}
			return perS / float64(engines)
		},
		"random": func(now float64, engine int) float64 {
			if engine == 0 && int(now*1000)%400 == 0 {
				for i := range weights {
					weights[i] = 10 * perS * math.Pow(random.Float64(), 4)
				}
			}
			return weights[engine]
		},
		"pulses": func(now float64, engine int) float64 {
			if int(now)%3 == 0 {
				return 10 * perS / float64(engines)
			}
			return 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			passed := s.play(20, demand, heardAll)
			total := 0
			for _, each := range passed {
				total += each
			}
			t.Logf("%d of %.0f, %.1f %% beyond at most", total, 20*perS+perS, 100*s.highest(passed))
			bar := 0.1
			if name == "pulses" { // shares follow after a pause, while what was saved up passes
				bar = 0.15
			}
			if most := s.highest(passed); most > bar {
				t.Errorf("%.1f %% more than the limit pass: %v", 100*most, passed)
			}
			if name != "pulses" && float64(total) < 0.85*20*perS {
				t.Errorf("%d pass of %.0f", total, 20*perS)
			}
		})
	}
}

func TestKeyThatIsAskedOfOneEngineHasItsWholeRateThereWhereverItMoves(t *testing.T) {
	const stays = 5
	passed := eight.play(20, func(now float64, engine int) float64 {
		if int(now/stays) == engine {
			return 3 * eight.perS
		}
		return 0
	}, heardAll)
	if most := eight.highest(passed); most > 0.1 {
		t.Errorf("%.1f %% more than the limit pass", 100*most)
	}
	for moved := 0; moved < 20; moved += stays {
		total := 0
		for _, each := range passed[(moved+1)*10 : (moved+stays)*10] {
			total += each
		}
		if float64(total) < 0.97*(stays-1)*eight.perS {
			t.Errorf("%d pass in the seconds %d to %d", total, moved+1, moved+stays)
		}
	}
}

func TestBurstOfAClientOnOneEngineIsWholeOnceTheBrokerHasAnswered(t *testing.T) {
	passed := eight.play(2, func(now float64, engine int) float64 {
		if engine == 0 {
			return 2 * eight.perS
		}
		return 0
	}, heardAll)
	total := 0
	for _, each := range passed {
		total += each
	}
	if float64(total) < 0.85*(1+2)*eight.perS {
		t.Errorf("%d pass in two seconds: %v", total, passed)
	}
}

func TestEnginesKeepHalfOfTheirShareWithoutAnswers(t *testing.T) {
	passed := eight.play(20, func(_ float64, engine int) float64 {
		if engine < 2 {
			return 5 * eight.perS
		}
		return 0
	}, func(now float64) bool { return now > 5 })
	total := 0
	for _, each := range passed[100:] {
		total += each
	}
	if share := float64(total) / (10 * eight.perS); share < 0.4 || share > 0.6 {
		t.Errorf("%.2f of the rate passes", share)
	}
}

// demandOf is a report of keys, each of a limit of its own.
func demandOf(first, keys int, asked uint32) *dataplanev1.KeyDemands {
	demands := &dataplanev1.KeyDemands{}
	for number := range keys {
		demands.Limits = append(demands.Limits, demandFor(uint64(first+number), uint64(number), asked))
	}
	return demands
}

func demandFor(limit, tag uint64, asked uint32) *dataplanev1.LimitDemand {
	return &dataplanev1.LimitDemand{VirtualServiceUuid: service, Limit: limit, Engines: 2, IntervalNs: 1000,
		Keys: []*dataplanev1.KeyDemand{{Tag: tag, Asked: asked}}}
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	b := New(func(string) []string { return []string{"a", "b"} }, reachesAll, func() time.Time { return at })
	sent := 0
	b.Connect(func(string, *dataplanev1.KeyShares) bool { sent++; return true })
	for round := range partsMax / reportedMax {
		b.Heard("a", demandOf(round*2*reportedMax, 2*reportedMax, 9))
	}
	if b.parts != partsMax || len(b.limits) != partsMax/2 {
		t.Errorf("%d parts of %d limits", b.parts, len(b.limits))
	}
	if !b.Answer() || sent != 2 {
		t.Errorf("%d answers", sent)
	}
	at = at.Add(time.Minute)
	if b.Answer() || b.parts != 0 || len(b.limits) != 0 {
		t.Errorf("%d parts of %d limits are left", b.parts, len(b.limits))
	}
	b.Heard("a", demandOf(0, reportedMax, 0))
	if b.parts != 0 || len(b.limits) != 0 {
		t.Errorf("%d parts of %d limits that nobody asks for", b.parts, len(b.limits))
	}
}

func TestFloodsOfKeysOfSomeLimitsLeaveRoomForOthers(t *testing.T) {
	for _, floods := range []uint64{1, 14, 30} {
		at := time.Unix(1_000_000, 0)
		b := New(func(string) []string { return []string{"a", "b"} }, reachesAll, func() time.Time { return at })
		hear := func(limit, tag uint64) {
			b.hear("a", demandFor(limit, tag, 9), &dataplanev1.KeyDemand{Tag: tag, Asked: 9}, 0)
		}
		for flood := range floods {
			for tag := range uint64(partsMax / 2) {
				hear(flood, tag)
			}
		}
		for tag := range uint64(100) {
			hear(1000, tag)
			if tag == 50 {
				b.Answer()
			}
		}
		if b.parts != partsMax {
			t.Errorf("%d parts of %d floods", b.parts, floods)
		}
		if other := b.limits[limitID{service, 1000}]; len(other.keys) != 100 {
			t.Errorf("%d keys of the other limit beside %d floods", len(other.keys), floods)
		}
		for flood := range floods {
			if parts := b.limits[limitID{service, flood}].parts; parts < partsMax/int(floods+1)/2 {
				t.Errorf("one of %d floods has %d parts", floods, parts)
			}
		}
	}
}

// It lets so much pass by itself.
func TestOthersLeaveASilentEngineItsReserveForAWhile(t *testing.T) {
	for _, of := range []struct {
		before  uint32 // asked of the engine that falls silent, of ten
		reached bool   // it is connected still
		without bool   // it never reports
		share   float64
	}{
		{8, true, false, 0.6}, {8, false, false, 0.6}, // 1.05 without half of 0.8 and a bit
		{1, true, false, 0.7}, {1, false, false, 0.7}, // without an equal part
		{0, true, true, 1}, {0, false, true, 1},
	} {
		at := time.Unix(1_000_000, 0)
		isReached := true
		b := New(func(string) []string { return []string{"a", "b", "c"} },
			func(engine string) bool { return engine != "b" || isReached }, func() time.Time { return at })
		shares := map[string]float64{}
		b.Connect(func(to string, answer *dataplanev1.KeyShares) bool {
			if to == "b" && !isReached {
				t.Error("an engine without a session is answered")
			}
			shares[to] = float64(answer.GetLimits()[0].GetKeys()[0].GetShare()) / Whole
			return true
		})
		play := func(seconds int, asked map[string]uint32) {
			for range 10 * seconds {
				for engine, asked := range asked {
					report := demandOf(0, 1, asked)
					report.Heard = math.MaxUint64
					report.Limits[0].Engines = 3
					b.Heard(engine, report)
				}
				b.Answer()
				at = at.Add(Interval)
			}
		}
		if of.without {
			isReached = of.reached
			play(5, map[string]uint32{"a": 9, "c": 0})
		} else {
			play(5, map[string]uint32{"a": 10 - of.before, "b": of.before, "c": 0})
			isReached = of.reached
			play(5, map[string]uint32{"a": 9, "c": 0})
		}
		if math.Abs(shares["a"]-of.share) > 0.06 {
			t.Errorf("%+v: the share is %.2f", of, shares["a"])
		}
		play(10, map[string]uint32{"a": 9, "c": 0})
		if shares["a"] < 0.95 {
			t.Errorf("%+v: the share is %.2f when it has been silent for long", of, shares["a"])
		}
	}
}

// A standby is not among those that serve.
func TestEngineThatServesAloneHasTheWholeRate(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	b := New(func(string) []string { return []string{"a"} }, reachesAll, func() time.Time { return at })
	share := uint32(0)
	b.Connect(func(_ string, shares *dataplanev1.KeyShares) bool {
		share = shares.GetLimits()[0].GetKeys()[0].GetShare()
		return true
	})
	for range 5 {
		b.Heard("a", demandOf(0, 1, 9))
		b.Heard("stranger", demandOf(7, 1, 9))
		b.Answer()
		at = at.Add(Interval)
	}
	if share < Whole*95/100 || len(b.limits) != 1 {
		t.Errorf("the share is %d; %d limits are known", share, len(b.limits))
	}
}

// The leader's node has died: what it has said before has numbers of its own.
func TestBrokerThatStartsAgainWaitsForWhatWasHeardOfItself(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	start := func() *Broker {
		b := New(func(string) []string { return []string{"a", "b"} }, reachesAll, func() time.Time { return at })
		b.Connect(func(string, *dataplanev1.KeyShares) bool { return true })
		return b
	}
	before := start()
	before.Heard("a", demandOf(0, 1, 9))
	for range 600 {
		before.Answer()
		at = at.Add(Interval)
		before.Heard("a", demandOf(0, 1, 9))
	}
	after := start()
	report := demandOf(0, 1, 9)
	report.Heard = before.number
	report.Limits[0].Keys[0].Used = Whole
	after.Heard("a", report)
	after.Heard("b", report)
	after.Answer()
	p := after.limits[limitID{service, 0}].keys[0].engines["a"]
	p.shifted, p.fresh = after.number, false
	after.Heard("a", report)
	if p.fresh {
		t.Error("an answer counts as heard that the engine has not got yet")
	}
}

func BenchmarkAnswer(b *testing.B) {
	for _, engines := range []int{2, 8, 256} {
		b.Run(fmt.Sprintf("%d engines", engines), func(b *testing.B) {
			var names []string
			for i := range engines {
				names = append(names, fmt.Sprint(i))
			}
			broker := New(func(string) []string { return names }, reachesAll, time.Now)
			broker.Connect(func(string, *dataplanev1.KeyShares) bool { return true })
			report := func(limit uint64) {
				for tag := range uint64(partsMax / engines) {
					for _, name := range names {
						from := demandFor(limit, tag, 9)
						from.Engines = uint32(engines)
						broker.hear(name, from, &dataplanev1.KeyDemand{Tag: tag, Asked: 9}, broker.number)
					}
				}
			}
			for b.Loop() {
				b.StopTimer()
				for limit := range uint64(6) {
					report(limit)
				}
				b.StartTimer()
				broker.Answer()
			}
			b.ReportMetric(float64(broker.parts), "parts")
		})
	}
}
