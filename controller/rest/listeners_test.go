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
	return c.want(http.StatusCreated, "POST", "/api/vsvip", schema.Object{"name": name,
		"vip": vips(addresses...)})["uuid"]
}

func TestTwoVirtualServicesDoNotListenOnOnePort(t *testing.T) {
	c := newHouse(t).login()
	shared := c.at("shared", "10.2.0.1")
	c.want(http.StatusCreated, "POST", "/api/virtualservice", schema.Object{"name": "first", "vsvip_ref": shared,
		"services": ports(schema.Object{"port": 80, "port_range_end": 90}, schema.Object{"port": 443})})

	second := schema.Object{"name": "second", "vsvip_ref": shared,
		"services": ports(schema.Object{"port": 8080}, schema.Object{"port": 443})}
	c.refused(http.StatusBadRequest, "services[1].port: 10.2.0.1:443 is served by virtual service first already",
		"POST", "/api/virtualservice", second)
	second["services"] = ports(schema.Object{"port": 70, "port_range_end": 85})
	c.refused(http.StatusBadRequest, "services[0].port: 10.2.0.1:80 is served by virtual service first", "POST",
		"/api/virtualservice", second)

	second["services"] = ports(schema.Object{"port": 8080})
	made := c.want(http.StatusCreated, "POST", "/api/virtualservice", second)
	c.refused(http.StatusBadRequest, "services[0].port", "PATCH", path(made),
		schema.Object{"replace": schema.Object{"services": ports(schema.Object{"port": 90})}})
	made["description"] = "may change"
	c.want(http.StatusOK, "PUT", path(made), made)
}

func TestListenersOfOtherTenantsCountToo(t *testing.T) {
	c := newHouse(t).login()
	c.want(http.StatusCreated, "POST", "/api/tenant", schema.Object{"name": "blue"})
	c.want(http.StatusCreated, "POST", "/api/virtualservice", onVip(c.at("ours", "10.2.0.1"), "ours", nil))
	c.header.Set("X-Avi-Tenant", "blue")
	c.refused(http.StatusBadRequest, "10.2.0.1:80 is served by virtual service ours already", "POST",
		"/api/virtualservice",
		onVip(c.at("theirs", "10.2.0.1"), "theirs", nil))
}

func TestAddressDoesNotMoveToWhereAnotherVirtualServiceListens(t *testing.T) {
	c := newHouse(t).login()
	c.want(http.StatusCreated, "POST", "/api/virtualservice", onVip(c.at("one", "10.2.0.1"), "first", nil))
	two := c.at("two", "10.2.0.2")
	made := c.want(http.StatusCreated, "POST", "/api/virtualservice", onVip(two, "second", nil))
	moved := schema.Object{"replace": schema.Object{"vip": vips("10.2.0.3", "10.2.0.1")}}
	c.refused(http.StatusBadRequest,
		"vip[1].ip_address: 10.2.0.1:80, of virtual service second, is served by virtual service first already",
		"PATCH", "/api/vsvip/"+two.(string), moved)
	c.want(http.StatusOK, "PATCH", path(made), schema.Object{"replace": schema.Object{"enabled": false}})
	c.want(http.StatusOK, "PATCH", "/api/vsvip/"+two.(string), moved)
	c.refused(http.StatusBadRequest, "virtual service first", "PATCH", path(made),
		schema.Object{"replace": schema.Object{"enabled": true}})
}

func TestAddressesOfAVirtualServiceItselfCountAsWell(t *testing.T) {
	c := newHouse(t).login()
	own := func(name, address string) schema.Object {
		return schema.Object{"name": name, "vip": vips(address), "services": ports(schema.Object{"port": 80})}
	}
	c.want(http.StatusCreated, "POST", "/api/virtualservice", own("first", "2001:db8::1"))
	c.refused(http.StatusBadRequest, "[2001:db8::1]:80 is served by virtual service first", "POST",
		"/api/virtualservice", own("second", "2001:DB8:0::1"))
	c.want(http.StatusCreated, "POST", "/api/virtualservice", own("third", "2001:db8::3"))
}

func TestSamePortInAnotherRoutingContextIsFree(t *testing.T) {
	c := newHouse(t).login()
	c.want(http.StatusCreated, "POST", "/api/virtualservice", onVip(c.at("here", "10.2.0.1"), "here", nil))
	other := c.want(http.StatusCreated, "POST", "/api/vrfcontext", schema.Object{"name": "other"})
	there := c.want(http.StatusCreated, "POST", "/api/vsvip",
		schema.Object{"name": "there", "vip": vips("10.2.0.1"), "vrf_context_ref": other["uuid"]})
	c.want(http.StatusCreated, "POST", "/api/virtualservice", onVip(there["uuid"], "there", nil))
	c.refused(http.StatusBadRequest, "10.2.0.1:80 is served by virtual service there already", "POST",
		"/api/virtualservice",
		onVip(there["uuid"], "there too", nil))
	c.want(http.StatusCreated, "POST", "/api/virtualservice",
		schema.Object{"name": "by itself", "vip": vips("10.2.0.9"), "vrf_context_ref": other["uuid"],
			"services": ports(schema.Object{"port": 80})})
	c.want(http.StatusCreated, "POST", "/api/virtualservice", onVip(c.at("nine", "10.2.0.9"), "nine", nil))
	c.refused(http.StatusBadRequest, "served by virtual service here already", "PATCH", path(there),
		schema.Object{"replace": schema.Object{"vrf_context_ref": "/api/vrfcontext?name=global"}})
}

func TestOnePortIsForTCPAndUDP(t *testing.T) {
	c := newHouse(t).login()
	shared := c.at("dns", "10.2.0.1")
	service := func(name, profile string) schema.Object {
		return schema.Object{"name": name, "vsvip_ref": shared, "services": ports(schema.Object{"port": 53}),
			"network_profile_ref":     "/api/networkprofile?name=" + profile,
			"application_profile_ref": "/api/applicationprofile?name=System-L4-Application"}
	}
	own := c.want(http.StatusCreated, "POST", "/api/networkprofile",
		schema.Object{"name": "own", "profile": schema.Object{
			"type": "PROTOCOL_TYPE_UDP_FAST_PATH", "udp_fast_path_profile": schema.Object{}}})
	c.want(http.StatusCreated, "POST", "/api/virtualservice", service("tcp", "System-TCP-Proxy"))
	c.want(http.StatusCreated, "POST", "/api/virtualservice", service("udp", "own"))
	c.refused(http.StatusBadRequest, "served by virtual service udp already", "POST", "/api/virtualservice",
		service("udp 2", "System-UDP-Fast-Path"))
	c.refused(http.StatusBadRequest, "served by virtual service tcp already", "POST", "/api/virtualservice",
		service("tcp 2", "System-TCP-Fast-Path"))

	overridden := service("tcp over udp", "System-TCP-Proxy")
	overridden["services"] = ports(schema.Object{"port": 53,
		"override_network_profile_ref": "/api/networkprofile?name=System-UDP-Fast-Path"})
	c.refused(http.StatusBadRequest, "served by virtual service udp already", "POST", "/api/virtualservice", overridden)

	c.refused(http.StatusBadRequest,
		"profile.type: 10.2.0.1:53, of virtual service udp, is served by virtual service tcp already",
		"PATCH", path(own),
		schema.Object{"replace": schema.Object{"profile": schema.Object{"type": "PROTOCOL_TYPE_TCP_PROXY",
			"tcp_proxy_profile": schema.Object{}}}})
}

func TestTwoPortsOfAVirtualServiceAreTheSameOnlyWithProfilesOfTwoProtocols(t *testing.T) {
	c := newHouse(t).login()
	twice := func(name, first, second string) schema.Object {
		port := func(profile string) schema.Object {
			made := schema.Object{"port": 53}
			if profile != "" {
				made["override_network_profile_ref"] = "/api/networkprofile?name=" + profile
			}
			return made
		}
		return schema.Object{"name": name, "vsvip_ref": c.at(name, "10.2.0.1"),
			"services":                ports(port(first), port(second)),
			"application_profile_ref": "/api/applicationprofile?name=System-L4-Application"}
	}
	const same = "services[1].port: 53 is already in services[0]"
	c.refused(http.StatusBadRequest, same, "POST", "/api/virtualservice", twice("default", "", "System-TCP-Proxy"))
	c.refused(http.StatusBadRequest, same, "POST", "/api/virtualservice",
		twice("TCP", "System-TCP-Fast-Path", "System-TCP-Proxy"))
	own := c.want(http.StatusCreated, "POST", "/api/networkprofile",
		schema.Object{"name": "own", "profile": schema.Object{
			"type": "PROTOCOL_TYPE_UDP_FAST_PATH", "udp_fast_path_profile": schema.Object{}}})
	made := c.want(http.StatusCreated, "POST", "/api/virtualservice", twice("both", "", "own"))
	c.want(http.StatusOK, "PUT", path(made), made)
	c.refused(http.StatusBadRequest, "profile.type: virtual service both has port 53 in services[0] and services[1]",
		"PATCH", path(own),
		schema.Object{"replace": schema.Object{"profile": schema.Object{"type": "PROTOCOL_TYPE_TCP_PROXY",
			"tcp_proxy_profile": schema.Object{}}}})
}

func TestAddressesThatNobodyGivesAreAskedFor(t *testing.T) {
	c := newHouse(t).login()
	allocated := func(vip schema.Object) schema.Object {
		vip["auto_allocate_ip"] = true
		return schema.Object{"name": "allocated", "vip": []any{vip}}
	}
	four, six := schema.Object{"addr": "10.2.0.1", "type": "V4"}, schema.Object{"addr": "2001:db8::1", "type": "V6"}
	for _, vip := range []schema.Object{
		{}, {"ip6_address": six}, {"ip_address": four, "auto_allocate_ip_type": "V6_ONLY"},
		{"ip_address": four, "auto_allocate_ip_type": "V4_V6"},
	} {
		c.refused(http.StatusBadRequest, "vip[0].auto_allocate_ip: Weir allocates no addresses", "POST",
			"/api/vsvip", allocated(vip))
	}
	c.refused(http.StatusBadRequest, "vip[0].auto_allocate_ip", "POST", "/api/virtualservice",
		schema.Object{"name": "v",
			"vip": []any{schema.Object{"auto_allocate_ip": true}}, "services": ports(schema.Object{"port": 80})})
	made := c.want(http.StatusCreated, "POST", "/api/vsvip", allocated(schema.Object{"ip_address": four}))
	c.want(http.StatusOK, "PUT", path(made), made)
}

func TestOnlyAChangeThatBeginsToListenIsHeldAgainstOthers(t *testing.T) {
	c := newHouse(t).login()
	c.want(http.StatusCreated, "POST", "/api/virtualservice", onVip(c.at("one", "10.2.0.1"), "first", nil))
	second := onVip(c.at("two", "10.2.0.2"), "second", nil)
	second["enabled"] = false
	made := c.want(http.StatusCreated, "POST", "/api/virtualservice", second)
	c.want(http.StatusOK, "PATCH", path(made),
		schema.Object{"replace": schema.Object{"vsvip_ref": "/api/vsvip?name=one"}})
	c.want(http.StatusOK, "PATCH", path(made), schema.Object{"replace": schema.Object{"description": "stays disabled"}})
	for _, field := range []string{"enabled", "traffic_enabled"} {
		c.want(http.StatusOK, "PATCH", path(made), schema.Object{"replace": schema.Object{"enabled": false,
			"traffic_enabled": false}})
		other := map[string]string{"enabled": "traffic_enabled", "traffic_enabled": "enabled"}[field]
		c.want(http.StatusOK, "PATCH", path(made), schema.Object{"replace": schema.Object{other: true}})
		c.refused(http.StatusBadRequest, "10.2.0.1:80 is served by virtual service first already", "PATCH", path(made),
			schema.Object{"replace": schema.Object{field: true}})
	}
}
