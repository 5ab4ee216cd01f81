package explain

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/fleet"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

type service = kinds.Service

// Found is where a request goes first: the virtual service that has the listener, or, where the user names one, a child
// of that.
type Found struct {
	VirtualService string // uuid
	Name           string
	Address        netip.Addr
}

// namesShown bounds the names in a message.
const namesShown = 5

// Find chooses the virtual service that a request is for, among those that the user sees. why says why there is none,
// and what to do; empty: there is one.
func (e *Explainer) Find(q Question, draft *Draft, sees func(uuid string) bool) (found Found, why string) {
	e.fleet.Read(func(known *fleet.Known) {
		if q.VirtualService != "" {
			found, why = named(draft.objects(known), q)
		} else {
			found, why = reached(draft.model(known), q, sees)
		}
	})
	return found, why
}

// named is the virtual service that the user names, at the address that the user names or at its first.
func named(known objects, q Question) (Found, string) {
	vs := known.VirtualService(q.VirtualService)
	if vs == nil {
		return Found{}, "the virtual service is not there, or cannot be read: see its runtime"
	}
	seats := known.VirtualService(vs.SeatsOf())
	switch {
	case seats == nil, !listens(vs, q.Port):
		return Found{}, fmt.Sprintf("%s has no port %d", vs.Name, q.Port)
	case !takesConnections(seats, q.Port):
		return Found{}, fmt.Sprintf("port %d of %s is for datagrams, and no requests come to it", q.Port, vs.Name)
	}
	address := addressOf(q)
	if !address.IsValid() && len(seats.Addresses) > 0 {
		address = seats.Addresses[0]
	}
	if !address.IsValid() {
		return Found{}, vs.Name + " has no address"
	}
	return Found{VirtualService: seats.UUID, Name: seats.Name, Address: address}, ""
}

// addressOf is invalid if the question has no address.
func addressOf(q Question) netip.Addr {
	if q.Address.IsValid() {
		return q.Address
	}
	literal, err := netip.ParseAddr(q.Host)
	if err != nil {
		return netip.Addr{}
	}
	return literal
}

// reached is the virtual service that a client of the URL reaches.
func reached(m *model.Model, q Question, sees func(uuid string) bool) (Found, string) {
	address := addressOf(q)
	var at, byName []*model.VirtualService
	var where netip.Addr
	for _, vs := range m.VirtualServices {
		if vs.IsChild() || len(vs.Addresses) == 0 || !takesConnections(vs, q.Port) || !sees(vs.UUID) {
			continue
		}
		for _, own := range vs.Addresses {
			if own.Unmap() == address.Unmap() {
				return Found{VirtualService: vs.UUID, Name: vs.Name, Address: own}, ""
			}
		}
		at = append(at, vs)
		if isHostOf(m, vs, q.Host) {
			byName = append(byName, vs)
		}
	}
	switch {
	case address.IsValid():
		return Found{}, fmt.Sprintf("no virtual service that you may read listens at %s",
			netip.AddrPortFrom(address, q.Port))
	case len(byName) == 1:
		at = byName
	case len(at) == 0:
		return Found{}, fmt.Sprintf("no virtual service that you may read listens on port %d", q.Port)
	case len(at) > 1:
		return Found{}, fmt.Sprintf("%s may be %s: say which with virtualservice, or with address", q.Host,
			listed(namesOf(at)))
	}
	where = at[0].Addresses[0]
	return Found{VirtualService: at[0].UUID, Name: at[0].Name, Address: where}, ""
}

// isHostOf tells whether a child of a virtual service wants a host.
func isHostOf(m *model.Model, parent *model.VirtualService, host string) bool {
	for _, vs := range m.VirtualServices {
		if !vs.IsChild() || vs.SeatsOf() != parent.UUID {
			continue
		}
		for _, pattern := range vs.VHDomainNames {
			if matches(pattern, host) {
				return true
			}
		}
		for _, match := range vs.VHMatches {
			if matches(match.Host, host) {
				return true
			}
		}
	}
	return false
}

// matches compares a host with "a.test", "*.a.test" (below a.test), ".a.test" (a.test, too), "a.*".
func matches(pattern, host string) bool {
	pattern, host = strings.ToLower(pattern), strings.ToLower(host)
	if below, is := strings.CutPrefix(pattern, "*."); is {
		return strings.HasSuffix(host, "."+below)
	}
	if from, is := strings.CutPrefix(pattern, "."); is {
		return host == from || strings.HasSuffix(host, pattern)
	}
	if begin, is := strings.CutSuffix(pattern, ".*"); is {
		return strings.HasPrefix(host, begin+".")
	}
	return pattern == host
}

func namesOf(all []*model.VirtualService) (names []string) {
	for _, vs := range all {
		names = append(names, vs.Name)
	}
	return names
}

// listed are the first of some texts, and how many more there are.
func listed(all []string) string {
	shown := slices.Clone(all[:min(len(all), namesShown)])
	if more := len(all) - namesShown; more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return strings.Join(shown, ", ")
}
