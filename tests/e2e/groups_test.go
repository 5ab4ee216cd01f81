package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// documented returns the commands below a heading of a document.
func documented(t *testing.T, document, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", document))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	parts := strings.Split(section, "```")
	if !found || len(parts) < 3 {
		t.Fatalf("%s has no commands below %q", document, heading)
	}
	var commands []string
	for i := 1; i < len(parts); i += 2 {
		commands = append(commands, parts[i])
	}
	return strings.Join(commands, "\n")
}

func (s *stage) paste(heading string, instead ...string) {
	s.Helper()
	s.pasteFrom("groups.md", heading, instead...)
}

// pasteFrom runs the commands of a document as a shell does, with other servers than the document names.
func (s *stage) pasteFrom(document, heading string, instead ...string) {
	s.Helper()
	s.shell(documented(s.T, document, heading), instead...)
}

// shell runs commands as a shell does, with other texts in them, where the files of the test are. It returns what they
// print.
func (s *stage) shell(script string, instead ...string) string {
	s.Helper()
	script = strings.NewReplacer(instead...).Replace(script)
	command := exec.CommandContext(s.ctx, "bash", "-e", "-c", script)
	command.Dir = s.dir
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(s.dir, "config"),
		"PATH="+filepath.Dir(weir(s.T))+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if err != nil {
		s.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// groupStage serves "shop" with the pool "first".
func groupStage(t *testing.T) (s *stage, run func(args ...string) string) {
	t.Helper()
	s = bareStage(t)
	s.must(s.startController())
	s.must(s.startEngine())
	s.create("pool", client.Object{"name": "first", "servers": serverList([]string{telling(t, "first")})})
	s.create("vsvip", client.Object{"name": "shop", "vip": list{
		object{"vip_id": "1", "ip_address": object{"addr": vip, "type": "V4"}}}})
	s.create("virtualservice", client.Object{
		"name": "shop", "vsvip_ref": client.Ref("vsvip", "shop"), "pool_ref": client.Ref("pool", "first"),
		"services": list{object{"port": tlsPort, "enable_ssl": true, "enable_http2": true},
			object{"port": plainPort, "enable_http2": true}}})
	s.waitUp("shop")
	return s, s.commands()
}

// stoppable is a server like telling, which the test can stop.
func stoppable(t *testing.T, name string) (address string, stop func()) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s: %s", name, r.RequestURI)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), server.Close
}

// as turns the servers of the document into these.
func as(blue, green string) []string {
	server := func(address string) string {
		host, port, _ := net.SplitHostPort(address)
		return fmt.Sprintf("servers[0].ip.addr=%s servers[0].port=%s", host, port)
	}
	return []string{"servers[0].ip.addr=10.0.1.1 servers[0].port=8080", server(blue),
		"servers[0].ip.addr=10.0.2.1 servers[0].port=8080", server(green)}
}

// answered counts the pools that answer requests of new clients, in every way that they can come.
func (s *stage) answered(times int, flags ...string) map[string]int {
	s.Helper()
	counts := map[string]int{}
	for range times {
		s.everyWay("/", flags, func(_, answer string) {
			name, _, _ := strings.Cut(answer, ":")
			counts[name]++
		})
	}
	return counts
}

func (s *stage) eventuallyAll(pool string, flags ...string) {
	s.Helper()
	s.eventually("all requests go to "+pool, func() error {
		if counts := s.answered(2, flags...); counts[pool] != 8 {
			return fmt.Errorf("they go to %v", counts)
		}
		return nil
	})
}

func TestDocumentedGroupsSwitchReleasesAndShareOutClients(t *testing.T) {
	s, run := groupStage(t)
	blue, stopBlue := stoppable(t, "blue")
	green, _ := stoppable(t, "green")
	const heading = "Blue and green, chosen by a cookie"
	commands := documented(t, "groups.md", heading)
	swap := commands[strings.LastIndex(commands, "weir poolgroup set"):]
	s.paste(heading, append(as(blue, green), swap, "")...)
	s.waitUp("shop")
	s.eventuallyAll("blue")
	s.eventuallyAll("green", "-H", "Cookie: a=b; release=green")
	s.paste(heading, strings.TrimSuffix(commands, swap), "")
	s.eventuallyAll("green")

	const canary = 19
	s.paste("A canary by weight")
	s.eventually("both pools get clients", func() error {
		if counts := s.answered(5); len(counts) != 2 {
			return fmt.Errorf("they go to %v", counts)
		}
		return nil
	})
	// Two workers take turns for themselves: each is one turn off at most.
	if counts := s.answered(100); counts["green"] < 18 || counts["green"] > 22 || counts["blue"]+
		counts["green"] != 400 {
		t.Errorf("of 400 requests at %d to 1: %v", canary, counts)
	}
	cookies := s.curl("-D", "-", "-o", "/dev/null", "-H", "Cookie: release=green", plainURL("/"))
	_, cookie, _ := strings.Cut(cookies, "Set-Cookie: ")
	cookie, _, _ = strings.Cut(cookie, ";")
	if cookie == "" {
		t.Fatalf("no cookie in %s", cookies)
	}
	if counts := s.answered(5, "-H", "Cookie: "+cookie); counts["green"] != 20 {
		t.Errorf("clients of green with the cookie %s go to %v", cookie, counts)
	}
	told := run("explain", plainURL("/"), "-H", "Cookie: "+cookie)
	contains(t, told, "In the pool group release the cookie names a server of green", "blue has priority 0, ratio 19")

	pools, _ := s.runtime("virtualservice", "shop")["group_pools"].([]any)
	if len(pools) != 2 {
		t.Errorf("the page of the virtual service has the pools %v", pools)
	}
	stopBlue()
	for range 10 {
		s.everyWay("/", nil, func(way, answer string) {
			if !strings.HasPrefix(answer, "green: ") {
				t.Errorf("%s: with blue gone a client gets %q", way, answer)
			}
		})
	}
	s.eventually("the virtual service is up, and names the pool that is not", func() error {
		status := fmt.Sprint(s.runtime("virtualservice", "shop")["oper_status"])
		if !strings.Contains(status, "OPER_UP") || !strings.Contains(status, "pool blue of pool group release") {
			return errors.New(status)
		}
		return nil
	})
}

func TestDocumentedMaintenancePageAndOtherAnswersWithoutServers(t *testing.T) {
	s, run := groupStage(t)
	s.create("pool", client.Object{"name": "blue", "servers": serverList([]string{telling(t, "blue")})})
	run("vs", "set", "shop", "pool_ref=blue")
	s.eventuallyAll("blue")
	s.paste("A maintenance page")
	s.eventually("clients get the page", func() error {
		var wrong error
		s.everyWay("/x?y", []string{"-i"}, func(way, answer string) {
			if !strings.HasSuffix(answer, "<h1>We are back at noon</h1> 503") ||
				!strings.Contains(strings.ToLower(answer), "content-type: text/html") {
				wrong = fmt.Errorf("%s: %s", way, answer)
			}
		})
		return wrong
	})
	contains(t, run("explain", plainURL("/x")), "The client would get 503")

	run("pool", "set", "blue", `fail_action={"type":"FAIL_ACTION_HTTP_LOCAL_RSP"}`)
	s.paste("Error pages")
	s.eventually("clients get the error page", func() error {
		var wrong error
		s.everyWay("/x", []string{"-i"}, func(way, answer string) {
			if !strings.HasSuffix(answer, "<h1>Sorry, this is our fault</h1> 503") ||
				!strings.Contains(strings.ToLower(answer), "content-type: text/html; charset=utf-8\r\n") {
				wrong = fmt.Errorf("%s: %s", way, answer)
			}
		})
		return wrong
	})

	run("pool", "set", "blue", `fail_action={"type":"FAIL_ACTION_HTTP_REDIRECT","redirect":{"host":"status.test"}}`)
	s.eventually("clients are sent elsewhere", func() error {
		var wrong error
		s.everyWay("/x?y", []string{"-i"}, func(way, answer string) {
			if !strings.Contains(strings.ToLower(answer), "location: https://status.test/x?y\r\n") {
				wrong = fmt.Errorf("%s: %s", way, answer)
			}
		})
		return wrong
	})

	run("pool", "set", "blue",
		`fail_action={"type":"FAIL_ACTION_BACKUP_POOL","backup_pool":{"backup_pool_ref":"/api/pool?name=first"}}`)
	s.eventuallyAll("first")
	s.waitUp("shop")
	contains(t, run("explain", plainURL("/x")), "The backup pool first takes over")
}

func TestPrimaryPoolWaitsForOperator(t *testing.T) {
	s, run := groupStage(t)
	for _, name := range []string{"blue", "green"} {
		s.create("pool", client.Object{"name": name, "servers": serverList([]string{telling(t, name)})})
	}
	run("poolgroup", "create", "sites", "members[0].pool_ref=blue", "members[0].priority_label=10",
		"members[1].pool_ref=green", "members[1].priority_label=5")
	run("vs", "set", "shop", "pool_group_ref=sites", "pool_ref=null")
	s.eventuallyAll("blue")
	s.pasteFrom("groups.md", "A site that does not come back by itself",
		"weir poolgroup set sites weir_activation=1\n", "")
	enable := func(enabled bool) {
		s.changeApplied("shop", "pool", "blue", func(o client.Object) { o["enabled"] = enabled })
	}
	enable(false)
	s.eventuallyAll("green")
	enable(true)
	if counts := s.answered(2); counts["green"] != 8 {
		t.Errorf("requests go to %v", counts)
	}
	if told := run("explain", plainURL("/")); !strings.Contains(told, "blue was down, and waits for its activation") {
		t.Errorf("explained as %s", told)
	}
	s.paste("A site that does not come back by itself")
	s.eventuallyAll("blue")
}
