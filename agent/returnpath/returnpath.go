// Package returnpath has the kernel give the data plane the answers of servers that see the addresses of clients. Such
// an answer is addressed to a client. It comes to this machine because the machine is the gateway of its server, and
// the kernel would pass it on.
//
// rules.go has the rules for choosing a routing table, by which these answers are delivered here; kernel.go reads,
// adds and removes them. Rules are there before a Plan serves that needs them, and go when none needs them any more.
// Rules that a crash has left are found by their numbers.
package returnpath

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/weir-lb/weir/agent/plan"
)

const (
	// answerersMax bounds the rules of one Plan. The kernel looks at rules one after the other. While Plans change, it
	// has those of all Plans that may serve.
	answerersMax = 512
	// attendEvery is the number of calls of Attend between two looks: others may remove rules, as systemd-networkd does
	// when it starts.
	attendEvery = 10
)

// Config says whose return path it is.
type Config struct {
	EngineUUID func() string
	Keep       bool // at the end, leave the rules to the next agent
	Log        *slog.Logger
}

// Set is the return path of an engine. Its methods ask the kernel, and may take long.
type Set struct {
	Config

	mu       sync.Mutex
	kernel   kernel
	plans    plan.Standing
	known    bool          // what serves is known: it needs no rules but those of held
	added    map[rule]bool // by this agent
	has      map[bool]bool // families of which the kernel has something of ours, or may have
	attended int           // calls of Attend since the last look
	failure  string        // the last that was logged
	closed   bool
}

// New returns a Set that does nothing before the first Plan. It takes over the rules of an agent before it.
func New(config Config) *Set {
	return &Set{Config: config, added: map[rule]bool{}, has: map[bool]bool{false: true, true: true}}
}

// Expect adds what a new Plan needs, while the current one still serves. If it cannot, it returns why the Plan cannot
// serve, and does not expect it.
func (s *Set) Expect(coming *plan.Plan) []plan.Finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wanted := coming.Answerers(); !s.closed && len(wanted) > 0 {
		if findings := refusals(wanted); findings != nil {
			return findings
		}
		if findings := findingsOf(wanted, s.ensure(wanted)); findings != nil {
			return findings
		}
	}
	s.plans.Expect(coming)
	return nil
}

// Hold is called when a Plan serves. It removes what this Plan does not need.
func (s *Set) Hold(plan *plan.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = true
	s.plans.Hold(plan)
	s.follow()
}

// Assume is called when a Plan serves that the agent does not have, and this one stands for it. Rules of an earlier
// agent stay, because the Plan that serves may need them.
func (s *Set) Assume(plan *plan.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans.Hold(plan)
	s.follow()
}

// Refused is called when a new Plan was refused, by Expect or by the data plane, and the current one keeps serving.
// Others may be on their way.
func (s *Set) Refused(plan *plan.Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans.Drop(plan)
	s.follow()
}

// Attend adds from time to time what somebody else has removed, and tries again what has failed.
func (s *Set) Attend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := s.plans.Held.Answerers()
	switch s.attended++; {
	case s.closed:
	case s.failure != "":
		s.follow()
	case len(wanted) > 0 && s.attended >= attendEvery:
		s.attended = 0
		s.complain(s.ensure(wanted))
	}
}

// Close removes everything, or leaves it to the next agent.
func (s *Set) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if !s.Keep {
		s.plans, s.known = plan.Standing{}, true
		s.follow()
	}
	s.closed = true
}

// follow brings the kernel to what the Plan needs that serves, and keeps what coming ones need.
func (s *Set) follow() {
	if s.closed {
		return
	}
	var needed []plan.Answerer
	for _, each := range s.plans.All() {
		needed = append(needed, each.Answerers()...)
	}
	s.complain(errors.Join(s.ensure(s.plans.Held.Answerers()), s.retain(needed)))
}

// ensure adds the missing rules, and the routes that they lead to before them.
func (s *Set) ensure(wanted []plan.Answerer) error {
	rules := rulesFor(wanted)
	has := map[bool]map[rule]bool{}
	for _, each := range rules {
		if has[each.is6] == nil {
			there, err := s.numbers().rules(each.is6)
			if err != nil {
				return err
			}
			s.has[each.is6] = true
			if err := s.kernel.deliver(each.is6); err != nil {
				return err
			}
			has[each.is6] = there
		}
		if has[each.is6][each] {
			continue
		}
		if err := s.kernel.add(each); err != nil {
			return err
		}
		s.added[each] = true
	}
	return nil
}

// retain removes other rules of ours, and routes without rules after them. While it is not known what serves, it
// removes only rules that this agent has added.
func (s *Set) retain(wanted []plan.Answerer) (failed error) {
	stays := map[rule]bool{}
	for _, each := range rulesFor(wanted) {
		stays[each] = true
	}
	for _, is6 := range []bool{false, true} {
		if s.has[is6] {
			failed = errors.Join(failed, s.retainOf(is6, stays))
		}
	}
	return failed
}

func (s *Set) retainOf(is6 bool, stays map[rule]bool) (failed error) {
	there, err := s.numbers().rules(is6)
	switch {
	case errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.EOPNOTSUPP):
		s.has[is6] = false // this kernel has no such family, so there can be no rules
		return nil
	case err != nil:
		return err
	}
	for _, stage := range removal {
		for each := range there {
			if each.stage != stage || stays[each] || !s.known && !s.added[each] {
				continue
			}
			if err := s.kernel.remove(each); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			delete(there, each)
			delete(s.added, each)
		}
	}
	if len(there) == 0 {
		failed = errors.Join(failed, s.kernel.undeliver(is6))
	}
	s.has[is6] = len(there) > 0 || failed != nil
	return failed
}

// numbers are the engine's. It has them from its first Plan on, and for good.
func (s *Set) numbers() kernel {
	if s.kernel.first == 0 {
		s.kernel.first = firstOf(s.EngineUUID())
	}
	return s.kernel
}

// refusals says which servers cannot answer through this machine.
func refusals(wanted []plan.Answerer) (findings []plan.Finding) {
	if len(wanted) > answerersMax {
		return []plan.Finding{{Object: wanted[answerersMax].Service, Field: "pool_ref", Message: fmt.Sprintf(
			"virtual services that keep the addresses of clients have %d servers in all, and an engine takes %d: give "+
				"fewer, or set snat to true", len(wanted), answerersMax)}}
	}
	own, err := ownAddresses()
	if err != nil {
		return findingsOf(wanted, err)
	}
	for _, each := range wanted {
		if address := each.At.Addr(); address.IsLoopback() || own[address] {
			findings = append(findings, plan.Finding{Object: each.Service, Field: "pool_ref", Message: fmt.Sprintf(
				"server %s is on this engine, so its answers to clients would not come to the data plane: move the "+
					"server to another machine, or set snat to true", each.At)})
		}
	}
	return findings
}

// findingsOf says at each virtual service that needs it what failed.
func findingsOf(wanted []plan.Answerer, err error) (findings []plan.Finding) {
	if err == nil {
		return nil
	}
	said := map[plan.Object]bool{}
	for _, each := range wanted {
		if !said[each.Service] {
			said[each.Service] = true
			findings = append(findings, plan.Finding{Object: each.Service, Field: "network_profile_ref",
				Message: "answers to the addresses of clients cannot be delivered on this engine: " + explain(err)})
		}
	}
	return findings
}

// explain adds what to do to what the kernel says.
func explain(err error) string {
	switch {
	case errors.Is(err, unix.EPERM):
		return err.Error() + "; give the agent CAP_NET_ADMIN, or set snat to true"
	case errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.EOPNOTSUPP):
		return err.Error() + "; the kernel needs IP_MULTIPLE_TABLES, and IPV6_MULTIPLE_TABLES for IPv6"
	default:
		return err.Error()
	}
}

// complain says each failure once.
func (s *Set) complain(err error) {
	failure := ""
	if err != nil {
		failure = explain(err)
	}
	if failure != "" && failure != s.failure {
		s.Log.Error("answers to the addresses of clients may not come to the data plane", "reason", failure)
	}
	s.failure = failure
}
