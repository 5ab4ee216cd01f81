package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
	"github.com/weir-lb/weir/lab"
	"github.com/weir-lb/weir/lab/topology"
)

// askAt asks an engine itself, from its own namespace: which server answered, and the cookies that were set.
func (f *fabric) askAt(engine string, cookies ...string) (server string, set []string) {
	f.Helper()
	space, err := f.site.Network.Namespace(engine)
	f.must(err)
	args := []string{"-s", "-S", "-D", "-", "-o", "/dev/null", clearURL}
	for _, cookie := range cookies {
		args = append(args, "-H", "Cookie: "+cookie)
	}
	var said strings.Builder
	command := exec.CommandContext(f.ctx, "curl", args...)
	command.Stdout, command.Stderr = &said, &said
	f.must(space.Start(command))
	if err := command.Wait(); err != nil || !strings.HasPrefix(said.String(), "HTTP/1.1 200") {
		f.Fatalf("%s: %v\n%s", engine, err, said.String())
	}
	response := httptest.NewRecorder()
	for _, line := range strings.Split(said.String(), "\r\n") {
		if name, value, is := strings.Cut(line, ": "); is {
			response.Header().Add(name, value)
		}
	}
	return response.Header().Get(lab.Origin), response.Header().Values("Set-Cookie")
}

func TestCookieOfOneEngineLeadsToTheSameServerOnTheOther(t *testing.T) {
	f := setUpFabric(t, 2, func(*topology.Topology) {})
	vs, err := f.controller.Session.ByName(f.ctx, "virtualservice", "web")
	f.must(err)
	var pool client.Object
	reference := fmt.Sprint(vs["pool_ref"])
	f.must(f.controller.Session.Get(f.ctx, reference[strings.Index(reference, "/api/")+len("/api/"):], &pool))
	f.change("pool", fmt.Sprint(pool["name"]), func(o client.Object) {
		o["lb_algorithm"] = "LB_ALGORITHM_ROUND_ROBIN"
		o["application_persistence_profile_ref"] = "/api/applicationpersistenceprofile?name=System-Persistence-Http-Cookie"
	})
	for _, engine := range f.engineNames(2) {
		f.eventually(engine+" sets cookies", func() error {
			if _, set := f.askAt(engine); len(set) == 0 {
				return errors.New("none")
			}
			return nil
		})
	}
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
