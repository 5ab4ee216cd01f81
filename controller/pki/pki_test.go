package pki

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-lb/weir/api/engine/enrollment"
	"github.com/weir-lb/weir/controller/pki/pkitest"
	"github.com/weir-lb/weir/controller/schema"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func openSealer(t *testing.T) *Sealer {
	t.Helper()
	sealer, err := OpenSealer(filepath.Join(t.TempDir(), "secrets.key"))
	if err != nil {
		t.Fatal(err)
	}
	return sealer
}

func openAuthority(t *testing.T) *Authority {
	t.Helper()
	authority, err := OpenAuthority(t.Context(), pkitest.NewVault(), openSealer(t), start)
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

func TestOpensWhatItSealedAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets.key")
	first, err := OpenSealer(path)
	if err != nil {
		t.Fatal(err)
	}
	sealed := first.Seal([]byte("hunter2"), "user/admin")
	if bytes.Contains(sealed, []byte("hunter2")) {
		t.Error("sealed value shows the secret")
	}
	second, err := OpenSealer(path)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := second.Open(sealed, "user/admin"); err != nil || string(plain) != "hunter2" {
		t.Errorf("got %q, %v", plain, err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("key file has mode %v", info.Mode())
	}
}

func TestDerivesTheSameSecretForOnePurposeAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets.key")
	var derived [][]byte
	for _, purpose := range []string{"limits", "limits", "others"} {
		sealer, err := OpenSealer(path)
		if err != nil {
			t.Fatal(err)
		}
		derived = append(derived, sealer.Derive(purpose))
	}
	if !bytes.Equal(derived[0], derived[1]) || bytes.Equal(derived[0], derived[2]) || len(derived[0]) != 32 {
		t.Errorf("got %x", derived)
	}
	if other := openSealer(t).Derive("limits"); bytes.Equal(other, derived[0]) {
		t.Error("another key file gives the same secret")
	}
}

func TestRefusesSealedValueForAnotherPurposeOrAltered(t *testing.T) {
	sealer := openSealer(t)
	sealed := sealer.Seal([]byte("secret"), "a")
	altered := bytes.Clone(sealed)
	altered[len(altered)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"purpose": func() ([]byte, error) { return sealer.Open(sealed, "b") },
		"altered": func() ([]byte, error) { return sealer.Open(altered, "a") },
		"short":   func() ([]byte, error) { return sealer.Open(sealed[:10], "a") },
		"key":     func() ([]byte, error) { return openSealer(t).Open(sealed, "a") },
	} {
		if _, err := open(); !errors.Is(err, ErrSealed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRefusesKeyFileOfWrongSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets.key")
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSealer(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

func TestKeepsAuthorityOverRestartAndNeverStoresItsKeyInTheClear(t *testing.T) {
	vault, sealer := pkitest.NewVault(), openSealer(t)
	first, err := OpenAuthority(t.Context(), vault, sealer, start)
	if err != nil {
		t.Fatal(err)
	}
	second, err := OpenAuthority(t.Context(), vault, sealer, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if first.Fingerprint() != second.Fingerprint() || !first.key.Equal(second.key) {
		t.Error("authority changed over a restart")
	}
	keyDER, _ := x509.MarshalECPrivateKey(first.key)
	if stored, _ := vault.Get(t.Context(), authorityKey); len(stored) == 0 || bytes.Contains(stored, keyDER) {
		t.Error("vault holds the key in the clear")
	}
	if _, err := OpenAuthority(t.Context(), vault, openSealer(t), start); !errors.Is(err, ErrSealed) {
		t.Errorf("with another key file: got %v", err)
	}
}

func request(t *testing.T, key any, name string) []byte {
	t.Helper()
	csr, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return csr
}

func TestIssuesIdentityThatNamesTheEngineWhateverTheRequestSays(t *testing.T) {
	authority := openAuthority(t)
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	der, err := authority.IssueEngine(request(t, key, "se-of-somebody-else"), "se-1", "join-1", start)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	if certificate.Subject.CommonName != "se-1" {
		t.Errorf("common name %q", certificate.Subject.CommonName)
	}
	if got := certificate.NotAfter.Sub(start); got != EngineCertificateLifetime {
		t.Errorf("lives %v", got)
	}
	usages := map[x509.ExtKeyUsage]bool{x509.ExtKeyUsageClientAuth: true, x509.ExtKeyUsageServerAuth: false}
	for usage, allowed := range usages {
		_, err := certificate.Verify(x509.VerifyOptions{
			Roots: authority.Pool(), CurrentTime: start.Add(time.Hour), KeyUsages: []x509.ExtKeyUsage{usage},
		})
		if (err == nil) != allowed {
			t.Errorf("usage %v: %v", usage, err)
		}
	}
}

func TestRefusesMalformedOrWeakCertificateRequest(t *testing.T) {
	authority := openAuthority(t)
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	forged := request(t, key, "x")
	forged[len(forged)-1] ^= 1
	for name, csr := range map[string][]byte{"empty": nil, "forged": forged, "weak": request(t, weak, "x")} {
		if _, err := authority.IssueEngine(csr, "se-1", "join-1", start); !errors.Is(err, ErrRequest) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestServerCertificateBringsTheAuthorityThatTokensPin(t *testing.T) {
	authority := openAuthority(t)
	certificate, err := authority.ServerCertificate(start)
	if err != nil {
		t.Fatal(err)
	}
	last := certificate.Certificate[len(certificate.Certificate)-1]
	if sha256.Sum256(last) != authority.Fingerprint() {
		t.Error("chain does not end in the authority")
	}
	leaf, _ := x509.ParseCertificate(certificate.Certificate[0])
	_, err = leaf.Verify(x509.VerifyOptions{Roots: authority.Pool(), DNSName: enrollment.ControllerName,
		CurrentTime: start})
	if err != nil {
		t.Error(err)
	}
}

func TestTokenIsGoodOnceAndForTenMinutes(t *testing.T) {
	now := start
	vault, authority := pkitest.NewVault(), openAuthority(t)
	tokens := NewTokens(vault, authority, func() time.Time { return now })
	issue := func() string {
		token, err := tokens.Issue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	token := issue()
	if err := tokens.Redeem(t.Context(), token); err != nil {
		t.Errorf("first use: %v", err)
	}
	if err := tokens.Redeem(t.Context(), token); !errors.Is(err, ErrTokenRefused) {
		t.Errorf("second use: %v", err)
	}
	token = issue()
	now = now.Add(TokenLifetime)
	if err := tokens.Redeem(t.Context(), token); err != nil {
		t.Errorf("at ten minutes: %v", err)
	}
	token = issue()
	now = now.Add(TokenLifetime + time.Millisecond)
	if err := tokens.Redeem(t.Context(), token); !errors.Is(err, ErrTokenRefused) {
		t.Errorf("after ten minutes: %v", err)
	}
}

func TestTokenSurvivesPrintingAndPinsTheAuthority(t *testing.T) {
	authority := openAuthority(t)
	text, err := NewTokens(pkitest.NewVault(), authority, time.Now).Issue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := enrollment.ParseToken(text)
	if err != nil || token.Fingerprint != authority.Fingerprint() || token.String() != text {
		t.Errorf("%s became %s, %v", text, token, err)
	}
}

func TestTokenUsedByManyAtOnceAdmitsOne(t *testing.T) {
	tokens := NewTokens(pkitest.NewVault(), openAuthority(t), time.Now)
	token, err := tokens.Issue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var admitted atomic.Int32
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if tokens.Redeem(context.Background(), token) == nil {
				admitted.Add(1)
			}
		})
	}
	group.Wait()
	if admitted.Load() != 1 {
		t.Errorf("%d were admitted", admitted.Load())
	}
}

func TestKeepsNoMoreUnusedTokensThanItsLimitAndForgetsExpiredOnes(t *testing.T) {
	now := start
	vault := pkitest.NewVault()
	tokens := NewTokens(vault, openAuthority(t), func() time.Time { return now })
	for range tokensMax {
		if _, err := tokens.Issue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tokens.Issue(t.Context()); !errors.Is(err, ErrTooManyTokens) {
		t.Errorf("one too many: %v", err)
	}
	now = now.Add(TokenLifetime + time.Second)
	_, err := tokens.Issue(t.Context())
	if kept, _ := vault.All(t.Context()); err != nil || len(kept) != 1 {
		t.Errorf("after they expired: %v, %d kept", err, len(kept))
	}
}

func order(t *testing.T, body string) schema.Object {
	t.Helper()
	kind, _ := schema.Lookup("sslkeyandcertificate")
	object, err := kind.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	kind.Fill(object)
	return object
}

func TestFulfilsOrdersOfSelfSignedCertificates(t *testing.T) {
	for params, algorithm := range map[string]string{
		`{"algorithm": "SSL_KEY_ALGORITHM_RSA", "rsa_params": {"key_size": "SSL_KEY_3072_BITS"}}`:     "RSA",
		`{"algorithm": "SSL_KEY_ALGORITHM_EC", "ec_params": {"curve": "SSL_KEY_EC_CURVE_SECP384R1"}}`: "ECDSA",
	} {
		object := order(t, `{"name": "c", "key_params": `+params+
			`, "certificate": {"self_signed": true, "days_until_expire": 7,
			"subject": {"common_name": "weir.test", "organization": "Weir"}, "subject_alt_names": ["weir.test", "10.0.0.1"]}}`)
		if err := Fulfil(object, start); err != nil {
			t.Fatal(err)
		}
		certificate := object["certificate"].(schema.Object)["certificate"].(string)
		pair, err := tls.X509KeyPair([]byte(certificate), []byte(object["key"].(string)))
		if err != nil {
			t.Fatal(err)
		}
		leaf := pair.Leaf
		if leaf.PublicKeyAlgorithm.String() != algorithm || leaf.Subject.String() != "CN=weir.test,O=Weir" {
			t.Errorf("got %v of %v", leaf.PublicKeyAlgorithm, leaf.Subject)
		}
		if !leaf.NotAfter.Equal(start.AddDate(0, 0, 7)) || leaf.VerifyHostname("10.0.0.1") != nil ||
			leaf.VerifyHostname("weir.test") != nil {
			t.Errorf("until %v for %v %v", leaf.NotAfter, leaf.DNSNames, leaf.IPAddresses)
		}
	}
}

func TestLeavesCertificateThatIsNoOrderAlone(t *testing.T) {
	object := order(t, `{"name": "c", "certificate": {"certificate": "PEM of somebody"}, "key": "k"}`)
	before := schema.Clone(object)
	if err := Fulfil(object, start); err != nil || !reflect.DeepEqual(object, before) {
		t.Errorf("%v became %v, %v", before, object, err)
	}
}
