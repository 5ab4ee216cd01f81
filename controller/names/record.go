package names

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

const (
	// Kind is the kind of the records with the addresses of names, whose uuid is that of the pool.
	Kind     = "poolnames"
	poolKind = "pool"

	// addressesMost is how many addresses of a name are servers, and how many are kept of those that it had.
	addressesMost = 64
	// serversMost is how many servers a pool has at most, with those that follow from names.
	serversMost = 5000
)

// Resolved are the addresses of the names in one pool.
type Resolved struct {
	UUID  string `json:"uuid"` // of the pool
	Names []Name `json:"names"`
}

// Name is what a name stands for.
type Name struct {
	Name      string       `json:"name"`
	Addresses []netip.Addr `json:"addresses"` // in order
	Gone      []netip.Addr `json:"gone"`      // that it had, in order, if these are kept
}

// ObjectOf says to which object a record of this package belongs; empty: the record is none of this package.
func ObjectOf(recordKind string) (kind string) {
	if recordKind == Kind {
		return poolKind
	}
	return ""
}

// of returns nil if there is nothing about the name.
func (r *Resolved) of(name string) *Name {
	if r == nil {
		return nil
	}
	if i := slices.IndexFunc(r.Names, func(known Name) bool { return known.Name == name }); i >= 0 {
		return &r.Names[i]
	}
	return nil
}

// with returns the addresses of the wanted names, with new ones of one of them. keeps says that addresses which a name
// has no more are remembered.
func (r *Resolved) with(wanted wanted, name string, addresses []netip.Addr) *Resolved {
	after := &Resolved{UUID: wanted.uuid}
	for _, each := range wanted.names {
		known := r.of(each)
		if each == name {
			fresh := &Name{Name: each, Addresses: addresses}
			if wanted.keeps && known != nil {
				fresh.Gone = slices.Concat(known.Addresses, known.Gone)
				fresh.Gone = slices.DeleteFunc(fresh.Gone, func(a netip.Addr) bool {
					return slices.Contains(addresses, a)
				})
				fresh.Gone = fresh.Gone[:min(len(fresh.Gone), addressesMost)]
				slices.SortFunc(fresh.Gone, netip.Addr.Compare)
			}
			known = fresh
		}
		if known != nil {
			after.Names = append(after.Names, *known)
		}
	}
	return after
}

func (r *Resolved) equal(other *Resolved) bool {
	return other != nil && slices.EqualFunc(r.Names, other.Names, func(a, b Name) bool {
		return a.Name == b.Name && slices.Equal(a.Addresses, b.Addresses) && slices.Equal(a.Gone, b.Gone)
	})
}

// in returns what is stored about a pool; nil: nothing, or a record of another version: it is resolved again.
func in(view *store.View, pool string) *Resolved {
	record, _ := view.Get(Kind, pool)
	resolved, _ := store.Read[Resolved](record)
	return resolved
}

// wanted are the names of a pool.
type wanted struct {
	uuid, name, tenant string // of the pool
	names              []string
	keeps              bool // a server stays, disabled, when its name has its address no more
}

func wantedBy(record *store.Record) wanted {
	deletes, said := record.Object["delete_server_on_dns_refresh"].(bool)
	tenant, _ := record.Object["tenant_ref"].(string)
	w := wanted{uuid: record.UUID, name: record.Name, tenant: schema.UUIDOf("tenant", tenant), keeps: said && !deletes}
	for _, server := range servers(record.Object) {
		if name := kinds.NameOfServer(server); name != "" && !slices.Contains(w.names, name) {
			w.names = append(w.names, name)
		}
	}
	return w
}

func servers(pool schema.Object) (found []schema.Object) {
	all, _ := pool["servers"].([]any)
	for _, each := range all {
		if server, is := each.(schema.Object); is {
			found = append(found, server)
		}
	}
	return found
}

// Into returns a copy of a pool in which a server stands for each address of a name, or the pool itself if it has no
// names. A server whose name has no address for it stays as it is. An address is one server of the pool, whatever names
// have it: one that stands in the pool comes first, then one that a name has now, then one that a name had.
func Into(view *store.View, uuid string, pool schema.Object) schema.Object {
	resolved := in(view, uuid)
	if resolved == nil {
		return pool
	}
	typed, err := schema.Into[kinds.Pool](pool)
	if err != nil {
		return pool // which is left out, and a finding says why
	}
	var candidates []candidate
	for at, server := range servers(pool) {
		claimant := typed.Servers[at]
		known := resolved.of(kinds.NameOfServer(server))
		if known == nil || !slices.ContainsFunc(known.Addresses, func(a netip.Addr) bool { return fits(server, a) }) {
			candidates = append(candidates, candidate{server, claimant.ID(typed.DefaultServerPort), stands})
			continue
		}
		for i, address := range slices.Concat(known.Addresses, known.Gone) {
			if !fits(server, address) {
				continue
			}
			made, claim := maps.Clone(server), named
			made["ip"] = schema.Object{"addr": address.String(), "type": familyOf(address)}
			claimant.IP = &kinds.IPAddr{Addr: address.String(), Type: familyOf(address)}
			if i >= len(known.Addresses) {
				made["enabled"] = false
				claim = wasNamed
			}
			candidates = append(candidates, candidate{made, claimant.ID(typed.DefaultServerPort), claim})
		}
	}
	chosen := map[string]int{}
	for _, claim := range []claim{stands, named, wasNamed} {
		for i, candidate := range candidates {
			if _, taken := chosen[candidate.id]; candidate.claim == claim && !taken && len(chosen) < serversMost {
				chosen[candidate.id] = i
			}
		}
	}
	var all []any
	for i, candidate := range candidates {
		if first, is := chosen[candidate.id]; is && first == i {
			all = append(all, candidate.server)
		}
	}
	copied := maps.Clone(pool)
	copied["servers"] = all
	return copied
}

// candidate may be a server of a pool.
type candidate struct {
	server schema.Object
	id     string // of the server
	claim  claim
}

// claim is why an address is one of a server.
type claim int

const (
	stands   claim = iota // in the pool
	named                 // by a name
	wasNamed              // by a name that has it no more
)

// fits tells whether a server may have the address: one that has an address of a family gets others of that family.
func fits(server schema.Object, address netip.Addr) bool {
	ip, _ := server["ip"].(schema.Object)
	return ip["type"] == "DNS" || ip["type"] == familyOf(address)
}

func familyOf(address netip.Addr) string {
	if address.Is4() {
		return "V4"
	}
	return "V6"
}
