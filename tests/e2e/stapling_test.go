package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-lb/weir/client"
)

func TestAnswersOfARealResponderAreStapledAsTheDocumentSays(t *testing.T) {
	c := newCertified(t, "stapling.md", "--allow-local-receivers")
	if len(c.blocks) != 4 {
		t.Fatalf("%d blocks of commands", len(c.blocks))
	}
	c.sh(c.blocks[0])
	defer func() {
		_, _ = c.trySh(
			"kill $(cat ocsp.pid); for i in $(seq 100); do kill -0 $(cat ocsp.pid) 2>/dev/null || break; sleep 0.05; done")
	}()
	c.sh(c.blocks[1])
	c.waitUp("shop")
	for _, version := range []string{"", "-tls1_2"} {
		c.eventually("the answer is stapled", func() error {
			said, _ := c.trySh(strings.Replace(c.blocks[2], "-status", "-status "+version, 1))
			if !strings.Contains(said, "successful") || !strings.Contains(said, "Cert Status: good") {
				return fmt.Errorf("%q", said)
			}
			return nil
		})
	}
	certificate, err := c.controller.Session.ByName(c.ctx, "sslkeyandcertificate", "shop")
	c.must(err)
	info, _ := certificate["ocsp_response_info"].(map[string]any)
	if info["cert_status"] != "OCSP_CERTSTATUS_GOOD" {
		t.Errorf("%v", info)
	}

	// The authority revokes the certificate. Turned off and on, stapling begins with a question.
	c.sh(`kill $(cat ocsp.pid)
openssl ca -config ca.conf -cert ca.pem -keyfile ca.key -revoke shop.pem
openssl ocsp -index index.txt -port 8888 -rsigner ca.pem -rkey ca.key -CA ca.pem -ndays 7 > ocsp.log 2>&1 &
echo $! > ocsp.pid`)
	staples := func(is bool) {
		c.change("sslkeyandcertificate", "shop", func(o client.Object) { o["enable_ocsp_stapling"] = is })
	}
	staples(false)
	c.eventually("the answer is forgotten", func() error {
		certificate, err := c.controller.Session.ByName(c.ctx, "sslkeyandcertificate", "shop")
		if err == nil && certificate["ocsp_response_info"] != nil {
			err = fmt.Errorf("%v", certificate["ocsp_response_info"])
		}
		return err
	})
	staples(true)
	c.untilLogged(eventsPath+"&event_id=SSL_OCSP_NOT_GOOD", "was revoked")
	before, _, _ := strings.Cut(c.blocks[2], " | grep")
	c.eventually("nothing is stapled", func() error {
		said, _ := c.trySh(before + " || true")
		if !strings.Contains(said, "OCSP response: no response sent") {
			return fmt.Errorf("%q", said)
		}
		return nil
	})
}

func TestListOfRevokedCertificatesIsFetchedAndKeptWhileItsServerIsAway(t *testing.T) {
	c := newCertified(t, "client-certificates.md", "--allow-local-receivers")
	c.sh(c.blocks[0])
	c.sh(c.blocks[1])
	c.waitUp("shop")
	c.eventuallyAs("mallory", "", "200")
	makes, _, _ := strings.Cut(c.blocks[3], "weir pki set")
	c.sh(makes)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		list, err := os.ReadFile(filepath.Join(c.dir, "crl.pem"))
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write(list)
	}))
	defer server.Close()
	c.change("pkiprofile", "clients", func(o client.Object) {
		o["crl_check"], o["crls"] = true, list{object{"server_url": server.URL + "/clients.crl"}}
	})
	c.eventuallyAs("mallory", "", "400")
	c.eventuallyAs("alice", "", "200")
	profile, err := c.controller.Session.ByName(c.ctx, "pkiprofile", "clients")
	c.must(err)
	lists, _ := profile["crls"].([]any)
	if list, _ := lists[0].(map[string]any); list["last_refreshed"] == nil || list["next_update"] == nil {
		t.Errorf("%v", lists)
	}
	server.Close()
	c.must(c.controller.Kill())
	c.must(c.controller.Restart(c.ctx))
	c.eventuallyAs("mallory", "", "400")
	c.eventuallyAs("alice", "", "200")
}
