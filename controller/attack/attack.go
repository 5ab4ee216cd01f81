// Package attack finds attacks on virtual services: what engines have counted in a period, of refused requests, failed
// handshakes and the like, exceeds a threshold of the application profile. It looks each second, and tells as events
// when an attack begins, becomes severe, and is over. Alerts and pages ask it.
//
// It belongs to the leader, and is in memory: the next leader begins to count again, and tells of an attack that lasts.
package attack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weir-lb/weir/controller/events"
	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const (
	lookEvery = time.Second
	// knownAfter is how long a new leader needs at least to find attacks: engines have to connect first.
	knownAfter = time.Minute
)

// Attack is an attack on a virtual service that lasts.
type Attack struct {
	Name   string // DOS_REQ_IP_RL_DROP
	Since  time.Time
	Count  int64 // in the last period
	Most   int64 // in any period of it
	Severe bool
}

// Watch knows the attacks. It is safe for concurrent use.
type Watch struct {
	fleet  *fleet.Fleet
	events *events.Log
	now    func() time.Time

	// Only Look uses them.
	model   *model.Model
	guarded []*model.VirtualService // those with thresholds

	mu       sync.RWMutex
	services map[string]*service // by uuid; those that are guarded
	began    time.Time           // the first look at a model
}

// service is a virtual service with thresholds.
type service struct {
	object  *model.VirtualService
	period  time.Duration
	watches []watch
	turn    fleet.Turn
	counted map[string]int64
	silent  silences
	heard   time.Time // when all its engines were first heard; zero: not yet
}

// seen is what a look sees of a virtual service.
type seen struct {
	turn    fleet.Turn
	counted map[string]int64
	hearing
}

// New returns a watch that knows of no attack. Run looks.
func New(fleet *fleet.Fleet, told *events.Log, now func() time.Time) *Watch {
	return &Watch{fleet: fleet, events: told, now: now, services: map[string]*service{}}
}

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
			w.Look()
		}
	}
}

// Of returns the attacks on a virtual service, the longest first. It does not wait for the fleet.
func (w *Watch) Of(serviceUUID string) (lasting []Attack) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	s := w.services[serviceUUID]
	if s == nil {
		return nil
	}
	for i := range s.watches {
		if s.watches[i].lasts {
			lasting = append(lasting, s.watches[i].Attack)
		}
	}
	slices.SortStableFunc(lasting, func(a, b Attack) int { return a.Since.Compare(b.Since) })
	return lasting
}

// IsOver tells whether there is no such attack. It is not known until all engines of the virtual service have been
// heard, and then for as long as an attack needs to show.
func (w *Watch) IsOver(serviceUUID, attack string) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	s := w.services[serviceUUID]
	if s == nil {
		return w.isPast(w.began, knownAfter)
	}
	is := func(watch watch) bool { return watch.Name == attack }
	at := slices.IndexFunc(s.watches, is)
	if at < 0 {
		return w.isPast(w.began, knownAfter)
	}
	return !s.watches[at].lasts && w.isPast(s.heard, max(knownAfter, 2*s.period))
}

func (w *Watch) isPast(since time.Time, least time.Duration) bool {
	return !since.IsZero() && w.now().Sub(since) >= least
}

// Look looks at all virtual services with thresholds once.
func (w *Watch) Look() {
	at := w.now()
	hasModel := false
	w.fleet.Read(func(known *fleet.Known) {
		hasModel = known.HasModel()
		if newest := known.Model(); newest != w.model {
			w.model = newest
			w.guarded = slices.DeleteFunc(slices.Clone(newest.VirtualServices), func(vs *model.VirtualService) bool {
				return len(guards(vs)) == 0
			})
		}
	})
	if !hasModel {
		return
	}
	if len(w.guarded) == 0 && len(w.services) == 0 { // only Look changes it
		w.begin(at)
		return
	}
	all, places := make([]seen, len(w.guarded)), make([]int, len(w.guarded))
	for i := range places {
		places[i] = i
	}
	fleet.ReadEach(w.fleet, places, func(known *fleet.Known, i int) {
		all[i] = see(known, w.guarded[i], w.services[w.guarded[i].UUID], at)
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	next := make(map[string]*service, len(w.guarded))
	for i, vs := range w.guarded {
		s := w.services[vs.UUID]
		if s == nil {
			s = &service{}
		}
		next[vs.UUID] = s
		s.turn, s.counted, s.silent = all[i].turn, all[i].counted, all[i].silent
		if all[i].whole {
			s.heard = cmp.Or(s.heard, at)
		}
		w.follow(s, vs, at, all[i].hearing)
	}
	for uuid, gone := range w.services {
		if next[uuid] == nil {
			w.drop(gone.object, gone.watches)
		}
	}
	w.services = next
	w.began = cmp.Or(w.began, at)
}

func (w *Watch) begin(at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = cmp.Or(w.began, at)
}

// guards are the thresholds of a virtual service that engines count for.
func guards(vs *model.VirtualService) (guards []kinds.DosThreshold) {
	if vs.ApplicationProfile == nil || vs.ApplicationProfile.DosRateLimit == nil ||
		vs.ApplicationProfile.DosRateLimit.DosProfile == nil {
		return nil
	}
	has := kinds.AttackOnHTTP
	switch {
	case vs.UDP != nil:
		has = kinds.AttackOnAny
	case vs.HTTP == nil:
		has = kinds.AttackOnConnection
	}
	seen := map[string]bool{} // older versions stored an attack twice
	for _, threshold := range vs.ApplicationProfile.DosRateLimit.DosProfile.Thresholds {
		if threshold.IsOn(has) && !seen[threshold.Attack] {
			seen[threshold.Attack] = true
			guards = append(guards, threshold)
		}
	}
	return guards
}

// see looks at a virtual service; before: nil if there was no look at it before.
func see(known *fleet.Known, vs *model.VirtualService, before *service, at time.Time) (s seen) {
	var silent silences
	if before != nil {
		silent = before.silent
	}
	s.turn = known.ServiceTurn(vs.UUID)
	s.hearing = listen(known, vs, silent, at)
	if before != nil && before.turn == s.turn && before.counted != nil {
		s.counted = before.counted // nothing was counted since
	} else {
		s.counted = known.CountedOfService(vs.UUID)
	}
	return s
}

func periodOf(vs *model.VirtualService) time.Duration {
	return vs.ApplicationProfile.DosRateLimit.DosProfile.Period()
}

// follow takes what was counted of a virtual service until now, and tells what has changed.
func (w *Watch) follow(s *service, vs *model.VirtualService, at time.Time, heard hearing) {
	if s.object != vs {
		s.settle(w, vs)
	}
	for i := range s.watches {
		of := &s.watches[i]
		total := countOf(of.Name, s.counted)
		for _, late := range heard.late {
			of.spread(late.since, at, countOf(of.Name, late.counted), total)
		}
		switch of.follow(at, total, s.period, heard.whole) {
		case begins:
			w.tell(vs, "DOS_ATTACK", of.Name, fmt.Sprintf("%s: %s in %v, of %d: an attack%s", of.Name,
				amount(of.Count, of.Name), s.period, of.least, severity(of.Severe)))
		case worsens:
			w.tell(vs, "DOS_ATTACK", of.Name, fmt.Sprintf("%s: %s in %v, of %d: the attack is severe", of.Name,
				amount(of.Count, of.Name), s.period, of.severe))
		case ends:
			w.tell(vs, "DOS_ATTACK_ENDED", of.Name, fmt.Sprintf(
				"%s: the attack is over after %v, with at most %s in %v",
				of.Name, (of.lastAt.Sub(of.Since)+s.period).Round(time.Second), amount(of.Most, of.Name), s.period))
		case nothing:
		}
	}
}

func severity(severe bool) string {
	if severe {
		return ", and a severe one"
	}
	return ""
}

// settle takes the thresholds of a virtual service that was written. Those of attacks that had one before go on.
func (s *service) settle(w *Watch, vs *model.VirtualService) {
	period := periodOf(vs)
	before := s.watches
	s.watches = nil
	for _, threshold := range guards(vs) {
		next := watch{Attack: Attack{Name: threshold.Attack}}
		is := func(watch watch) bool { return watch.Name == threshold.Attack }
		if at := slices.IndexFunc(before, is); at >= 0 {
			next = before[at]
			before = slices.Delete(before, at, at+1)
			if period != s.period {
				next.points = nil
			}
		}
		next.least, next.severe = threshold.Min, max(threshold.Min, threshold.Max)
		s.watches = append(s.watches, next)
	}
	w.drop(s.object, before)
	s.object, s.period = vs, period
}

// drop tells that attacks have no thresholds any more.
func (w *Watch) drop(vs *model.VirtualService, watches []watch) {
	for _, of := range watches {
		if of.lasts {
			w.tell(vs, "DOS_ATTACK_ENDED", of.Name, of.Name+": has no threshold any more")
		}
	}
}

func (w *Watch) tell(vs *model.VirtualService, id, attack, message string) {
	w.events.Add(events.Entry{ID: id, Kind: "VIRTUALSERVICE", UUID: vs.UUID, Name: vs.Name, Tenant: vs.Tenant(),
		Message: message, Part: attack})
}
