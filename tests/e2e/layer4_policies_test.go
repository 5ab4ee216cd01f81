package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

const adminPort = 8081

// The examples of docs/layer4-policies.md, as they stand there, with addresses of this test.
func TestClientsGoToThePoolsOfPortsAndOfPoliciesOfLayer4(t *testing.T) {
	const office, other = 65, 66
	s := bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	for _, name := range []string{"shop", "admin", "office"} {
		s.create("pool", client.Object{"name": name, "servers": serverList([]string{telling(t, name)})})
	}
	s.create("vsvip", client.Object{"name": "shop", "vip": list{
		object{"vip_id": "1", "ip_address": object{"addr": vip, "type": "V4"}}}})
	s.create("virtualservice", client.Object{
		"name": "shop", "vsvip_ref": client.Ref("vsvip", "shop"), "pool_ref": client.Ref("pool", "shop"),
		"services": list{object{"port": plainPort}, object{"port": adminPort}}})
	s.waitUp("shop")
	run, pages := s.commands(), blocks(t, "layer4-policies.md", "")
	// answers are those at both ports, from the office and from elsewhere.
	answers := func() string {
		var got []string
		for _, from := range []int{office, other} {
			for _, port := range []int{plainPort, adminPort} {
				answer := s.curl("--interface", loopback(from), fmt.Sprintf("http://%s:%d/", vip, port))
				got = append(got, strings.Split(answer, ":")[0])
			}
		}
		return strings.Join(got, " ")
	}
	become := func(what, want string) {
		t.Helper()
		s.eventually(what, func() error {
			if got := answers(); got != want {
				return fmt.Errorf("got %s", got)
			}
			return nil
		})
	}
	run(strings.Fields(pages[0])[1:]...)
	become("the port has its own pool", "shop admin shop admin")

	s.change("virtualservice", "shop", func(o client.Object) {
		delete(o, "service_pool_select")
		o["application_profile_ref"] = client.Ref("applicationprofile", "System-L4-Application")
	})
	become("the port has no pool", "shop shop shop shop")
	places := strings.ReplaceAll(blocks(t, "layer4-policies.md", "json")[0], "192.0.2.7", loopback(office))
	s.must(os.WriteFile(filepath.Join(s.dir, "places.json"), []byte(places), 0o600))
	for line := range strings.Lines(strings.ReplaceAll(pages[1], "places.json", filepath.Join(s.dir, "places.json"))) {
		if out := run(strings.Fields(line)[1:]...); strings.Contains(strings.ToLower(out), "warning") {
			t.Errorf("%s says %s", line, out)
		}
	}
	become("the office and the port have their pools", "office office shop admin")
	s.change("l4policyset", "places", func(o client.Object) {
		rules := o["l4_connection_policy"].(object)["rules"].(list)
		rules[0].(object)["match"].(object)["port"] = object{"match_criteria": "IS_IN", "ports": list{plainPort}}
	})
	become("one part of a match is enough", "office office office admin")
}
