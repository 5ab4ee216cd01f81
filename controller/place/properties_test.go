package place

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"
)

// anyStory returns a group of engines on some hosts, with some virtual services. All of them are placed.
func anyStory(t *testing.T, random *rand.Rand, settings ...string) *story {
	t.Helper()
	s := newStory()
	s.define(t, "group", append([]string{"web"}, settings...))
	for i := range 2 + random.IntN(8) {
		s.define(t, "engine", []string{fmt.Sprintf("e%d", i), fmt.Sprintf("host=h%d", random.IntN(4)),
			fmt.Sprintf("zone=z%d", random.IntN(2))})
	}
	for i := range 1 + random.IntN(6) {
		s.define(t, "service", []string{fmt.Sprintf("s%d", i)})
	}
	s.settle()
	return s
}

func eachSeed(t *testing.T, check func(t *testing.T, random *rand.Rand)) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { check(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func TestNoLimitIsEverExceeded(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		perEngine, engines, scale := 1+random.IntN(4), 1+random.IntN(6), 1+random.IntN(4)
		s := anyStory(t, random, fmt.Sprintf("max_vs_per_se=%d", perEngine), fmt.Sprintf("max_se=%d", engines),
			fmt.Sprintf("min_scaleout_per_vs=%d", scale), fmt.Sprintf("max_scaleout_per_vs=%d", scale))
		load := map[string]int{}
		for _, a := range s.before {
			if len(a.Seats) > scale {
				t.Errorf("%v is more than %d", a, scale)
			}
			for _, seat := range a.Seats {
				load[seat.Engine]++
			}
		}
		if len(load) > engines {
			t.Errorf("%v are more than %d engines", load, engines)
		}
		for engine, count := range load {
			if count > perEngine {
				t.Errorf("%s has %d, more than %d", engine, count, perEngine)
			}
		}
	})
}

func TestEnginesOfAVirtualServiceShareAHostOnlyWhenTheyMust(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		scale := 1 + random.IntN(4)
		s := anyStory(t, random, fmt.Sprintf("min_scaleout_per_vs=%d", scale))
		hosts := map[string]bool{}
		for _, engine := range s.engines {
			hosts[engine.Host] = true
		}
		for _, a := range s.before {
			used := map[string]bool{}
			for _, seat := range a.Seats {
				used[s.engines[seat.Engine].Host] = true
			}
			if want := min(len(a.Seats), len(hosts)); len(used) != want {
				t.Errorf("%v is on %d hosts of %d", a, len(used), len(hosts))
			}
		}
	})
}

func TestTheyStandApartAfterAFailureTooWhereAnotherHostIsLeft(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		algorithm := []string{"algo=PACKED", "algo=DISTRIBUTED"}[random.IntN(2)]
		s := anyStory(t, random, "min_scaleout_per_vs=2", algorithm)
		victim := s.model.Engines[random.IntN(len(s.model.Engines))].UUID
		s.engine(victim, func(e *Engine) { e.Up, e.Since = false, s.now })
		s.now = s.now.Add(time.Minute)
		s.settle()
		left := map[string]bool{}
		for uuid, engine := range s.engines {
			if uuid != victim {
				left[engine.Host] = true
			}
		}
		for _, a := range s.before {
			used, live := map[string]bool{}, 0
			for _, seat := range a.Seats {
				if seat.Engine != victim {
					live++
					used[s.engines[seat.Engine].Host] = true
				}
			}
			if live == 2 && len(used) == 1 && len(left) > 1 {
				t.Errorf("%v is on one host of %v without %s", a, left, victim)
			}
		}
	})
}

func TestVirtualServicesOfOneAddressHaveTheSameSeats(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		s := anyStory(t, random)
		for range 40 {
			vs := s.model.VirtualServices[random.IntN(len(s.model.VirtualServices))]
			switch random.IntN(5) {
			case 0:
				vs.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(random.IntN(3))})}
			case 1:
				vs.Enabled = random.IntN(3) > 0
			case 2:
				verb := []Verb{DoScaleOut, DoScaleIn, DoMigrate}[random.IntN(3)]
				if assignments, _, err := new(Placer).Accept(s.input(), vs, Order{Verb: verb}); err == nil {
					s.accept(assignments)
				}
			case 3:
				s.settle()
			default:
				s.engine(s.model.Engines[random.IntN(len(s.model.Engines))].UUID, func(e *Engine) {
					e.Up, e.Since = !e.Up, s.now
				})
				s.now = s.now.Add(time.Minute)
			}
			s.decideOnce()
			for _, one := range s.model.VirtualServices {
				for _, other := range s.model.VirtualServices {
					shared := one.Enabled && other.Enabled && len(one.Addresses) > 0 &&
						slices.Equal(one.Addresses, other.Addresses)
					if shared && !slices.Equal(s.before[one.UUID].Seats, s.before[other.UUID].Seats) {
						t.Fatalf("%v, and on the same address %v", s.before[one.UUID], s.before[other.UUID])
					}
				}
			}
		}
	})
}

func TestWhoServesKeepsServingWhenAnotherFails(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		algorithm := []string{"algo=PACKED", "algo=DISTRIBUTED"}[random.IntN(2)]
		s := anyStory(t, random, "min_scaleout_per_vs=2", algorithm)
		before := s.before
		victim := s.model.Engines[random.IntN(len(s.model.Engines))].UUID
		s.engine(victim, func(e *Engine) { e.Up, e.Since = false, s.now })
		s.now = s.now.Add(time.Minute)
		s.settle()
		for service, was := range before {
			now := s.before[service]
			for _, seat := range was.Seats {
				if kept := now.seat(seat.Engine); seat.Engine != victim && (kept == nil || kept.State != Serving) {
					t.Errorf("%s was on %v when %s failed, and is on %v", service, was.Seats, victim, now.Seats)
				}
			}
		}
	})
}

func TestSameInputIsDecidedTheSameAndTwiceChangesNothing(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		s := anyStory(t, random, fmt.Sprintf("min_scaleout_per_vs=%d", 1+random.IntN(3)))
		for _, engine := range s.model.Engines {
			if random.IntN(3) == 0 {
				engine.EnableState = []string{"SE_STATE_DISABLED", "SE_STATE_DISABLED_FOR_PLACEMENT"}[random.IntN(2)]
			}
		}
		first := Decide(s.input())
		if again := Decide(s.input()); !reflect.DeepEqual(first, again) {
			t.Fatalf("%v, then %v", first, again)
		}
		s.follow(first)
		s.due()
		if once := Decide(s.input()); len(once.Changed)+len(once.Gone) > 0 {
			t.Errorf("decided once more it is %v", once.Changed)
		}
	})
}

// demanding returns a story with random loads of the services. Their group gets the engines that it needs.
func demanding(t *testing.T, random *rand.Rand) *story {
	t.Helper()
	least := 1 + random.IntN(2)
	s := anyStory(t, random, fmt.Sprintf("min_scaleout_per_vs=%d", least),
		fmt.Sprintf("max_scaleout_per_vs=%d", least+random.IntN(4)),
		[]string{"algo=PACKED", "algo=DISTRIBUTED"}[random.IntN(2)], fmt.Sprintf("max_se=%d", 10+random.IntN(6)),
		"vs_host_redundancy=false",
		fmt.Sprintf("max_cpu_usage=%d", 60+random.IntN(30)), fmt.Sprintf("min_cpu_usage=%d", 20+random.IntN(35)))
	for _, vs := range s.model.VirtualServices {
		s.demand[vs.UUID] = float64(random.IntN(200))
	}
	return s
}

// round rebalances once, and lets an interval pass. It returns whether any seat is on another engine.
func (s *story) round(t *testing.T) (changed bool) {
	t.Helper()
	before := s.before
	s.rebalance()
	s.settle()
	if need := s.needs[0]; need.Wanted > need.Have {
		s.define(t, "engine", []string{fmt.Sprintf("e%d", len(s.model.Engines))})
	}
	s.settle()
	s.now = s.now.Add(5 * time.Minute)
	for uuid, a := range s.before {
		was := before[uuid]
		changed = changed || !slices.EqualFunc(a.Seats, was.Seats, func(x, y Seat) bool { return x.Engine == y.Engine })
	}
	return changed
}

func TestUnderALoadThatStaysTheSameRebalancingComesToRestWithinTheLimits(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		s := demanding(t, random)
		const roundsMax = 45
		quiet := 0
		for range roundsMax {
			if quiet++; s.round(t) {
				quiet = 0
			}
		}
		if quiet < roundsMax/3 {
			t.Errorf("it goes on and on: %v", s.before)
		}
		group := s.model.Groups[0]
		least, most := Limits(group)
		for _, a := range s.before {
			if len(a.Seats) < least || len(a.Seats) > most {
				t.Errorf("%v is not within %d and %d", a, least, most)
			}
		}
		if len(s.model.Engines) > int(group.MaxSE) {
			t.Errorf("%d engines are more than %d", len(s.model.Engines), group.MaxSE)
		}
	})
}

func TestNothingIsMovedWhileEveryEngineIsBetweenTheThresholds(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		s := demanding(t, random)
		group := s.model.Groups[0]
		for _, load := range s.loads() {
			if load.Percent > float64(group.MaxCPUUsage) || load.Percent > 0 &&
				load.Percent < float64(group.MinCPUUsage) {
				return
			}
		}
		if s.round(t) {
			t.Errorf("%v", s.before)
		}
	})
}

func TestWhatCanBeRelievedIsRelieved(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		s := demanding(t, random)
		s.set(t, "web", []string{"max_se=60", "max_scaleout_per_vs=30", "max_cpu_usage=80", "min_cpu_usage=30"})
		for range 40 {
			s.round(t)
		}
		for engine, load := range s.loads() {
			if load.Percent > 80 {
				t.Errorf("%s is at %.0f %%: %v", engine, load.Percent, s.before)
			}
		}
	})
}

func TestScaleOutAndScaleInLeadBackToWhoServedBefore(t *testing.T) {
	eachSeed(t, func(t *testing.T, random *rand.Rand) {
		s := anyStory(t, random)
		vs := s.model.VirtualServices[random.IntN(len(s.model.VirtualServices))]
		was := s.before[vs.UUID]
		order := func(verb Verb) error {
			assignments, _, err := new(Placer).Accept(s.input(), vs, Order{Verb: verb})
			if err == nil {
				s.accept(assignments)
			}
			return err
		}
		if err := order(DoScaleOut); err != nil {
			t.Fatal(err)
		}
		s.settle()
		if now := s.before[vs.UUID]; len(now.Seats) != len(was.Seats)+1 {
			t.Fatalf("%v, after a scale-out %v", was, now)
		}
		if err := order(DoScaleIn); err != nil {
			t.Fatal(err)
		}
		s.settle()
		if now := s.before[vs.UUID]; len(now.Seats) != 1 || !slices.ContainsFunc(was.Seats, func(seat Seat) bool {
			return seat.Engine == now.Seats[0].Engine
		}) {
			t.Errorf("%v, after a scale-out and a scale-in %v", was, now)
		}
		if order(DoScaleIn) == nil {
			t.Error("the last engine may not be taken away")
		}
	})
}
