package rest

import (
	"net/http"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func TestPathsAreFoundHoweverClientsWriteThem(t *testing.T) {
	c := newHouse(t).login()
	c.pool("p")
	for _, target := range []string{
		"//api/cluster/status", "/api//cluster/runtime", "//api/initial-data", "/api/cluster/", "/api/cluster?",
		"/api/pool/", "/api/pool/?name=p", "/api/pool?name=p&", "/api/pool?&name=p", "/api/pool??name=p",
		"/api/pool?name=p&include_name&skip_default", "/api/pool?name=p&include_refs=", "/api/pool?page_size=100000",
	} {
		answer := c.want(http.StatusOK, "GET", target, nil)
		if count, listed := answer["count"]; listed && count != 1.0 {
			t.Errorf("%s: count %v", target, count)
		}
	}
}

func TestWhatAClientAsksBeforeItsLoginIsAnswered(t *testing.T) {
	anonymous := &client{h: newHouse(t), header: http.Header{}}
	data := anonymous.want(http.StatusOK, "GET", "/api/initial-data", nil)
	if data["version"].(schema.Object)["Version"] != APIVersion || data["user"] != nil {
		t.Errorf("initial data: %v", data)
	}
	runtime := anonymous.want(http.StatusOK, "GET", "/api/cluster/runtime", nil)
	if state := runtime["cluster_state"].(schema.Object)["state"]; state != "CLUSTER_UP_NO_HA" {
		t.Errorf("cluster state is %v", state)
	}
	leader := runtime["node_states"].([]any)[0].(schema.Object)
	if leader["role"] != "CLUSTER_LEADER" || leader["up_since"] != "2026-01-02 03:04:05" {
		t.Errorf("leader is %v", leader)
	}
	for _, target := range []string{"/healthz", "/api/cluster/status", "/api/cluster/version"} {
		anonymous.want(http.StatusOK, "GET", target, nil)
	}
	for _, target := range []string{"/api/pool", "/api/cluster", "/api/user-token", "/api/audit"} {
		anonymous.refused(http.StatusUnauthorized, "credentials were not provided", "GET", target, nil)
	}
}

func TestUnknownPathsAndMethodsAreRefused(t *testing.T) {
	c := newHouse(t).login()
	for _, target := range []string{"/", "/api", "/api/abcd", "/api/pool/x/y", "/api/pool/x/runtime/z", "/other"} {
		c.refused(http.StatusNotFound, "nothing at", "GET", target, nil)
	}
	c.refused(http.StatusMethodNotAllowed, "Method 'DELETE' not allowed", "DELETE", "/api/pool", nil)
	c.refused(http.StatusMethodNotAllowed, "Method 'PATCH' not allowed", "PATCH", "/healthz", nil)
	if allow := c.do("OPTIONS", "/api/pool", nil).Header().Get("Allow"); allow != "GET, HEAD, OPTIONS, POST" {
		t.Errorf("Allow is %q", allow)
	}
}

func TestVersionThatAClientAsksForIsEchoedUnlessItIsTooNew(t *testing.T) {
	c := newHouse(t).login()
	for asked, echoed := range map[string]string{
		"20.1.1": "20.1.1", "18_2_6": "18.2.6", "20.1.1 default": "20.1.1", "": "16.4.2", APIVersion: APIVersion,
	} {
		c.header.Set("X-Avi-Version", asked)
		answer := c.do("GET", "/api/pool", nil)
		if got := answer.Header()["AVI_API_VERSION"]; answer.Code != http.StatusOK || len(got) != 1 ||
			got[0] != echoed {
			t.Errorf("%q: %d, echoed %v", asked, answer.Code, got)
		}
	}
	c.header.Set("X-Avi-Version", "30.2.2")
	c.refused(http.StatusBadRequest, "v30_2_2", "GET", "/api/pool", nil)
}

func TestClusterKeepsItsUUIDOverARestart(t *testing.T) {
	h := newHouse(t)
	again, err := Open(t.Context(), Config{Store: h.store, Gate: h.gate, Version: "test"})
	h.must(err)
	if again.cluster.uuid != h.api.cluster.uuid || again.cluster.uuid == "" {
		t.Errorf("uuid %q, before %q", again.cluster.uuid, h.api.cluster.uuid)
	}
}
