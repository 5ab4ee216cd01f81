package kinds

import (
	"testing"

	"github.com/weir-lb/weir/controller/schema/column"
)

func TestServersOfAVirtualServiceAreThoseOfItsPools(t *testing.T) {
	pool := func(uuid string, up, all float64) map[string]any {
		return map[string]any{"uuid": uuid, "runtime": map[string]any{"num_servers_up": up, "num_servers": all}}
	}
	member := func(uuid string) any { return map[string]any{"pool_ref": "https://host/api/pool/" + uuid + "#name"} }
	others := column.Others{}
	others.Add([]map[string]any{
		pool("pool-1", 1, 2), pool("pool-2", 3, 3), {"uuid": "pool-3"},
		{"uuid": "poolgroup-1", "members": []any{member("pool-1"), member("pool-2")}},
		{"uuid": "poolgroup-2", "members": []any{member("pool-1"), member("pool-3")}},
		{"uuid": "poolgroup-3", "members": []any{member("pool-1"), member("pool-9")}},
	})
	for _, c := range []struct{ field, uuid, want string }{
		{"pool_ref", "pool/pool-1", "1 of 2 up"},
		{"pool_group_ref", "poolgroup/poolgroup-1", "4 of 5 up"},
		{"pool_group_ref", "poolgroup/poolgroup-2", "- of - up"},
		{"pool_group_ref", "poolgroup/poolgroup-3", "1 of 2 up, 1 of 2 pools not read"},
		{"pool_ref", "pool/pool-9", ""},
	} {
		row := column.Row{Object: map[string]any{c.field: "https://host/api/" + c.uuid}, Others: others}
		if got := poolServers(row); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.field, c.uuid, got, c.want)
		}
	}
}

func TestPortsShowTheProtocolOfTheirOwnProfile(t *testing.T) {
	others := column.Others{}
	others.Add([]map[string]any{
		{"uuid": "udp", "profile": map[string]any{"type": "PROTOCOL_TYPE_UDP_FAST_PATH"}},
		{"uuid": "tcp", "profile": map[string]any{"type": "PROTOCOL_TYPE_TCP_PROXY"}},
	})
	service := map[string]any{"network_profile_ref": "https://host/api/networkprofile/udp#UDP", "services": []any{
		map[string]any{"port": 53.0},
		map[string]any{"port": 53.0, "override_network_profile_ref": "https://host/api/networkprofile/tcp#TCP"},
	}}
	if got := ports(column.Row{Object: service, Others: others}); got != "53/udp, 53" {
		t.Errorf("got %q", got)
	}
}
