package lab

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/weir-lb/weir/client"
)

// Serve creates a virtual service for all servers of the site, with TLS on port 443 and plain HTTP on port 80, and has
// it announced to the router. It returns the uuid. Engines begin to serve it afterwards.
func (s *Site) Serve(ctx context.Context, name string, addresses ...netip.Addr) (uuid string, err error) {
	var servers []any
	for _, server := range s.Servers {
		servers = append(servers, client.Object{"ip": client.Object{"addr": server.Host}, "port": server.Port})
	}
	vip := client.Object{"vip_id": "1"}
	for _, address := range addresses {
		field := "ip_address"
		if address.Is6() {
			field = "ip6_address"
		}
		vip[field] = client.Object{"addr": address.String()}
	}
	for _, part := range []struct {
		kind   string
		object client.Object
	}{
		{"pool", client.Object{"name": name, "servers": servers,
			"health_monitor_refs": []any{client.Ref("healthmonitor", "System-TCP")}}},
		{"vsvip", client.Object{"name": name, "vip": []any{vip}}},
		{"virtualservice", client.Object{
			"name": name, "vsvip_ref": client.Ref("vsvip", name), "pool_ref": client.Ref("pool", name),
			"enable_rhi": true,
			"services": []any{client.Object{"port": 443, "enable_ssl": true},
				client.Object{"port": 80}},
			"ssl_key_and_certificate_refs": []any{client.Ref("sslkeyandcertificate", "System-Default-Cert-EC")},
		}},
	} {
		created, err := s.Controller.Session.Create(ctx, part.kind, part.object)
		if err != nil {
			return "", fmt.Errorf("%s: %w", part.kind, err)
		}
		uuid = fmt.Sprint(created["uuid"])
	}
	return uuid, nil
}
