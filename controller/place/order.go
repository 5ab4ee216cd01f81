package place

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/model"
)

// Order is what an operator asks for one virtual service. To and From are uuids of engines; empty: placement chooses.
type Order struct {
	Verb    Verb
	To      string
	From    string
	Primary bool   // scale in the engine of the primary
	New     bool   // to a fresh engine; if there is none, a cloud may start one
	ToHost  string // to an engine on the host of this name
}

// Verb is the kind of an order.
type Verb string

const (
	DoScaleOut   Verb = "scaleout"
	DoScaleIn    Verb = "scalein"
	DoMigrate    Verb = "migrate"
	DoSwitchover Verb = "switchover"
	DoRetry      Verb = "retryplacement"
)

// Refusal says which field of an order is impossible, and what to do.
type Refusal struct{ Field, Problem string }

func (r *Refusal) Error() string {
	if r.Field == "" {
		return r.Problem
	}
	return r.Field + ": " + r.Problem
}

// Accept applies an order to the assignments of the virtual service, and of all that go together with it. The next
// decision starts from these assignments, and carries the order out. Error: *Refusal.
func (p *Placer) Accept(in Input, vs *model.VirtualService, o Order) ([]Assignment, []Event, error) {
	s := p.begin(in).serviceOf(vs)
	s.forget()
	if vs.IsChild() {
		return nil, nil, &Refusal{"vh_parent_vs_ref", fmt.Sprintf(
			"virtual service %s is a child, and on the engines of its parent: move the parent", vs.Name)}
	}
	if !takesTraffic(vs) {
		return nil, nil, &Refusal{"enabled", fmt.Sprintf("virtual service %s takes no traffic: enable it first",
			vs.Name)}
	}
	err := s.lookAround(&o)
	if err != nil {
		return nil, nil, err
	}
	s.a.CalledOff = nil
	switch o.Verb {
	case DoScaleOut:
		err = s.scaleOut(o)
	case DoScaleIn:
		err = s.scaleIn(o)
	case DoMigrate:
		err = s.migrate(o)
	case DoSwitchover:
		err = s.switchover(o)
	case DoRetry:
		err = s.retry()
	}
	return s.assignments(), s.out.Events, err
}

// lookAround finds the engine on the host that an order names. If an order wants a fresh engine, lookAround checks that
// there can be one.
func (s *service) lookAround(o *Order) error {
	if o.ToHost != "" {
		return s.lookOnHost(o)
	}
	if engine, _ := s.chooseFresh(); !o.New || engine != nil || len(s.group.Engines) < int(s.group.MaxSE) {
		return nil
	}
	return &Refusal{"to_new_se", fmt.Sprintf("group %s has %d engines, which is max_se, and all of them are in use",
		s.group.Name, len(s.group.Engines))}
}

func (s *service) lookOnHost(o *Order) error {
	why := "no engine of group " + s.group.Name + " runs there"
	for _, engine := range s.group.Engines {
		if s.in.Engines[engine.UUID].Host != o.ToHost {
			continue
		}
		if objection := s.objection(engine); objection != "" {
			why = engine.Name + " " + objection
			continue
		}
		o.To = engine.UUID
		return nil
	}
	return &Refusal{"to_host_ref", fmt.Sprintf("no engine on %s can take %s: %s", o.ToHost, s.vs.Name, why)}
}

func (s *service) scaleOut(o Order) error {
	_, most := Limits(s.group)
	if s.wanted() >= most {
		return &Refusal{"", fmt.Sprintf("group %s allows %s no more than %d of its engines: %s",
			s.group.Name, s.vs.Name, most,
			s.remedy("raise its max_scaleout_per_vs", s.group.HAMode == legacyMode))}
	}
	switch {
	case o.New:
		s.a.Fresh = s.in.Now
	case o.To != "":
		if err := s.takeOn(o.To, ScaleOut); err != nil {
			return err
		}
	}
	s.a.Requested = s.wanted() + 1
	return nil
}

func (s *service) scaleIn(o Order) error {
	least, _ := Limits(s.group)
	if s.wanted() <= least {
		return &Refusal{"", fmt.Sprintf("group %s requires %s to be on at least %d of its engines: %s",
			s.group.Name, s.vs.Name, least,
			s.remedy("lower its min_scaleout_per_vs", s.group.HAMode != "HA_MODE_SHARED" && least <= 2))}
	}
	if from := o.From; from != "" || o.Primary || len(s.counting()) >= s.wanted() {
		if err := s.send(s.leaver(o), ScaleIn); err != nil {
			return err
		}
	}
	s.a.Requested = s.wanted() - 1
	return nil
}

// remedy says what to change about a limit of the group. If the limit comes from ha_mode, it says so.
func (s *service) remedy(change string, byMode bool) string {
	if byMode {
		return "its ha_mode is " + s.group.HAMode
	}
	return change
}

// leaver returns the engine whose seat a scale-in removes: the one that the order names, or the last in rank.
func (s *service) leaver(o Order) string {
	counting := s.counting()
	switch {
	case o.From != "":
		return o.From
	case len(counting) == 0:
		return ""
	case o.Primary:
		return counting[0].Engine
	default:
		return counting[len(counting)-1].Engine
	}
}

func (s *service) migrate(o Order) error {
	from := o.From
	if counting := s.counting(); from == "" {
		if len(counting) != 1 {
			return &Refusal{"from_se_ref", fmt.Sprintf("%s is on %d engines: say from which one to move it",
				s.vs.Name, len(counting))}
		}
		from = counting[0].Engine
	}
	if err := s.send(from, Migrate); err != nil {
		return err
	}
	if o.New {
		s.a.Fresh = s.in.Now
		return nil
	}
	if o.To != "" {
		return s.takeOn(o.To, Migrate)
	}
	if engine, why := s.choose(); engine == nil {
		return &Refusal{"to_se_ref", fmt.Sprintf("no engine can take %s: %s", s.vs.Name, why)}
	}
	return nil
}

// switchover: in active/standby, the active engine leaves and the standby takes its place. If several engines serve,
// another one becomes the primary.
func (s *service) switchover(o Order) error {
	counting := s.counting()
	if len(counting) == 0 {
		return &Refusal{"", fmt.Sprintf("%s is on no engine yet", s.vs.Name)}
	}
	if s.group.HAMode == legacyMode {
		return s.giveWay(counting[0].Engine, o.To)
	}
	return s.promote(o.To)
}

// giveWay makes the active engine leave, so that the standby takes over.
func (s *service) giveWay(active, to string) error {
	for _, seat := range s.a.Seats {
		switch {
		case seat.State != Standby || !s.up(seat.Engine):
		case to != "" && to != seat.Engine:
			return &Refusal{"to_se_ref", fmt.Sprintf("the standby of %s is %s", s.vs.Name, s.name(seat.Engine))}
		case s.mayShare(active, seat.Engine):
			return &Refusal{"", fmt.Sprintf("its standby %s has the same addresses as %s, where it listens: disable %s",
				s.name(seat.Engine), s.name(active), s.name(active))}
		default:
			return s.send(active, Switchover)
		}
	}
	return &Refusal{"", fmt.Sprintf("%s has no standby that is up", s.vs.Name)}
}

// promote makes another engine that serves the primary.
func (s *service) promote(to string) error {
	for i, seat := range s.a.Seats {
		if i > 0 && seat.State == Serving && s.up(seat.Engine) && (to == "" || to == seat.Engine) {
			s.lead(i)
			return nil
		}
	}
	if to != "" {
		return &Refusal{"to_se_ref", fmt.Sprintf("%s does not serve %s as a secondary", s.name(to), s.vs.Name)}
	}
	return &Refusal{"", fmt.Sprintf("no other engine serves %s", s.vs.Name)}
}

// retry allows engines that failed to start the virtual service to be chosen again. Every decision checks all other
// obstacles anyway.
func (s *service) retry() error {
	if present, wanted := len(s.present()), s.wanted(); present >= wanted && len(s.a.Shunned) == 0 {
		return &Refusal{"", fmt.Sprintf(
			"%s is on %d of %d engines, and none failed to start it: there is nothing to retry",
			s.vs.Name, present, wanted)}
	}
	s.a.Shunned = nil
	return nil
}

func (s *service) counting() []Seat {
	var counting []Seat
	for _, seat := range s.a.Seats {
		if seat.counts() {
			counting = append(counting, seat)
		}
	}
	return counting
}

// takeOn adds a seat on the engine that an operator chose.
func (s *service) takeOn(to string, cause Cause) error {
	engine := s.engines[to]
	if engine == nil || engine.Group != s.group {
		return &Refusal{"to_se_ref", fmt.Sprintf("%s is not in group %s", s.name(to), s.group.Name)}
	}
	if !strings.HasPrefix(s.objection(engine), "failed to start") && s.objection(engine) != "" {
		return &Refusal{"to_se_ref", fmt.Sprintf("%s %s", engine.Name, s.objection(engine))}
	}
	s.take(to, Starting, cause)
	return nil
}

// send makes a seat leave.
func (s *service) send(from string, cause Cause) error {
	if from == "" {
		return &Refusal{"", fmt.Sprintf("%s is on no engine yet", s.vs.Name)}
	}
	if seat := s.a.seat(from); seat == nil || !seat.counts() {
		return &Refusal{"from_se_ref", fmt.Sprintf("%s does not serve %s", s.name(from), s.vs.Name)}
	}
	s.become(from, Leaving, cause)
	return nil
}
