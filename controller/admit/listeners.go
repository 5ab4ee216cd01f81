package admit

import (
	"fmt"
	"net/netip"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

const (
	serviceKind = "virtualservice"
	addressKind = "vsvip"
)

// listener is an address and a range of ports that a virtual service has for itself, and where they are written.
type listener struct {
	owner               *store.Record
	address             netip.Addr
	first, last         int64
	portField, vipField string
}

// listenersAreFree refuses a virtual service, or an address of one, where another one listens already; in whatever
// tenant, for engines serve all of them. view has the written record already.
func listenersAreFree(view *store.View, written *store.Record) error {
	if written.Kind != serviceKind && written.Kind != addressKind {
		return nil
	}
	wanted := map[netip.Addr][]listener{}
	var others []listener
	for _, vs := range view.List(serviceKind) {
		for _, l := range listenersOf(view, vs) {
			others = append(others, l)
			if vs.UUID == written.UUID || vs.RefersTo(written.Kind, written.UUID) {
				wanted[l.address] = append(wanted[l.address], l)
			}
		}
	}
	for _, theirs := range others {
		for _, ours := range wanted[theirs.address] {
			if ours.owner != theirs.owner && ours.first <= theirs.last && theirs.first <= ours.last {
				return ours.taken(written, theirs)
			}
		}
	}
	return nil
}

func (l listener) taken(written *store.Record, by listener) error {
	where := netip.AddrPortFrom(l.address, uint16(max(l.first, by.first)))
	if written.Kind == addressKind {
		return &schema.FieldError{Kind: addressKind, Field: l.vipField,
			Problem: fmt.Sprintf("%s, of virtual service %s, is served by virtual service %s already", where, l.owner.Name, by.owner.Name)}
	}
	return &schema.FieldError{Kind: serviceKind, Field: l.portField,
		Problem: fmt.Sprintf("%s is served by virtual service %s already", where, by.owner.Name)}
}

// listenersOf are all of a virtual service that takes traffic; another one listens nowhere.
func listenersOf(view *store.View, vs *store.Record) []listener {
	if vs.Object["enabled"] == false || vs.Object["traffic_enabled"] == false || vs.Object["type"] == "VS_TYPE_VH_CHILD" {
		return nil
	}
	holder := vs.Object
	if target, err := schema.ParseRef(addressKind, textOf(vs.Object, "vsvip_ref")); err == nil {
		if shared, ok := view.Get(addressKind, target.UUID); ok {
			holder = shared.Object
		}
	}
	var found []listener
	for _, vip := range vipsIn(holder) {
		for i, service := range objectsIn(vs.Object, "services") {
			first, _ := service["port"].(int64)
			last, _ := service["port_range_end"].(int64)
			found = append(found, listener{owner: vs, address: vip.address, first: first, last: max(first, last),
				portField: fmt.Sprintf("services[%d].port", i), vipField: vip.field})
		}
	}
	return found
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
