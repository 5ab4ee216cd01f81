package model

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// serversMost is the maximum of servers of a pool, those of its address group included.
const serversMost = 5000

// usualServer is a server about which an object says nothing but its address.
var usualServer = schema.Defaults[kinds.Server]()

// Size is the number of servers that a pool should have, also those without an address.
func (p *Pool) Size() int { return len(p.Servers) + p.ofGroup }

// addGroup adds the addresses of an address group as servers, at the port of the pool or at their own. Those that are
// servers already stay as they are.
func (p *Pool) addGroup(from *source, group *AddressGroup) {
	const field = "ipaddrgroup_ref"
	if len(group.Prefixes) > 0 || len(group.CountryCodes) > 0 {
		from.find(field, "subnets and countries of %s are no servers: only its addresses, ranges and ip_ports are",
			group.Name)
	}
	taken := make(map[string]bool, len(p.Members))
	for _, member := range p.Members {
		taken[member.ID] = true
	}
	// The pool shares the list with the object as it was read.
	p.Members = slices.Clip(p.Members)
	add := func(at string, address netip.Addr, port uint32, name string) (full bool) {
		address = address.Unmap() // "::ffff:10.0.0.1" is the server 10.0.0.1
		server := *usualServer
		server.Port, server.Hostname = port, cmp.Or(name, address.String())
		server.IP = &kinds.IPAddr{Addr: address.String(), Type: "V4"}
		if address.Is6() {
			server.IP.Type = "V6"
		}
		if why := kinds.NoServer(address, server.PortOr(p.DefaultServerPort)); why != "" {
			from.find(field, "%s of %s: %s: it gets no requests", at, group.Name, why)
			return false
		}
		id := server.ID(p.DefaultServerPort)
		if taken[id] {
			return false
		}
		if len(p.Members) >= serversMost {
			return true
		}
		taken[id] = true
		p.ofGroup++
		p.Members = append(p.Members, Member{
			Server: server, ID: id, OfGroup: true,
			Address: netip.AddrPortFrom(address, uint16(server.PortOr(p.DefaultServerPort))),
		})
		return false
	}
	for i := range group.Addrs {
		at := fmt.Sprintf("addrs[%d]", i)
		if address := group.Addrs[i].Address(); !address.IsValid() {
			from.find(field, "%s of %s is no address", at, group.Name)
		} else if add(at, address, 0, "") {
			p.tooMany(from, field)
			return
		}
	}
	for i, each := range group.IPPorts {
		if each.IP == nil || !each.IP.Address().IsValid() {
			from.find(field, "ip_ports[%d] of %s has no address, and names in address groups are not resolved: give it "+
				"ip, or name the server in servers", i, group.Name)
		} else if each.Port == 0 {
			from.find(field, "ip_ports[%d] of %s has no port: it gets no requests", i, group.Name)
		} else if add(fmt.Sprintf("ip_ports[%d]", i), each.IP.Address(), each.Port, each.Hostname) {
			p.tooMany(from, field)
			return
		}
	}
	for i, each := range group.Ranges {
		at := fmt.Sprintf("ranges[%d]", i)
		end := each.End.Address()
		for address := each.Begin.Address(); address.IsValid() && !end.Less(address); address = address.Next() {
			if add(at, address, 0, "") {
				p.tooMany(from, field)
				return
			}
			if address.Unmap().IsMulticast() {
				break // there are many more
			}
		}
	}
}

func (p *Pool) tooMany(from *source, field string) {
	from.find(field, "a pool has at most %d servers: the other addresses get no requests", serversMost)
}
