package admit

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const (
	serviceKind = "virtualservice"
	addressKind = "vsvip"
	networkKind = "networkprofile"
)

// place is where ports are: the same address is another one in another routing context, and so are ports of another
// protocol.
type place struct {
	routing  string // vrf_context_ref
	protocol string // "TCP"
	address  netip.Addr
}

// listener is a place and a range of ports there that a virtual service has for itself, and where they are written.
type listener struct {
	place
	owner               *store.Record
	first, last         int64
	portField, vipField string
}

// Index gives the keys under which the store finds the objects that have an address.
func Index(record *store.Record) (keys []string) {
	if record.Kind == serviceKind || record.Kind == addressKind {
		for _, vip := range vipsIn(record.Object) {
			keys = append(keys, addressKey(vip.address))
		}
	}
	return keys
}

func addressKey(address netip.Addr) string { return "address " + address.String() }

// listenersAreFree refuses a virtual service, or an address or protocol of one, where another one listens already; in
// whatever tenant, for engines serve all of them. view has the written record already; stored is what it was, nil of a
// new one.
func listenersAreFree(view *store.View, stored, written *store.Record) error {
	if written.Kind != serviceKind && written.Kind != addressKind && written.Kind != networkKind {
		return nil
	}
	if written.Kind == networkKind && (stored == nil || protocolIn(stored) == protocolIn(written)) {
		return nil // all virtual services may refer to it, and none listens elsewhere than before
	}
	for vs := range servicesOf(view, written) {
		for _, ours := range listenersOf(view, vs) {
			if theirs, taken := ours.takenBy(view); taken {
				return ours.taken(written, theirs)
			}
		}
	}
	return nil
}

// servicesOf are the virtual services that an object is a part of, or is.
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

// takenBy finds another virtual service that listens where this one does.
func (l listener) takenBy(view *store.View) (by listener, taken bool) {
	for holder := range view.Indexed(addressKey(l.address)) {
		for vs := range servicesOf(view, holder) {
			for _, theirs := range listenersOf(view, vs) {
				if theirs.owner != l.owner && theirs.place == l.place && l.first <= theirs.last && theirs.first <= l.last {
					return theirs, true
				}
			}
		}
	}
	return by, false
}

func (l listener) taken(written *store.Record, by listener) error {
	where := netip.AddrPortFrom(l.address, uint16(max(l.first, by.first)))
	problem := fmt.Sprintf("%s, of virtual service %s, is served by virtual service %s already", where, l.owner.Name, by.owner.Name)
	switch written.Kind {
	case addressKind:
		return &schema.FieldError{Kind: addressKind, Field: l.vipField, Problem: problem}
	case networkKind:
		return &schema.FieldError{Kind: networkKind, Field: "profile.type", Problem: problem}
	default:
		return &schema.FieldError{Kind: serviceKind, Field: l.portField,
			Problem: fmt.Sprintf("%s is served by virtual service %s already", where, by.owner.Name)}
	}
}

// listenersOf are all of a virtual service that takes traffic; another one listens nowhere.
func listenersOf(view *store.View, vs *store.Record) []listener {
	if vs.Object["enabled"] == false || vs.Object["traffic_enabled"] == false || vs.Object["type"] == "VS_TYPE_VH_CHILD" {
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
				portField: fmt.Sprintf("services[%d].port", i), vipField: vip.field})
		}
	}
	return found
}

// protocolOf is "TCP", "UDP" or "SCTP", as the network profile of a port says.
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

// referred is what a stored reference points to.
func referred(view *store.View, kind, reference string) (*store.Record, bool) {
	target, err := schema.ParseRef(kind, reference)
	if err != nil {
		return nil, false
	}
	return view.Get(kind, target.UUID)
}

// vip is an address and the field that it is written in.
type vip struct {
	field   string
	address netip.Addr
}

// vipsIn are the addresses that are enabled.
func vipsIn(holder schema.Object) []vip {
	var found []vip
	for i, written := range objectsIn(holder, "vip") {
		for _, name := range []string{"ip_address", "ip6_address"} {
			ip, _ := written[name].(schema.Object)
			if address, err := netip.ParseAddr(textOf(ip, "addr")); err == nil && written["enabled"] != false {
				found = append(found, vip{fmt.Sprintf("vip[%d].%s", i, name), address.Unmap()})
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
