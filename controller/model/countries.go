package model

import (
	"fmt"
	"net/netip"

	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Countries says in which country addresses are, by the country's two letters (ISO 3166). The ranges of a country are
// sorted, IPv4 first, and do not touch. Nil: nobody knows.
type Countries map[string][]AddressRange

// locatedMost bounds the ranges of a group: a Plan has at most 64 MiB.
const locatedMost = 400_000

// AddressRange is a range of addresses of one family; Last is part of it.
type AddressRange struct{ First, Last netip.Addr }

// AddressGroup is a set of addresses with those of its countries.
type AddressGroup struct {
	kinds.IpAddrGroup
	Located   [][]AddressRange // of the countries, in their order
	IsPartial bool             // of a child that it closes: some of its addresses may be unknown
	IsPlace   bool             // no object of an operator's, but a place that rules name
}

// Size is the number of addresses, subnets and ranges of a group.
func (g *AddressGroup) Size() int {
	size := len(g.Addrs) + len(g.Prefixes) + len(g.Ranges)
	for _, ranges := range g.Located {
		size += len(ranges)
	}
	return size
}

// addressGroup closes the virtual services with rules that use a group with an unknown country: the rule could let in
// whom it should keep out.
func (r *reading) addressGroup(g *kinds.IpAddrGroup) *AddressGroup {
	wrapped, located := &AddressGroup{IpAddrGroup: *g}, 0
	for i, code := range g.CountryCodes {
		ranges, known := r.countries[code]
		if !known {
			why := "the file of the controller has no addresses of the country %s"
			if r.countries == nil {
				why = "which addresses are in %s is not known: start the controller with --countries FILE"
			}
			why += "; no virtual service with this ipaddrgroup is served"
			r.find("ipaddrgroup", fmt.Sprintf("country_codes[%d]", i), why, code)
			r.closes = true
			continue
		}
		wrapped.Located = append(wrapped.Located, ranges)
		located += len(ranges)
	}
	if located > locatedMost {
		r.find("ipaddrgroup", "country_codes",
			"these countries have %d ranges of addresses, more than the %d that engines "+
				"can get in a group: no virtual service with this ipaddrgroup is served", located, locatedMost)
		r.closes, wrapped.Located = true, nil
	}
	return wrapped
}
