package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

// certified runs commands of a document, with addresses of the test in place of those of the document.
type certified struct {
	*stage
	home, dir string
	blocks    []string
	server    string
}

func newCertified(t *testing.T, document string, flags ...string) *certified {
	t.Helper()
	s := bareStage(t)
	s.must(s.startController(flags...))
	s.must(s.startEngine())
	text, err := os.ReadFile("../../docs/" + document)
	s.must(err)
	c := &certified{stage: s, home: filepath.Join(s.dir, "home"), dir: t.TempDir()}
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		c.blocks = append(c.blocks, block[1])
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "subject=%q host=%s\n", r.Header.Values("X-Client-Subject"), r.Host)
	}))
	t.Cleanup(server.Close)
	c.server = server.Listener.Addr().String()
	s.command() // logs in
	return c
}

// sh runs a script where the files of the document are, and returns what it prints.
func (c *certified) sh(script string) string {
	c.Helper()
	out, err := c.trySh(script)
	if err != nil {
		c.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return out
}

func (c *certified) trySh(script string) (string, error) {
	host, port, err := net.SplitHostPort(c.server)
	c.must(err)
	script = strings.NewReplacer("servers[0].ip.addr=127.0.0.1", "servers[0].ip.addr="+host,
		"servers[0].port=8000", "servers[0].port="+port, "127.0.0.1", vip).Replace(script)
	command := exec.CommandContext(c.ctx, "bash", "-euc", script)
	command.Dir = c.dir
	command.Env = append(os.Environ(), "HOME="+c.home, "XDG_CONFIG_HOME="+c.home,
		"PATH="+filepath.Dir(weir(c.T))+":"+os.Getenv("PATH"))
	command.Stderr = c.Output()
	out, err := command.Output()
	return string(out), err
}

// as is the curl of a client with the certificate of this name; empty: with none.
func (c *certified) as(name, more string) string {
	c.Helper()
	shown := ""
	if name != "" {
		shown = fmt.Sprintf("--cert %s.pem --key %s.key", name, name)
	}
	return c.sh(fmt.Sprintf(
		"curl -sk --max-time 20 %s %s -w '%%{http_code} %%{http_version}' https://127.0.0.1:8443/ || true",
		shown, more))
}

func (c *certified) eventuallyAs(name, more, wanted string) {
	c.Helper()
	c.eventually(fmt.Sprintf("%q %s gets %q", name, more, wanted), func() error {
		if got := c.as(name, more); !strings.Contains(got, wanted) {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
}

func TestMutualTLSFromNothingAsTheDocumentSays(t *testing.T) {
	c := newCertified(t, "client-certificates.md")
	if len(c.blocks) != 4 {
		t.Fatalf("%d blocks of commands", len(c.blocks))
	}
	c.sh(c.blocks[0])
	c.sh(c.blocks[1])
	c.waitUp("shop")
	c.eventuallyAs("alice", "", "200")
	said := c.sh(c.blocks[2])
	if want := "subject=[\"CN=alice,O=Example\"] host=" + net.JoinHostPort(vip, "8443") + "\n400\n400\n"; said != want {
		t.Errorf("the document says %q, and %q comes", want, said)
	}
	for _, version := range []string{"--http2", "--tls-max 1.2"} {
		contains(t, c.as("alice", version), `subject=["CN=alice,O=Example"]`, "200")
		contains(t, c.as("", version), "400")
	}
	for _, forged := range []string{"X-Client-Subject", "x_client_subject"} {
		contains(t, c.as("alice", "-H '"+forged+": CN=root'"), "400")
	}
	contains(t, c.as("mallory", ""), "CN=mallory", "200")
	c.sh(c.blocks[3])
	c.eventuallyAs("mallory", "", "400")
	contains(t, c.as("alice", ""), "CN=alice", "200")
	for _, cause := range []string{"missing", "untrusted", "revoked"} {
		c.countsOf("shop", "client_certificate_"+cause)
	}
	c.countsOf("shop", "client_forged_field")
}

// countsOf waits until the API reports failures of a virtual service with this cause.
func (s *stage) countsOf(service, cause string) {
	s.Helper()
	s.eventually("failures are counted as "+cause, func() error {
		counters, _ := s.runtime("virtualservice", service)["counters"].(map[string]any)
		if total, _ := counters["errors_"+cause].(float64); total == 0 {
			return fmt.Errorf("%v", counters)
		}
		return nil
	})
}

// resumed asks twice with one session, and tells whether the second handshake was a resumption.
func (c *certified) resumed(name, version string) bool {
	c.Helper()
	ask := fmt.Sprintf(`printf 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' |
		openssl s_client -connect 127.0.0.1:8443 -cert %s.pem -key %s.key %s -ign_eof`, name, name, version)
	c.sh(ask + " -sess_out session")
	return strings.Contains(c.sh(ask+" -sess_in session"), "\nReused, ")
}

func TestRevokedClientIsShutOutUnderLoadAndOthersNotice(t *testing.T) {
	c := newCertified(t, "client-certificates.md")
	c.sh(c.blocks[0])
	c.sh(c.blocks[1])
	c.waitUp("shop")
	c.eventuallyAs("mallory", "", "200")
	for _, version := range []string{"-tls1_2", "-tls1_3"} {
		if !c.resumed("mallory", version) {
			t.Errorf("%s: the session is not resumed", version)
		}
	}
	// One client holds its connection open, and asks on it before and after the list has come.
	script := `exec 3>&1
rm -f in && mkfifo in
(openssl s_client -quiet -connect 127.0.0.1:8443 -cert mallory.pem -key mallory.key < in > open.txt 2>/dev/null || true) &
exec 4> in
printf 'GET /open HTTP/1.1\r\nHost: a\r\n\r\n' >&4
for i in $(seq 200); do grep -q 'CN=mallory' open.txt && break; sleep 0.05; done
` + c.blocks[3] + `
for i in $(seq 400); do
  [ "$(curl -sk -o /dev/null -w '%{http_code}' --cert mallory.pem --key mallory.key https://127.0.0.1:8443/)" = 400 ] && break
  [ "$(curl -sk -o /dev/null -w '%{http_code}' --cert alice.pem --key alice.key https://127.0.0.1:8443/)" = 200 ]
done
printf 'GET /open HTTP/1.1\r\nHost: a\r\n\r\n' >&4
exec 4>&-
wait
cat open.txt`
	said := c.sh(script)
	if !strings.Contains(said, "200 OK") || !strings.Contains(said, "400 Bad Request") {
		t.Errorf("the open connection gets %s", said)
	}
	contains(t, c.as("mallory", ""), "400")
	if c.resumed("mallory", "-tls1_3") {
		t.Error("a revoked client resumes a session")
	}
	for range 20 {
		contains(t, c.as("alice", ""), "200")
	}
}

func TestTunnelsAndChildrenAskForCertificates(t *testing.T) {
	c := newCertified(t, "client-certificates.md")
	c.sh(c.blocks[0])
	c.sh(c.blocks[1])
	c.create("applicationprofile", client.Object{"name": "tunnels", "type": "APPLICATION_PROFILE_TYPE_SSL",
		"tcp_app_profile": object{"ssl_client_certificate_mode": "SSL_CLIENT_CERTIFICATE_REQUIRE",
			"pki_profile_ref": client.Ref("pkiprofile", "clients")}})
	c.change("virtualservice", "shop", func(o client.Object) {
		o["application_profile_ref"] = client.Ref("applicationprofile", "tunnels")
	})
	c.waitUp("shop")
	c.eventuallyAs("alice", "", "200")
	c.eventually("a client without a certificate gets an alert", func() error {
		out, _ := c.trySh("echo | openssl s_client -connect 127.0.0.1:8443 -tls1_2 2>&1")
		if !strings.Contains(out, "alert handshake failure") && !strings.Contains(out, "alert certificate required") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	c.countsOf("shop", "client_certificate_missing")

	c.change("virtualservice", "shop", func(o client.Object) {
		o["application_profile_ref"] = client.Ref("applicationprofile", "certified")
		o["type"], o["vh_type"] = "VS_TYPE_VH_PARENT", "VS_TYPE_VH_SNI"
	})
	c.create("virtualservice", client.Object{"name": "child", "type": "VS_TYPE_VH_CHILD", "vh_type": "VS_TYPE_VH_SNI",
		"vh_parent_vs_ref": client.Ref("virtualservice", "shop"), "vh_domain_name": list{"child.test"},
		"pool_ref": client.Ref("pool", "shop"), "application_profile_ref": client.Ref(
			"applicationprofile", "System-HTTP")})
	ask := func(name string) string {
		return c.as(name, "--connect-to child.test:8443:127.0.0.1:8443 https://child.test:8443/")
	}
	c.eventually("a child asks what its parent asks", func() error {
		without, with := ask(""), ask("alice")
		if !strings.Contains(without, "400") || !strings.Contains(with, "host=child.test") {
			return fmt.Errorf("%q, and with a certificate %q", without, with)
		}
		return nil
	})
}
