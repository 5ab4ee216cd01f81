package rest

import (
	"net/http"
	"testing"

	"github.com/weir-lb/weir/controller/schema"
)

func TestAnswerTellsOfCallsInScriptsThatRaiseErrors(t *testing.T) {
	c := newHouse(t).login()
	c.want(http.StatusCreated, "POST", "/api/pool", schema.Object{"name": "blue"})
	const script = `avi.pool.select("blue")
avi.pool.select("green")
avi.vs.log(avi.http.disable())`
	made := c.want(http.StatusCreated, "POST", "/api/vsdatascriptset", schema.Object{"name": "steer",
		"pool_refs":  []any{"/api/pool?name=blue"},
		"datascript": []any{schema.Object{"evt": "VS_DATASCRIPT_EVT_HTTP_REQ", "script": script}}})
	const unserved = "datascript[0].script: line 3: avi.http.disable raises an error, because engines do not serve it: " +
		"a connection of HTTP does not change to layer 4: give such clients a virtual service with an application profile " +
		"for layer 4. WebSockets need nothing of that"
	const said = unserved + "\n" +
		`datascript[0].script: line 2: avi.pool.select raises an error, because pool_refs has no "green"`
	if got := warningsIn(made); got != said {
		t.Errorf("the reply says\n%s", got)
	}
	c.want(http.StatusCreated, "POST", "/api/pool", schema.Object{"name": "green"})
	made["pool_refs"] = []any{"/api/pool?name=blue", "/api/pool?name=green"}
	if got := warningsIn(c.want(http.StatusOK, "PUT", path(made), made)); got != unserved {
		t.Errorf("with both pools, the reply says\n%s", got)
	}
}
