package names

import (
	"cmp"
	"encoding/json"
	"fmt"
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

// in returns what is stored about a pool; nil: nothing.
func in(view *store.View, pool string) *Resolved {
	record, _ := view.Get(Kind, pool)
	if record == nil {
		return nil
	}
	body, err := json.Marshal(record.Object)
	resolved := new(Resolved)
	if err != nil || json.Unmarshal(body, resolved) != nil {
		return nil // of another version: it is resolved again
	}
	return resolved
}

func (r *Resolved) record() (*store.Record, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	object, err := schema.Parse(Kind, body)
	if err != nil {
		return nil, err
	}
	return &store.Record{Kind: Kind, UUID: r.UUID, Name: r.UUID, Object: object}, nil
}

// wanted are the names of a pool.
type wanted struct {
	uuid, name, tenant string // of the pool
	names              []string
	keeps              bool // a server stays, disabled, when its name has its address no more
}

func wantedBy(record *store.Record) wanted {
	deletes, said := record.Object["delete_server_on_dns_refresh"].(bool)
	w := wanted{uuid: record.UUID, name: record.Name, keeps: said && !deletes}
	if reference, ok := record.Object["tenant_ref"].(string); ok {
		if parsed, err := schema.ParseRef("tenant", reference); err == nil {
			w.tenant = parsed.UUID
		}
	}
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
	var candidates []candidate
	for _, server := range servers(pool) {
		known := resolved.of(kinds.NameOfServer(server))
		if known == nil || !slices.ContainsFunc(known.Addresses, func(a netip.Addr) bool { return fits(server, a) }) {
			candidates = append(candidates, candidate{server, stands})
			continue
		}
		for i, address := range slices.Concat(known.Addresses, known.Gone) {
			if !fits(server, address) {
				continue
			}
			made, claim := maps.Clone(server), named
			made["ip"] = schema.Object{"addr": address.String(), "type": familyOf(address)}
			if i >= len(known.Addresses) {
				made["enabled"] = false
				claim = wasNamed
			}
			candidates = append(candidates, candidate{made, claim})
		}
	}
	chosen := map[string]int{}
	for _, claim := range []claim{stands, named, wasNamed} {
		for i, candidate := range candidates {
			id := identity(pool, candidate.server)
			if _, taken := chosen[id]; candidate.claim == claim && !taken && len(chosen) < serversMost {
				chosen[id] = i
			}
		}
	}
	var all []any
	for i, candidate := range candidates {
		if first, is := chosen[identity(pool, candidate.server)]; is && first == i {
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
	claim  claim
}

// claim is why an address is one of a server.
type claim int

const (
	stands   claim = iota // in the pool
	named                 // by a name
	wasNamed              // by a name that has it no more
)

// identity tells the servers of a pool apart, as the engines do: by address and port.
func identity(pool, server schema.Object) string {
	ip, _ := server["ip"].(schema.Object)
	host := fmt.Sprint(ip["addr"])
	if address, err := netip.ParseAddr(host); err == nil {
		host = address.String()
	}
	port := server["port"]
	if port == nil || fmt.Sprint(port) == "0" {
		port = cmp.Or(pool["default_server_port"], any("80"))
	}
	return fmt.Sprint(host, " ", port)
}

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
