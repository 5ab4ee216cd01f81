package rest

import (
	"net"
	"net/http"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

// cluster is what the controller says about itself. It has one node.
type cluster struct {
	uuid, node, version string
	since               time.Time
}

const upSinceFormat = "2006-01-02 15:04:05"

// product is the version object that clients read after a login.
func (k cluster) product() schema.Object {
	return schema.Object{"Version": APIVersion, "min_version": 15.2, "Product": "controller",
		"ProductName": "Weir Controller", "Tag": "weir-" + k.version, "build": 0}
}

func health(c *call) error {
	return c.reply(http.StatusOK, schema.Object{"status": "ok", "revision": c.view.Revision()})
}

// initialData is read before a login. Only a client that is logged in gets more than the version.
func initialData(c *call) error {
	data := schema.Object{"version": c.api.cluster.product()}
	if c.recognise(anybody) == nil {
		for name, value := range c.welcome() {
			data[name] = value
		}
	}
	return c.reply(http.StatusOK, data)
}

func showCluster(c *call) error {
	k := c.api.cluster
	return c.reply(http.StatusOK, schema.Object{
		"uuid": k.uuid, "name": k.node, "url": c.origin() + "/api/cluster",
		"tenant_ref": c.origin() + schema.RefPath("tenant", "admin"),
		"nodes":      []schema.Object{k.member(c)},
	})
}

func (k cluster) member(c *call) schema.Object {
	return schema.Object{"name": k.node, "ip": schema.Object{"addr": hostOf(c.r.Host), "type": "V4"},
		"vm_uuid": k.uuid, "vm_hostname": k.node}
}

func clusterStatus(c *call) error {
	return c.reply(http.StatusOK, c.api.cluster.state())
}

func (k cluster) state() schema.Object {
	return schema.Object{"state": "CLUSTER_UP_NO_HA", "progress": 100, "up_since": k.upSince()}
}

func (k cluster) upSince() string { return k.since.UTC().Format(upSinceFormat) }

func clusterRuntime(c *call) error {
	k := c.api.cluster
	return c.reply(http.StatusOK, schema.Object{
		"node_info": schema.Object{"uuid": k.uuid, "cluster_uuid": k.uuid, "version": APIVersion,
			"mgmt_ip": hostOf(c.r.Host)},
		"node_states": []schema.Object{{"name": k.node, "role": "CLUSTER_LEADER", "state": "CLUSTER_ACTIVE",
			"up_since": k.upSince(), "mgmt_ip": hostOf(c.r.Host)}},
		"cluster_state":  k.state(),
		"service_states": []schema.Object{},
	})
}

func clusterVersion(c *call) error { return c.reply(http.StatusOK, c.api.cluster.product()) }

func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}
