package rest

import (
	"net/http"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func vips(addresses ...string) []any {
	var vips []any
	for _, address := range addresses {
		vips = append(vips, schema.Object{"ip_address": schema.Object{"addr": address}})
	}
	return vips
}

func ports(ports ...schema.Object) []any {
	var services []any
	for _, port := range ports {
		services = append(services, port)
	}
	return services
}

func (c *client) at(name string, addresses ...string) any {
	c.h.t.Helper()
	return c.want(http.StatusCreated, "POST", "/api/vsvip", schema.Object{"name": name, "vip": vips(addresses...)})["uuid"]
}

func TestTwoVirtualServicesDoNotListenOnOnePort(t *testing.T) {
	c := newHouse(t).login()
	shared := c.at("shared", "10.2.0.1")
	c.want(http.StatusCreated, "POST", "/api/virtualservice", schema.Object{"name": "first", "vsvip_ref": shared,
		"services": ports(schema.Object{"port": 80, "port_range_end": 90}, schema.Object{"port": 443})})

	second := schema.Object{"name": "second", "vsvip_ref": shared, "services": ports(schema.Object{"port": 8080}, schema.Object{"port": 443})}
	c.refused(http.StatusBadRequest, "services[1].port: 10.2.0.1:443 is served by virtual service first already", "POST", "/api/virtualservice", second)
	second["services"] = ports(schema.Object{"port": 70, "port_range_end": 85})
	c.refused(http.StatusBadRequest, "services[0].port: 10.2.0.1:80 is served by virtual service first", "POST", "/api/virtualservice", second)

	second["services"] = ports(schema.Object{"port": 8080})
	made := c.want(http.StatusCreated, "POST", "/api/virtualservice", second)
	c.refused(http.StatusBadRequest, "services[0].port", "PATCH", path(made), schema.Object{"replace": schema.Object{"services": ports(schema.Object{"port": 90})}})
	made["description"] = "may change"
	c.want(http.StatusOK, "PUT", path(made), made)
}

func TestListenersOfOtherTenantsCountToo(t *testing.T) {
	c := newHouse(t).login()
	c.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "blue"})
	c.want(http.StatusCreated, "POST", "/api/virtualservice", onVip(c.at("ours", "10.2.0.1"), "ours", nil))
	c.header.Set("X-Avi-Tenant", "blue")
	c.refused(http.StatusBadRequest, "10.2.0.1:80 is served by virtual service ours already", "POST", "/api/virtualservice",
		onVip(c.at("theirs", "10.2.0.1"), "theirs", nil))
}

func TestAddressDoesNotMoveToWhereAnotherVirtualServiceListens(t *testing.T) {
	c := newHouse(t).login()
	c.want(http.StatusCreated, "POST", "/api/virtualservice", onVip(c.at("one", "10.2.0.1"), "first", nil))
	two := c.at("two", "10.2.0.2")
	made := c.want(http.StatusCreated, "POST", "/api/virtualservice", onVip(two, "second", nil))
	moved := schema.Object{"replace": schema.Object{"vip": vips("10.2.0.3", "10.2.0.1")}}
	c.refused(http.StatusBadRequest, "vip[1].ip_address: 10.2.0.1:80, of virtual service second, is served by virtual service first already",
		"PATCH", "/api/vsvip/"+two.(string), moved)
	c.want(http.StatusOK, "PATCH", path(made), schema.Object{"replace": schema.Object{"enabled": false}})
	c.want(http.StatusOK, "PATCH", "/api/vsvip/"+two.(string), moved)
	c.refused(http.StatusBadRequest, "virtual service first", "PATCH", path(made), schema.Object{"replace": schema.Object{"enabled": true}})
}

func TestAddressesOfAVirtualServiceItselfCountAsWell(t *testing.T) {
	c := newHouse(t).login()
	own := func(name, address string) schema.Object {
		return schema.Object{"name": name, "vip": vips(address), "services": ports(schema.Object{"port": 80})}
	}
	c.want(http.StatusCreated, "POST", "/api/virtualservice", own("first", "2001:db8::1"))
	c.refused(http.StatusBadRequest, "[2001:db8::1]:80 is served by virtual service first", "POST", "/api/virtualservice", own("second", "2001:DB8:0::1"))
	c.want(http.StatusCreated, "POST", "/api/virtualservice", own("third", "2001:db8::3"))
}
