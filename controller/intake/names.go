package intake

import (
	"fmt"
	"sync"

	"github.com/weir-lb/weir/controller/schema/kinds"
	"github.com/weir-lb/weir/controller/store"
)

// Names says what objects are called, and whose they are.
type Names interface {
	// Service returns what is known of a virtual service; the zero value: nothing.
	Service(uuid string) Service
	Pool(uuid string) (name string)
	// Server returns the hostname of a server, if it has one besides its address.
	Server(poolUUID, id string) (hostname string)
	Engine(uuid string) (name string)
}

// Service is a virtual service.
type Service struct {
	Name    string
	Tenant  string   // uuid
	Filters []string // names of the filters of its logs, in their order
}

// ObjectNames reads names from the objects of a controller. It remembers services that were deleted: records of them
// come later.
type ObjectNames struct {
	View func() *store.View

	mu    sync.Mutex
	past  map[string]Service
	pools map[string]hostnames // by uuid
}

// hostnames are those of the servers of a pool, by id.
type hostnames struct {
	of   *store.Record
	byID map[string]string
}

// poolsMax is how many pools are remembered; then it begins anew.
const poolsMax = 20_000

// pastMax is how many services are remembered; then it begins anew.
const pastMax = 20_000

// Service returns what is known of a virtual service.
func (n *ObjectNames) Service(uuid string) Service {
	n.mu.Lock()
	defer n.mu.Unlock()
	found, exists := n.View().Get("virtualservice", uuid)
	if !exists {
		return n.past[uuid]
	}
	service := Service{Name: found.Name, Tenant: found.Tenant}
	for _, filter := range kinds.ActiveFilters(found.Object) {
		service.Filters = append(service.Filters, fmt.Sprint(filter["name"]))
	}
	if n.past == nil || len(n.past) >= pastMax {
		n.past = map[string]Service{}
	}
	n.past[uuid] = service
	return service
}

// Pool returns the name of a pool; empty: there is none.
func (n *ObjectNames) Pool(uuid string) string { return n.nameOf("pool", uuid) }

// Engine returns the name of an engine; empty: there is none.
func (n *ObjectNames) Engine(uuid string) string { return n.nameOf("serviceengine", uuid) }

func (n *ObjectNames) nameOf(kind, uuid string) string {
	if found, exists := n.View().Get(kind, uuid); exists {
		return found.Name
	}
	return ""
}

// Server returns the hostname of a server.
func (n *ObjectNames) Server(poolUUID, id string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	pool, exists := n.View().Get("pool", poolUUID)
	if !exists {
		delete(n.pools, poolUUID)
		return ""
	}
	return n.hostnames(pool)[id]
}

// hostnames are those of the servers of a pool. They are kept while its record is the same.
func (n *ObjectNames) hostnames(pool *store.Record) (byID map[string]string) {
	if known, is := n.pools[pool.UUID]; is && known.of == pool {
		return known.byID
	}
	if n.pools == nil || len(n.pools) >= poolsMax {
		n.pools = map[string]hostnames{}
	}
	byID = hostnamesOf(pool)
	n.pools[pool.UUID] = hostnames{pool, byID}
	return byID
}

// hostnamesOf are the hostnames of servers that have one besides their address. The first server with an id counts.
func hostnamesOf(pool *store.Record) map[string]string {
	byID := map[string]string{}
	servers, _ := pool.Object["servers"].([]any)
	for _, one := range servers {
		server, _ := one.(map[string]any)
		ip, _ := server["ip"].(map[string]any)
		port := server["port"]
		if port == nil {
			port = pool.Object["default_server_port"]
		}
		id := fmt.Sprintf("%v:%v", ip["addr"], port)
		if hostname, _ := server["hostname"].(string); hostname != "" && hostname != fmt.Sprint(ip["addr"]) &&
			byID[id] == "" {
			byID[id] = hostname
		}
	}
	return byID
}
