package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

func TestRecordsHaveNamesOfRequests(t *testing.T) {
	tell := object{"action": "HTTP_REPLACE_HDR", "hdr": object{"name": "X-Request-ID",
		"value": object{"var": "HTTP_POLICY_VAR_REQUEST_ID"}}}
	s := policyStage(t, client.Object{
		"http_response_policy": requestRules(object{"hdr_action": list{tell}, "log": true})})
	s.create("vsdatascriptset", client.Object{"name": "names", "datascript": list{object{
		"evt": "VS_DATASCRIPT_EVT_HTTP_REQ", "script": `avi.http.set_userid("alice")`}}})
	s.changeApplied("web", "virtualservice", "web", func(o client.Object) {
		o["vs_datascripts"] = list{object{"index": 1,
			"vs_datascript_set_ref": client.Ref("vsdatascriptset", "names")}}
	})
	head := s.ask(false, "shop.test", "/named", "-D", "-")
	_, id, _ := strings.Cut(strings.ToLower(head), "x-request-id: ")
	at := len(head) - len(id)
	id, _, _ = strings.Cut(head[at:], "\r\n")
	if !isNameOfRequest.MatchString(id) {
		t.Fatalf("the client got %q", head)
	}
	s.eventually("the record has the name", func() error {
		page, err := s.records("type=1&filter=eq(request_id," + id + ")")
		if err == nil && (page.Count != 1 || page.Results[0]["uri_path"] != "/named" ||
			page.Results[0]["user_id"] != "alice") {
			err = fmt.Errorf("the records are %v", page)
		}
		return err
	})
	run := s.commands()
	if out := run("explain", id); !strings.Contains(out, "/named") {
		t.Errorf("explain says %s", out)
	}
	if out := run("logs", "web", "--filter", "user=alice"); !strings.Contains(out, "/named") {
		t.Errorf("logs says %s", out)
	}
}
