package admit

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const (
	serviceKind = "virtualservice"
	addressKind = "vsvip"
	networkKind = "networkprofile"
)

// place identifies a set of ports. The same address in another routing context has other ports, and so has another
// protocol.
type place struct {
	routing  string // vrf_context_ref
	protocol string // "TCP"
	address  netip.Addr
}

// listener is a range of ports at one place that only one entry of one virtual service may use. It also says which
// field of which object names the ports.
type listener struct {
	place
	owner       *store.Record
	first, last int64
	service     int // index in services of the virtual service
	vip         vip
}

func addressKey(address netip.Addr) string { return "address " + address.String() }

// listenersAreFree refuses a write after which two virtual services, or one for two of its entries, would listen on the
// same port of an address.
// Tenants make no difference, because engines serve all of them. view has the written object already; stored is the
// object before, nil for a new one.
func listenersAreFree(view *store.View, stored, written *store.Record) error {
	if written.Kind != serviceKind && written.Kind != addressKind && written.Kind != networkKind {
		return nil
	}
	if stored != nil && listensAs(stored, written) {
		return nil
	}
	others := neighbours{view: view, at: map[netip.Addr][]listener{}, twins: written.Kind != addressKind}
	for vs := range servicesOf(view, written) {
		for _, ours := range listenersOf(view, vs) {
			if theirs, taken := others.takes(ours); taken {
				return ours.taken(written, theirs)
			}
		}
	}
	return nil
}

// listening lists the fields, by kind, that say where a virtual service listens.
var listening = map[string][]string{
	serviceKind: {"enabled", "traffic_enabled", "type", "vsvip_ref", "vip", "vrf_context_ref", "services",
		"network_profile_ref"},
	addressKind: {"vip", "vrf_context_ref"},
}

// listensAs tells whether all virtual services listen after a write where they listened before.
func listensAs(stored, written *store.Record) bool {
	if written.Kind == networkKind {
		return protocolIn(stored) == protocolIn(written)
	}
	return !slices.ContainsFunc(listening[written.Kind], func(field string) bool {
		return !reflect.DeepEqual(stored.Object[field], written.Object[field])
	})
}

// servicesOf returns the virtual services that use an object; for a virtual service, itself.
func servicesOf(view *store.View, record *store.Record) iter.Seq[*store.Record] {
	return func(yield func(*store.Record) bool) {
		if record.Kind == serviceKind {
			yield(record)
			return
		}
		for referrer := range view.Referrers(record.Kind, record.UUID) {
			if referrer.Kind == serviceKind && !yield(referrer) {
				return
			}
		}
	}
}

// neighbours caches the listeners at each address.
type neighbours struct {
	view  *store.View
	at    map[netip.Addr][]listener
	twins bool // the entries of one virtual service are compared, too
}

// takes returns another listener on the same port.
func (n *neighbours) takes(ours listener) (by listener, taken bool) {
	others, known := n.at[ours.address]
	if !known {
		others = n.listenersAt(ours.address)
		n.at[ours.address] = others
	}
	for _, theirs := range others {
		if theirs.owner == ours.owner && (!n.twins || theirs.service == ours.service) {
			continue
		}
		if theirs.place == ours.place && ours.first <= theirs.last &&
			theirs.first <= ours.last {
			return theirs, true
		}
	}
	return by, false
}

func (n *neighbours) listenersAt(address netip.Addr) (found []listener) {
	for holder := range n.view.Indexed(addressKey(address)) {
		for vs := range servicesOf(n.view, holder) {
			for _, one := range listenersOf(n.view, vs) {
				if one.address == address {
					found = append(found, one)
				}
			}
		}
	}
	return found
}

func (l listener) taken(written *store.Record, by listener) error {
	where := netip.AddrPortFrom(l.address, uint16(max(l.first, by.first)))
	if l.owner == by.owner {
		return l.twice(written, by)
	}
	problem := fmt.Sprintf("%s, of virtual service %s, is served by virtual service %s already", where,
		l.owner.Name, by.owner.Name)
	switch written.Kind {
	case addressKind:
		return &schema.FieldError{Kind: addressKind, Field: l.vip.field(), Problem: problem}
	case networkKind:
		return &schema.FieldError{Kind: networkKind, Field: "profile.type", Problem: problem}
	default:
		return &schema.FieldError{Kind: serviceKind, Field: fmt.Sprintf("services[%d].port", l.service),
			Problem: fmt.Sprintf("%s is served by virtual service %s already", where, by.owner.Name)}
	}
}

// twice refuses the same port of two entries of a virtual service.
func (l listener) twice(written *store.Record, by listener) error {
	first, second := min(l.service, by.service), max(l.service, by.service)
	number := max(l.first, by.first)
	if written.Kind == networkKind {
		return &schema.FieldError{Kind: networkKind, Field: "profile.type", Problem: fmt.Sprintf(
			"virtual service %s has port %d in services[%d] and services[%d], which need profiles of different protocols",
			l.owner.Name, number, first, second)}
	}
	return &schema.FieldError{Kind: serviceKind, Field: fmt.Sprintf("services[%d].port", second), Problem: fmt.Sprintf(
		"%d is already in services[%d], and the network profiles of both are of the same protocol", number, first)}
}

// listenersOf returns all listeners of a virtual service. One that takes no traffic has none.
func listenersOf(view *store.View, vs *store.Record) []listener {
	if vs.Object["enabled"] == false || vs.Object["traffic_enabled"] == false ||
		vs.Object["type"] == "VS_TYPE_VH_CHILD" {
		return nil
	}
	holder := vs.Object
	if shared, ok := referred(view, addressKind, textOf(vs.Object, "vsvip_ref")); ok {
		holder = shared.Object
	}
	var found []listener
	for _, vip := range vipsIn(holder) {
		for i, service := range objectsIn(vs.Object, "services") {
			first, _ := service["port"].(int64)
			last, _ := service["port_range_end"].(int64)
			at := place{textOf(holder, "vrf_context_ref"), protocolOf(view, vs, service), vip.address}
			found = append(found, listener{place: at, owner: vs, first: first, last: max(first, last),
				service: i, vip: vip})
		}
	}
	return found
}

// protocolOf returns "TCP", "UDP" or "SCTP", as the network profile of a port says.
func protocolOf(view *store.View, vs *store.Record, service schema.Object) string {
	reference := cmp.Or(textOf(service, "override_network_profile_ref"), textOf(vs.Object, "network_profile_ref"))
	profile, ok := referred(view, networkKind, reference)
	if !ok {
		return "TCP"
	}
	return protocolIn(profile)
}

func protocolIn(profile *store.Record) string {
	setting, _ := profile.Object["profile"].(schema.Object)
	protocol, _, _ := strings.Cut(strings.TrimPrefix(textOf(setting, "type"), "PROTOCOL_TYPE_"), "_")
	return protocol
}

// referred returns the object that a stored reference points to.
func referred(view *store.View, kind, reference string) (*store.Record, bool) {
	return view.Get(kind, strings.TrimPrefix(reference, schema.RefPath(kind, "")))
}

// vip is an address, with the index of its list item, and the field in that item.
type vip struct {
	item    int
	version string
	address netip.Addr
}

func (v vip) field() string { return fmt.Sprintf("vip[%d].%s", v.item, v.version) }

// vipsIn returns the enabled addresses.
func vipsIn(holder schema.Object) []vip {
	var found []vip
	for i, written := range objectsIn(holder, "vip") {
		for _, version := range []string{"ip_address", "ip6_address"} {
			ip, _ := written[version].(schema.Object)
			if address, err := netip.ParseAddr(textOf(ip, "addr")); err == nil && written["enabled"] != false {
				found = append(found, vip{i, version, address.Unmap()})
			}
		}
	}
	return found
}

func objectsIn(holder schema.Object, field string) []schema.Object {
	items, _ := holder[field].([]any)
	var found []schema.Object
	for _, item := range items {
		if object, ok := item.(schema.Object); ok {
			found = append(found, object)
		}
	}
	return found
}
