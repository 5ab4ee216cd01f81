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
	t.Cleanup(func() { _, _ = c.trySh("kill $(cat ocsp.pid)") })
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

	// The authority revokes the certificate. A change of the object has the controller ask again.
	c.sh(`kill $(cat ocsp.pid)
openssl ca -config ca.conf -cert ca.pem -keyfile ca.key -revoke shop.pem
openssl ocsp -index index.txt -port 8888 -rsigner ca.pem -rkey ca.key -CA ca.pem -ndays 7 > ocsp.log 2>&1 &
echo $! > ocsp.pid`)
	c.change("sslkeyandcertificate", "shop", func(o client.Object) {
		o["ocsp_config"] = object{"responder_url_lists": list{"http://" + vip + ":8888/again"}}
	})
	c.untilLogged(eventsPath+"&event_id=SSL_OCSP_NOT_GOOD", "was revoked")
	c.eventually("nothing is stapled", func() error {
		said, _ := c.trySh(strings.Replace(c.blocks[2], " | grep", " | tee all.txt | grep", 1) + " || cat all.txt")
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
	c.sh("weir pki set clients crl_check=true crls[0].server_url=http://" +
		server.Listener.Addr().String() + "/clients.crl")
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
