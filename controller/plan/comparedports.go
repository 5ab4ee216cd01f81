package plan

import (
	"fmt"
	"iter"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
)

// Objects are the stored ones.
type Objects struct {
	Get       func(kind, uuid string) (schema.Object, bool) // false: it is not there
	Referrers func(kind, uuid string) iter.Seq[string]      // the kinds of those that refer to it
}

const addressGroup = "ipaddrgroup"

// ComparedPorts finds, for whoever writes an object, that clients are compared with a group that has ip_ports: no
// virtual service with that is served.
func ComparedPorts(kind string, object schema.Object, stored Objects) []model.Finding {
	if kind == addressGroup {
		return portsOfGroup(object, stored)
	}
	definition, known := schema.Lookup(kind)
	if !known || kind == "pool" {
		return nil
	}
	var found report
	for _, reference := range definition.References(object) {
		if reference.Kind != addressGroup {
			continue
		}
		group, known := stored.Get(addressGroup, model.UUIDIn(reference.Value))
		if known && hasPorts(group) {
			found.warn(subject{}, reference.Field,
				"%v has ip_ports, which are servers of pools, and nothing compares the "+
					"ports of clients: no virtual service with this is served, and a filter of logs is left out. Use a group "+
					"without them", group["name"])
		}
	}
	return found.findings
}

func portsOfGroup(group schema.Object, stored Objects) []model.Finding {
	uuid, _ := group["uuid"].(string)
	if !hasPorts(group) {
		return nil
	}
	for kind := range stored.Referrers(addressGroup, uuid) {
		if kind != "pool" {
			return []model.Finding{{Field: "ip_ports", Message: fmt.Sprintf(
				"they are servers of pools, and an object of %s "+
					"compares clients with the group: no virtual service with that is served, and a filter of logs is left "+
					"out. Give them a group of their own", kind)}}
		}
	}
	return nil
}

func hasPorts(group schema.Object) bool {
	ports, _ := group["ip_ports"].([]any)
	return len(ports) > 0
}
