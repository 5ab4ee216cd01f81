package place

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

var update = flag.Bool("update", false, "rewrite the stories in testdata with what is decided now")

// A story is a file of events, "> event". Below each event are the decisions that follow. Words after a name are
// settings of the object, by their names in the API.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			story := newStory()
			for _, line := range strings.Split(string(want), "\n") {
				if event, is := strings.CutPrefix(line, "> "); is {
					fmt.Fprintf(&got, "> %s\n%s", event, story.tell(t, strings.Fields(event)))
				} else if strings.HasPrefix(line, "#") || line == "" && got.Len() > 0 &&
					!strings.HasSuffix(got.String(), "\n\n") {
					fmt.Fprintln(&got, line)
				}
			}
			text := strings.TrimRight(got.String(), "\n") + "\n"
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if text != string(want) {
				t.Errorf("told otherwise now:\n%s", text)
			}
		})
	}
}

// router is the one to which virtual services with enable_rhi are announced.
var router = netip.MustParseAddr("10.0.0.1")

// story is a fleet made of values. After each event it decides.
type story struct {
	model    *model.Model
	engines  map[string]Engine
	before   map[string]Assignment
	now      time.Time
	needs    []Need
	start    time.Time
	networks map[string]string  // of engines
	silent   map[string]bool    // engines that have not answered to their newest Plans
	noRoom   map[string]bool    // engine and service: the Plan of the engine has no room for the service
	demand   map[string]float64 // load of each service, in percent of one engine
}

func newStory() *story {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &story{model: &model.Model{}, engines: map[string]Engine{}, before: map[string]Assignment{}, now: start,
		start: start, silent: map[string]bool{}, noRoom: map[string]bool{}, networks: map[string]string{},
		demand: map[string]float64{}}
}

func (s *story) input() Input {
	before := Assignments(nil).With(slices.Collect(maps.Values(s.before)))
	return Input{Model: s.model, Engines: s.engines, Before: before, Began: s.start, Now: s.now}
}

// tell makes an event happen, and returns the decisions that follow.
func (s *story) tell(t *testing.T, words []string) string {
	t.Helper()
	verb, args := words[0], words[1:]
	switch verb {
	case "group", "engine", "service":
		s.define(t, verb, args)
		return ""
	case "scaleout", "scalein", "migrate", "switchover", "retryplacement":
		return s.order(t, Verb(verb), args)
	case "redistribute":
		assignments, err := new(Placer).Redistribute(s.input(), s.group(args[0]))
		return s.carryOut(assignments, nil, err)
	case "serves", "drains", "idle", "stands":
		s.report(t, verb, args)
	case "outdated":
		s.hold(args[0], s.service(args[1]).UUID, Holding{Delivery: Outdated, Duty: Serve, Since: s.now})
		return "" // the next event comes before any decision
	case "unled":
		s.hold(args[0], s.service(args[1]).UUID, Holding{Delivery: Current, Duty: Serve, Since: s.now})
	case "everybody":
		return s.settle()
	case "down", "up", "refuses":
		if verb == "up" {
			s.gather()
		}
		if len(s.engines) == 0 {
			s.start = s.now
		}
		s.engine(args[0], func(e *Engine) {
			e.Up, e.Since, e.Refused, e.Blames = verb != "down", s.now, s.now, nil
			words := args[1:]
			if len(words) > 0 && s.service(words[0]) != nil { // that is to blame
				e.Blames = []string{s.service(words[0]).UUID}
			}
			e.Refuses = strings.Join(words, " ")
			if e.Plan = min(e.Plan, Settled); e.Refuses != "" {
				e.Plan = Refused
			} else if _, heard := s.engines[args[0]]; !heard {
				e.Network = s.networks[args[0]]
			}
			if verb == "down" {
				e.Gathering = time.Time{}
			}
		})
	case "full", "room":
		s.noRoom[args[0]+" "+s.service(args[1]).UUID] = verb == "full"
		s.due()
	case "silent", "answers":
		s.silent[args[0]] = verb == "silent"
		s.engine(args[0], func(e *Engine) { e.Told = e.Told || verb == "answers" })
	case "cutoff", "reached":
		for _, name := range args {
			s.engine(name, func(e *Engine) {
				e.Sessions = map[netip.Addr]Session{router: {Up: verb == "reached", Since: s.now}}
			})
		}
	case "set":
		for _, name := range strings.Split(args[0], ",") {
			s.set(t, name, args[1:])
		}
	case "deleted":
		s.delete(args[0])
		return "" // an order may come before the next decision
	case "wait":
		span, err := time.ParseDuration(args[0])
		if err != nil {
			t.Fatal(err)
		}
		s.now = s.now.Add(span)
	case "needs":
		s.decide()
		return s.showNeeds()
	case "demand":
		return s.demanded(t, args)
	case "rebalance":
		s.now = s.now.Add(Interval(s.model.Groups[0]))
		return s.rebalance() + s.settle() + s.showLoads()
	case "restart":
		s.start, s.engines = s.now, map[string]Engine{}
	case "decide":
	default:
		t.Fatalf("what is %q?", verb)
	}
	return s.decide()
}

// gather does what the fleet does when an engine comes back: if all engines are away, all of them were cut off at once.
func (s *story) gather() {
	for _, engine := range s.engines {
		if engine.Up {
			return
		}
	}
	for name := range s.engines {
		s.engine(name, func(e *Engine) { e.Gathering = cmp.Or(e.Gathering, s.now) })
	}
}

func (s *story) define(t *testing.T, what string, args []string) {
	t.Helper()
	identity, named := kinds.Identity{UUID: args[0]}, kinds.Named{Name: args[0]}
	last := func() *model.Group { return s.model.Groups[len(s.model.Groups)-1] }
	switch what {
	case "group":
		group := &model.Group{ServiceEngineGroup: *schema.Defaults[kinds.ServiceEngineGroup]()}
		group.Identity, group.Named = identity, named
		s.model.Groups = append(s.model.Groups, group)
	case "engine":
		engine := &model.Engine{Group: last()}
		engine.Identity, engine.Named, engine.EnableState = identity, named, "SE_STATE_ENABLED"
		s.model.Engines, last().Engines = append(s.model.Engines, engine), append(last().Engines, engine)
		s.engines[args[0]] = Engine{Up: true, Told: true, Since: s.now,
			Sessions: map[netip.Addr]Session{router: {Up: true, Since: s.now}}}
	case "service":
		vs := &model.VirtualService{Group: last()}
		// the order of uuids is the order of decisions
		identity.UUID = fmt.Sprintf("%02d.%s", len(s.model.VirtualServices), args[0])
		vs.Identity, vs.Named, vs.Enabled, vs.TrafficEnabled = identity, named, true, true
		s.model.VirtualServices = append(s.model.VirtualServices, vs)
	}
	s.set(t, args[0], args[1:])
}

func (s *story) set(t *testing.T, name string, settings []string) {
	t.Helper()
	for _, setting := range settings {
		field, value, _ := strings.Cut(setting, "=")
		number, _ := strconv.ParseUint(value, 10, 32)
		group, engine, vs := s.group(name), s.object(name), s.service(name)
		switch {
		case group != nil && field == "ha_mode":
			group.HAMode = "HA_MODE_" + value
		case group != nil && field == "algo":
			group.PlacementAlgorithm = "PLACEMENT_ALGO_" + value
		case group != nil && field == "bgp_peer_monitor_failover_enabled":
			group.BGPPeerMonitorFailover = value == "true"
		case group != nil && field == "distribute_load_active_standby":
			group.DistributeStandby = value == "true"
		case group != nil && field == "vs_host_redundancy":
			group.VSHostRedundancy = value == "true"
		case group != nil:
			fields := map[string]*uint32{
				"min_scaleout_per_vs": &group.MinScaleoutPerVS, "max_scaleout_per_vs": &group.MaxScaleoutPerVS,
				"max_cpu_usage": &group.MaxCPUUsage, "min_cpu_usage": &group.MinCPUUsage,
				"max_vs_per_se": &group.MaxVSPerSE, "max_se": &group.MaxSE, "min_se": &group.MinSE,
				"buffer_se": &group.BufferSE,
			}
			if fields[field] == nil {
				t.Fatalf("what is %s of a group?", field)
			}
			*fields[field] = uint32(number)
		case engine != nil && field == "enable_state":
			engine.EnableState = "SE_STATE_" + value
		case engine != nil && field == "zone":
			engine.AvailabilityZone = value
		case engine != nil && field == "host":
			s.engine(name, func(e *Engine) { e.Host = value })
		case engine != nil && field == "network":
			s.networks[name] = value
			s.engine(name, func(e *Engine) { e.Network = value })
		case engine != nil && field == "cpu":
			s.engine(name, func(e *Engine) { e.CPUPercent = float64(number) })
		case vs != nil && field == "address":
			vs.Addresses = append(vs.Addresses, netip.MustParseAddr(value))
		case vs != nil && field == "enable_rhi":
			vs.EnableRHI = value == "true"
			if len(vs.Addresses) == 0 {
				vs.Addresses = []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(len(s.model.VirtualServices))})}
			}
			vs.VrfContext = &kinds.VrfContext{BGP: &kinds.BGPProfile{Peers: []kinds.BGPPeer{{
				PeerIP: &kinds.IPAddr{Addr: router.String(), Type: "V4"}, AdvertiseVip: true,
			}}}}
		case vs != nil && field == "enabled":
			vs.Enabled = value == "true"
		default:
			t.Fatalf("what is %s of %s?", field, name)
		}
	}
}

func (s *story) group(name string) *model.Group {
	return first(s.model.Groups, func(g *model.Group) bool { return g.UUID == name })
}

func (s *story) object(name string) *model.Engine {
	return first(s.model.Engines, func(e *model.Engine) bool { return e.UUID == name })
}

func (s *story) service(name string) *model.VirtualService {
	return first(s.model.VirtualServices, func(vs *model.VirtualService) bool { return vs.Name == name })
}

func first[T any](all []*T, is func(*T) bool) *T {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

func (s *story) engine(name string, change func(*Engine)) {
	engine := s.engines[name]
	change(&engine)
	s.engines[name] = engine
}

func (s *story) delete(name string) {
	is := func(e *model.Engine) bool { return e.UUID == name }
	group := s.object(name).Group
	s.model.Engines, group.Engines = slices.DeleteFunc(s.model.Engines, is), slices.DeleteFunc(group.Engines, is)
	delete(s.engines, name)
}

func (s *story) order(t *testing.T, verb Verb, args []string) string {
	t.Helper()
	order := Order{Verb: verb}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "to":
			order.To = value
		case "from":
			order.From = value
		case "primary":
			order.Primary = true
		case "new":
			order.New = true
		case "host":
			order.ToHost = value
		}
	}
	return s.carryOut(new(Placer).Accept(s.input(), s.service(args[0]), order))
}

func (s *story) carryOut(assignments []Assignment, events []Event, err error) string {
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		return "  refused: " + refusal.Error() + "\n"
	}
	s.accept(assignments)
	return told(events) + s.decide()
}

func (s *story) accept(assignments []Assignment) {
	for _, a := range assignments {
		s.before[a.VirtualService] = a
	}
}

// demanded sets the loads of services, in percent of one engine: "shop=60 blog=20".
func (s *story) demanded(t *testing.T, parts []string) string {
	t.Helper()
	for _, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		percent, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		s.demand[s.service(name).UUID] = percent
	}
	return s.showLoads()
}

// loads returns the loads of engines if routers spread each service evenly over the engines that serve it.
func (s *story) loads() map[string]Load {
	loads := map[string]Load{}
	for uuid := range s.engines {
		loads[uuid] = Load{Criterion: "CPU", Services: map[string]float64{}}
	}
	for service, a := range s.before {
		gone := func(seat Seat) bool { return !s.engines[seat.Engine].Up }
		seats := slices.DeleteFunc(slices.Clone(a.Seats), gone)
		for _, seat := range seats {
			load := loads[seat.Engine]
			load.Services[service] = s.demand[service] / float64(len(seats))
			load.Percent += load.Services[service]
			loads[seat.Engine] = load
		}
	}
	maps.DeleteFunc(loads, func(engine string, _ Load) bool { return !s.engines[engine].Up })
	return loads
}

func (s *story) showLoads() string {
	loads := s.loads()
	var parts []string
	for _, engine := range s.model.Engines {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", engine.Name, loads[engine.UUID].Percent))
	}
	return "  " + strings.Join(parts, ", ") + "\n"
}

func (s *story) rebalance() string {
	var all strings.Builder
	for _, group := range s.model.Groups {
		changed, events := new(Placer).Rebalance(s.input(), group, s.loads())
		s.accept(changed)
		all.WriteString(told(events))
	}
	return all.String()
}

// report makes an engine report that it has its duty to a virtual service.
func (s *story) report(t *testing.T, verb string, args []string) {
	t.Helper()
	duties := map[string]Duty{"serves": Serve, "drains": Drain, "idle": Drain, "stands": StandBy}
	clients := map[string]Clients{"serves": Led, "drains": Unled, "idle": Idle}
	s.hold(args[0], s.service(args[1]).UUID, Holding{Delivery: Current, Duty: duties[verb], Since: s.now,
		Clients: clients[verb]})
}

func (s *story) hold(engine, service string, holding Holding) {
	s.engine(engine, func(e *Engine) {
		holding.VirtualService = service
		e.Holds, e.Told = e.Holds.With(holding), e.Told || holding.Duty != NoDuty
	})
}

// settle makes all engines that are up carry out their duties, until nothing changes.
func (s *story) settle() string {
	var all strings.Builder
	for last := "none"; ; {
		for service, a := range s.before {
			for _, seat := range a.Seats {
				if s.engines[seat.Engine].Up && seat.Duty() != NoDuty && !s.noRoom[seat.Engine+" "+service] {
					clients := map[Duty]Clients{Serve: Led, Drain: Idle}[seat.Duty()]
					s.hold(seat.Engine, service, Holding{Delivery: Current, Duty: seat.Duty(), Since: s.now,
						Clients: clients})
				}
			}
		}
		news := s.decideOnce()
		if news+s.show() == last {
			return all.String() + s.show()
		}
		all.WriteString(news)
		last = news + s.show()
	}
}

func (s *story) decide() string { return s.decideOnce() + s.show() }

func (s *story) decideOnce() string {
	d := Decide(s.input())
	s.follow(d)
	s.due()
	s.needs = d.Needs
	var out strings.Builder
	out.WriteString(told(d.Events))
	for _, lack := range d.Unplaced {
		_, name, _ := strings.Cut(lack.VirtualService, ".")
		fmt.Fprintf(&out, "  %s has %d of %d engines: %s\n", name, lack.Placed, lack.Wanted, lack.Why)
	}
	for _, engine := range slices.Sorted(maps.Keys(d.Waiting)) {
		fmt.Fprintf(&out, "  %s gets no Plan yet\n", engine)
	}
	return out.String()
}

func told(events []Event) string {
	var out strings.Builder
	for _, event := range events {
		fmt.Fprintf(&out, "  %s %s: %s\n", event.ID, event.VirtualService.Name, event.Message)
	}
	return out.String()
}

// follow applies a decision.
func (s *story) follow(d Decision) {
	s.before = maps.Clone(s.before)
	for _, a := range d.Changed {
		s.before[a.VirtualService] = a
	}
	for _, uuid := range d.Gone {
		delete(s.before, uuid)
	}
}

// due gives each engine the holdings that follow from the Plans of a decision. Engines take their Plans at once, unless
// they are silent.
func (s *story) due() {
	for uuid := range s.engines {
		s.engine(uuid, func(e *Engine) {
			if e.Plan != Refused {
				e.Plan = Settled
			}
			if s.silent[uuid] {
				return
			}
			if e.Plan != Refused {
				e.Plan = Taken
			}
			e.Holds = slices.DeleteFunc(slices.Clone(e.Holds), func(holding *Holding) bool {
				a := s.before[holding.VirtualService]
				seat := a.seat(uuid)
				return seat == nil || seat.Duty() == NoDuty
			})
		})
	}
	for service, a := range s.before {
		for _, seat := range a.Seats {
			if _, heard := s.engines[seat.Engine]; !heard || s.silent[seat.Engine] || seat.Duty() == NoDuty {
				continue
			}
			holding := s.engines[seat.Engine].Holds.Of(service)
			if holding.Delivery = Outdated; s.noRoom[seat.Engine+" "+service] {
				holding = Holding{Delivery: NoRoom}
			} else if holding.Duty == seat.Duty() {
				holding.Delivery = Current
			}
			s.hold(seat.Engine, service, holding)
		}
	}
}

func (s *story) show() string {
	var out strings.Builder
	for _, vs := range s.model.VirtualServices {
		var seats []string
		for _, seat := range s.before[vs.UUID].Seats {
			seats = append(seats, seat.Engine+" "+strings.ToLower(string(seat.State)))
		}
		if len(seats) == 0 {
			seats = []string{"on no engine"}
		}
		if failure := s.before[vs.UUID].CalledOff; failure != nil {
			seats = append(seats, "after "+failure.Event)
		}
		fmt.Fprintf(&out, "  %s: %s\n", vs.Name, strings.Join(seats, ", "))
	}
	return out.String()
}

func (s *story) showNeeds() string {
	var out strings.Builder
	for _, need := range s.needs {
		fmt.Fprintf(&out, "  group %s shall have %d engines, %d are ready", need.Group.Name, need.Wanted, need.Have)
		if len(need.Idle) > 0 {
			fmt.Fprintf(&out, ", %s may go", strings.Join(need.Idle, " and "))
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}
