package controller

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// certificateOf returns a certificate that an authority has signed, and its key, both as PEM. Without an authority it
// signs itself.
func certificateOf(t *testing.T, template, by *x509.Certificate, signer *ecdsa.PrivateKey) (certificate string,
	key *ecdsa.PrivateKey, private string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if by == nil {
		by, signer = template, key
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, by, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), key,
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

func TestAuthoritiesOnTheMachineOfTheControllerAreNotAskedUnlessThatIsAllowed(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	ca, signer, _ := certificateOf(t, authority, nil, nil)
	leaf, _, key := certificateOf(t, &x509.Certificate{SerialNumber: big.NewInt(2),
		Subject: pkix.Name{CommonName: "shop"}, OCSPServer: []string{server.URL}}, authority, signer)
	for _, allowed := range []bool{false, true} {
		t.Run(fmt.Sprintf("allowed %t", allowed), func(t *testing.T) {
			asked.Store(0)
			h := startAs(t, t.TempDir(), func(config *Config) { config.AllowLocalReceivers = allowed })
			h.create("sslkeyandcertificate", client.Object{"name": "shop", "key": key,
				"certificate": client.Object{"certificate": leaf + ca}, "enable_ocsp_stapling": true})
			h.create("pkiprofile", client.Object{"name": "clients",
				"ca_certs": []any{client.Object{"certificate": ca}},
				"crls":     []any{client.Object{"server_url": server.URL}}})
			service := h.createService("shop", 8443)
			service["ssl_key_and_certificate_refs"] = []any{"/api/sslkeyandcertificate?name=shop"}
			_, err := h.api.Replace(h.Context(), "virtualservice", service)
			h.must(err)
			pool, err := h.api.ByName(h.Context(), "pool", "shop")
			h.must(err)
			pool["ssl_profile_ref"] = "/api/sslprofile?name=System-Standard"
			pool["pki_profile_ref"] = "/api/pkiprofile?name=clients"
			_, err = h.api.Replace(h.Context(), "pool", pool)
			h.must(err)
			for _, id := range []string{"SSL_OCSP_FAILED", "CRL_FETCH_FAILED"} {
				told := h.eventually(id)
				if refused := strings.Contains(told, "--allow-local-receivers"); refused == allowed {
					t.Errorf("%s: %s", id, told)
				}
			}
			if got := asked.Load(); allowed != (got > 0) {
				t.Errorf("the server was asked %d times", got)
			}
		})
	}
}

// eventually returns the message of an event, once there is one.
func (h *house) eventually(id string) string {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		var events struct{ Results []client.Object }
		h.must(h.api.Get(ctx, "analytics/logs?type=2", &events))
		for _, event := range events.Results {
			if event["event_id"] == id {
				return fmt.Sprint(event["event_description"])
			}
		}
		select {
		case <-ctx.Done():
			h.Fatalf("no event %s", id)
		case <-poll.C:
		}
	}
}
