package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/client"
)

// issued is a certificate with its key, both PEM.
type issued struct {
	certificate, key string
	parsed           *x509.Certificate
	signer           *ecdsa.PrivateKey
}

// issue makes a certificate for a DNS name. Without an issuer it is the certificate of an authority.
func issue(t *testing.T, name string, by *issued) *issued {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, BasicConstraintsValid: true, IsCA: by == nil,
	}
	parent := &issued{parsed: template, signer: signer}
	if by != nil {
		parent = by
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent.parsed, signer.Public(), parent.signer)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issued{
		certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		key:         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})),
		parsed:      parsed, signer: signer,
	}
}

func (s *stage) write(name, text string) string {
	s.Helper()
	file := filepath.Join(s.dir, name)
	s.must(os.WriteFile(file, []byte(text), 0o600))
	return file
}

// secureNginx is a server for shop.internal that takes client certificates of the authority and tells what it saw.
func (s *stage) secureNginx(authority *issued) string {
	s.Helper()
	own := issue(s.T, "shop.internal", authority)
	directives := fmt.Sprintf(`
    ssl_certificate %s;
    ssl_certificate_key %s;
    ssl_client_certificate %s;
    ssl_verify_client optional;
    ssl_protocols TLSv1.2 TLSv1.3;
    add_header X-Seen "sni=$ssl_server_name client=$ssl_client_s_dn verified=$ssl_client_verify reused=$ssl_session_reused $ssl_protocol" always;
`, s.write("server.pem", own.certificate), s.write("server.key", own.key),
		s.write("authority.pem", authority.certificate))
	server, err := s.lab.SecureNginx(s.ctx, "nginx-tls", directives, map[string]string{"index.html": page})
	s.must(err)
	return server.ID()
}

// sees waits until a request is answered with this status, and what the server saw of it contains all of this.
func (s *stage) sees(status string, wanted ...string) {
	s.Helper()
	s.eventually(fmt.Sprintf("%s with %q", status, wanted), func() error {
		answer := s.curl("-i", "-H", "Host: asked.example:8080", plainURL("/"))
		for _, want := range append(wanted, "HTTP/1.1 "+status) {
			if !strings.Contains(answer, want) {
				return fmt.Errorf("%q is missing in %s", want, answer)
			}
		}
		return nil
	})
}

// counts waits until the API reports failures with this cause.
func (s *stage) counts(cause string) {
	s.Helper()
	s.eventually("failures are counted as "+cause, func() error {
		counters, _ := s.runtime("virtualservice", "web")["counters"].(map[string]any)
		if total, _ := counters["errors_"+cause].(float64); total == 0 {
			return fmt.Errorf("%v", counters)
		}
		return nil
	})
}

func TestServersAreSpokenToInTLSAndVerified(t *testing.T) {
	s := bareStage(t)
	authority, stranger := issue(t, "authority", nil), issue(t, "stranger", nil)
	server := s.secureNginx(authority)
	s.must(s.startController())
	s.must(s.startEngine())
	shown := issue(t, "engine.internal", authority)
	s.create("sslkeyandcertificate", client.Object{
		"name": "engine", "key": shown.key, "certificate": map[string]any{"certificate": shown.certificate}})
	for name, trusted := range map[string]*issued{"internal": authority, "elsewhere": stranger} {
		s.create("pkiprofile", client.Object{"name": name,
			"ca_certs": []any{map[string]any{"certificate": trusted.certificate}}})
	}
	s.create("pool", client.Object{
		"name": "web", "servers": serverList([]string{server}),
		"health_monitor_refs": []any{client.Ref("healthmonitor", "System-HTTPS")},
		"ssl_profile_ref":     client.Ref("sslprofile", "System-Standard-PFS"),
		"pki_profile_ref":     client.Ref("pkiprofile", "internal"), "host_check_enabled": true,
		"server_name":                 "shop.internal",
		"ssl_key_and_certificate_ref": client.Ref("sslkeyandcertificate", "engine"),
	})
	s.createVirtualService("web", "web", vip, tlsPort, plainPort)
	s.waitUp("web")
	s.sees("200", "sni=shop.internal client=CN=engine.internal verified=SUCCESS", "TLSv1.3", page)

	change := func(fields client.Object) {
		s.changeApplied("web", "pool", "web", func(o client.Object) {
			for field, value := range fields {
				if o[field] = value; value == nil {
					delete(o, field)
				}
			}
		})
	}
	change(client.Object{"pki_profile_ref": client.Ref("pkiprofile", "elsewhere")})
	s.sees("502")
	s.counts("server_untrusted")
	change(client.Object{"pki_profile_ref": client.Ref("pkiprofile", "internal"), "server_name": "other.internal"})
	s.sees("502")
	change(client.Object{"domain_name": []any{"shop.internal"}})
	s.sees("200", "sni=other.internal")
	change(client.Object{"host_check_enabled": false, "server_name": nil, "ssl_key_and_certificate_ref": nil})
	s.sees("200", "sni=asked.example client= verified=NONE")
	change(client.Object{"pki_profile_ref": client.Ref("pkiprofile", "elsewhere")})
	s.sees("502")
	change(client.Object{"pki_profile_ref": nil, "sni_enabled": false})
	s.sees("200", "sni= client=")

	report := s.load("--url", plainURL("/"), "--connections", "16", "--count", "2000")
	if report.ErrorTotal != 0 {
		t.Errorf("%+v", report)
	}
}

func TestServerThatSpeaksNoTLSIsToldFromOneThatIsDown(t *testing.T) {
	s := setUp(t, echo(t))
	s.change("pool", "web", func(o client.Object) {
		o["ssl_profile_ref"] = client.Ref("sslprofile", "System-Standard-PFS")
	})
	s.sees("502")
	s.counts("server_tls")
}
