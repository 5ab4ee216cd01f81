package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/topology"
)

// ask asks once over a new connection, from the namespace of a node.
func (f *fabric) ask(node, url string, flags ...string) http.Header {
	f.Helper()
	args := append([]string{"-s", "-S", "-D", "-", "-o", "/dev/null", url}, flags...)
	var said strings.Builder
	command := exec.CommandContext(f.ctx, "curl", args...)
	command.Stdout, command.Stderr = &said, &said
	f.must(f.namespace(node).Start(command))
	if err := command.Wait(); err != nil || !strings.HasPrefix(said.String(), "HTTP/1.1 200") {
		f.Fatalf("%s: %v\n%s", node, err, said.String())
	}
	header := http.Header{}
	for _, line := range strings.Split(said.String(), "\r\n") {
		if name, value, is := strings.Cut(line, ": "); is {
			header.Add(name, value)
		}
	}
	return header
}

// askAt asks an engine itself, from its own namespace: which server answered, and the cookies that were set.
func (f *fabric) askAt(engine string, cookies ...string) (server string, set []string) {
	f.Helper()
	var flags []string
	for _, cookie := range cookies {
		flags = append(flags, "-H", "Cookie: "+cookie)
	}
	header := f.ask(engine, clearURL, flags...)
	return header.Get(lab.Origin), header.Values("Set-Cookie")
}

// changePool changes the virtual service's, and waits until all engines go by that.
func (f *fabric) changePool(engines int, edit func(client.Object)) {
	f.Helper()
	f.changeFor(engines, "pool", "web", edit)
}

// changeFor changes an object that the virtual service uses, and waits until all engines go by that.
func (f *fabric) changeFor(engines int, kind, name string, edit func(client.Object)) {
	f.Helper()
	before := f.untilInForce(engines)
	f.change(kind, name, edit)
	f.eventually("engines have the "+kind, func() error {
		now, err := f.revision(engines)
		if err == nil && now <= before {
			err = errors.New("not yet")
		}
		return err
	})
}

func TestCookieOfOneEngineLeadsToTheSameServerOnTheOther(t *testing.T) {
	f := setUpFabric(t, 2, func(*topology.Topology) {})
	f.changePool(2, func(o client.Object) {
		o["lb_algorithm"] = "LB_ALGORITHM_ROUND_ROBIN"
		o["application_persistence_profile_ref"] = "/api/applicationpersistenceprofile?name=System-Persistence-Http-Cookie"
	})
	servers := map[string]bool{}
	for range 4 {
		server, set := f.askAt("engine-1")
		header := http.Header{"Set-Cookie": set}
		cookies := (&http.Response{Header: header}).Cookies()
		if len(cookies) != 1 || strings.Contains(set[0], server) {
			t.Fatalf("of %s: %v", server, set)
		}
		servers[server] = true
		for _, engine := range []string{"engine-2", "engine-1", "engine-2"} {
			again, set := f.askAt(engine, "other=1; "+cookies[0].Name+"="+cookies[0].Value)
			if again != server || len(set) != 0 {
				t.Errorf("%s sent a client of %s to %s, and set %v", engine, server, again, set)
			}
		}
	}
	if len(servers) != 2 {
		t.Errorf("clients without a cookie went to %v", servers)
	}
}

func TestCookieWithATimeoutStaysGoodOnAllEnginesWhileKeysAreTurned(t *testing.T) {
	f := setUpFabric(t, 2, func(*topology.Topology) {})
	key := func(name string) client.Object { return client.Object{"name": name, "aes_key": "secret of " + name} }
	keys := func(current string, all ...any) client.Object {
		return client.Object{"cookie_name": "to", "timeout": 60, "encryption_key": current, "key": all}
	}
	_, err := f.controller.Session.Create(f.ctx, "applicationpersistenceprofile", client.Object{
		"name": "dated", "persistence_type": "PERSISTENCE_TYPE_HTTP_COOKIE",
		"http_cookie_persistence_profile": keys("", key("one"))})
	f.must(err)
	f.changePool(2, func(o client.Object) {
		o["lb_algorithm"] = "LB_ALGORITHM_ROUND_ROBIN"
		o["application_persistence_profile_ref"] = "/api/applicationpersistenceprofile?name=dated"
	})
	servers := map[string]string{}
	for range 4 {
		server, set := f.askAt("engine-1")
		if len(set) != 1 || !strings.HasPrefix(set[0], "to=") {
			t.Fatalf("of %s: %v", server, set)
		}
		cookie, _, _ := strings.Cut(set[0], ";")
		servers[cookie] = server
	}
	goOn := func() {
		t.Helper()
		for cookie, server := range servers {
			for _, engine := range []string{"engine-2", "engine-1"} {
				if again, set := f.askAt(engine, cookie); again != server || len(set) != 0 {
					t.Errorf("%s sent a client of %s to %s, and set %v", engine, server, again, set)
				}
			}
		}
	}
	goOn()
	f.changeFor(2, "applicationpersistenceprofile", "dated", func(o client.Object) {
		o["http_cookie_persistence_profile"] = keys("two", key("one"), key("two"))
	})
	goOn()
	f.changeFor(2, "applicationpersistenceprofile", "dated", func(o client.Object) {
		o["http_cookie_persistence_profile"] = keys("two", key("two"))
	})
	for cookie := range servers {
		if _, set := f.askAt("engine-2", cookie); len(set) != 1 {
			t.Errorf("the key of %s is gone, and the client got %v", cookie, set)
		}
	}
}

func TestEnginesHashTheSameURIToTheSameServerAlsoWhenOneIsTakenAway(t *testing.T) {
	f := setUpFabric(t, 2, func(top *topology.Topology) { top.Servers.Count = 3 })
	f.changePool(2, func(o client.Object) {
		o["lb_algorithm"], o["lb_algorithm_hash"] = "LB_ALGORITHM_CONSISTENT_HASH", "LB_ALGORITHM_CONSISTENT_HASH_URI"
	})
	all := f.serversByURI()
	if used := f.used(all); len(used) != 3 {
		t.Errorf("of three servers these are used: %v", used)
	}
	var taken string
	f.changePool(2, func(o client.Object) {
		server, _ := o["servers"].([]any)[0].(map[string]any)
		server["enabled"] = false
		taken = fmt.Sprintf("%v:%v", server["ip"].(map[string]any)["addr"], server["port"])
	})
	for uri, server := range f.serversByURI() {
		if all[uri] == taken == (server == all[uri]) {
			t.Errorf("without %s, %s went from %s to %s", taken, uri, all[uri], server)
		}
	}
}

// serversByURI asks both engines, which must agree.
func (f *fabric) serversByURI() map[string]string {
	f.Helper()
	servers := map[string]string{}
	for number := range 24 {
		uri := fmt.Sprintf("index.html?%d", number)
		first := f.ask("engine-1", clearURL+uri).Get(lab.Origin)
		if second := f.ask("engine-2", clearURL+uri).Get(lab.Origin); second != first {
			f.Errorf("%s: engine-1 goes to %s, engine-2 to %s", uri, first, second)
		}
		servers[uri] = first
	}
	return servers
}

func (f *fabric) used(servers map[string]string) map[string]bool {
	used := map[string]bool{}
	for _, server := range servers {
		used[server] = true
	}
	return used
}

func TestClientComesBackToItsServerByWhicheverEngine(t *testing.T) {
	f := setUpFabric(t, 2, func(top *topology.Topology) { top.Servers.Count = 3 })
	f.changePool(2, func(o client.Object) {
		o["lb_algorithm"] = "LB_ALGORITHM_ROUND_ROBIN"
		o["application_persistence_profile_ref"] = "/api/applicationpersistenceprofile?name=System-Persistence-Client-IP"
	})
	engines, servers := map[string]bool{}, map[string]string{}
	for round := 0; round < 6 || len(engines) < 2 && round < 60; round++ {
		for _, address := range f.site.Topology.ClientNodes()[0].Addresses() {
			url := map[bool]string{true: clearURL, false: clearURL6}[address.Is4()]
			from, header := address.String(), f.ask("client-1", url, "--interface", address.String())
			if server := header.Get(lab.Origin); servers[from] == "" {
				servers[from] = server
			} else if servers[from] != server {
				t.Errorf("%s came to %s, and then to %s", from, servers[from], server)
			}
			engines[header.Get(lab.AskedBy)] = true
		}
	}
	if len(engines) != 2 || len(f.used(servers)) < 2 {
		t.Errorf("nothing is proved: by engines %v, to servers %v", engines, servers)
	}
}
