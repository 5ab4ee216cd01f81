package intake

import (
	"fmt"
	"maps"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

func poolOf(servers ...any) *store.Record {
	return &store.Record{Kind: "pool", UUID: "pool-1",
		Object: schema.Object{"default_server_port": int64(80), "servers": servers}}
}

func serverAt(address string, more schema.Object) any {
	server := schema.Object{"ip": schema.Object{"addr": address}}
	maps.Copy(server, more)
	return server
}

func TestServersHaveHostnamesBesidesTheirAddress(t *testing.T) {
	var names ObjectNames
	pool := poolOf(
		serverAt("10.0.0.1", schema.Object{"hostname": "10.0.0.1"}),
		serverAt("10.0.0.2", schema.Object{"hostname": "two.test"}),
		serverAt("10.0.0.2", schema.Object{"hostname": "two-again.test", "port": int64(81)}),
		serverAt("10.0.0.3", nil))
	if got := fmt.Sprint(names.hostnames(pool)); got != "map[10.0.0.2:80:two.test 10.0.0.2:81:two-again.test]" {
		t.Errorf("got %s", got)
	}
	renamed := poolOf(serverAt("10.0.0.2", schema.Object{"hostname": "other.test"}))
	if got := fmt.Sprint(names.hostnames(renamed)); got != "map[10.0.0.2:80:other.test]" || len(names.pools) != 1 {
		t.Errorf("after a change: %s, of %d pools", got, len(names.pools))
	}
}

func TestAPoolIsReadOnceWhileItIsTheSame(t *testing.T) {
	var names ObjectNames
	var servers []any
	for n := range 1000 {
		servers = append(servers, serverAt(fmt.Sprint("10.0.1.", n), schema.Object{"hostname": "a.test"}))
	}
	pool := poolOf(servers...)
	names.hostnames(pool)
	if allocations := testing.AllocsPerRun(10, func() { names.hostnames(pool) }); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
}
