package kinds

import (
	"bytes"
	"crypto/x509"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

// The pairs in testdata are made by openssl. The tests expect what `openssl x509` prints.
var issued = time.Date(2026, 11, 21, 0, 5, 45, 0, time.UTC)

func certificateOf(t *testing.T, pem, key string) schema.Object {
	t.Helper()
	o := schema.Object{"name": "c", "certificate": schema.Object{"certificate": pem}, "key": key}
	k := kindOf(t, "sslkeyandcertificate")
	k.Fill(o)
	if err := k.Check(o); err != nil {
		t.Fatal(err)
	}
	if err := k.Derive(o, issued); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestReadsAnRSACertificateAsOpensslDoes(t *testing.T) {
	o := certificateOf(t, file(t, "rsa.pem"), file(t, "rsa.key"))
	name := schema.Object{
		"country": "DE", "state": "Berlin", "locality": "Berlin", "organization": "Example", "organization_unit": "Web",
		"common_name":        "www.example.com",
		"distinguished_name": "C=DE, ST=Berlin, L=Berlin, O=Example, OU=Web, CN=www.example.com",
	}
	for field, want := range map[string]any{
		"version": "2", "serial_number": "68699784220934727950908824867882756435073449903", "self_signed": true,
		"subject": name, "issuer": name, "signature_algorithm": "sha256WithRSAEncryption",
		"not_before": "2026-11-21 00:05:45", "not_after": "2036-11-18 00:05:45",
		"fingerprint":       "SHA1 Fingerprint=B7:54:73:A5:DD:FC:C3:7B:84:6E:A2:E0:23:29:3F:8E:FE:D2:E8:71\n",
		"days_until_expire": int64(3650), "expiry_status": "SSL_CERTIFICATE_GOOD",
		"subject_alt_names": []any{"www.example.com", "example.com", "192.0.2.1"},
	} {
		if got := o["certificate"].(schema.Object)[field]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", field, got, want)
		}
	}
	want := schema.Object{"algorithm": "SSL_KEY_ALGORITHM_RSA",
		"rsa_params": schema.Object{"key_size": "SSL_KEY_2048_BITS", "exponent": int64(65537)}}
	if !reflect.DeepEqual(o["key_params"], want) {
		t.Errorf("key_params %v", o["key_params"])
	}
}

func TestReadsAnECCertificateAsOpensslDoes(t *testing.T) {
	o := certificateOf(t, file(t, "ec.pem"), file(t, "ec.key"))
	certificate := o["certificate"].(schema.Object)
	if certificate["signature_algorithm"] != "ecdsa-with-SHA256" || certificate["subject_alt_names"] != nil {
		t.Errorf("got %v", certificate)
	}
	want := schema.Object{"algorithm": "SSL_KEY_ALGORITHM_EC",
		"ec_params": schema.Object{"curve": "SSL_KEY_EC_CURVE_SECP256R1"}}
	if !reflect.DeepEqual(o["key_params"], want) {
		t.Errorf("key_params %v", o["key_params"])
	}
}

func TestCountsTheDaysOfACertificate(t *testing.T) {
	end := time.Date(2036, 11, 18, 0, 5, 45, 0, time.UTC)
	for _, c := range []struct {
		now    time.Time
		days   int64
		status string
	}{
		{end.AddDate(0, 0, -31), 31, "SSL_CERTIFICATE_GOOD"},
		{end.AddDate(0, 0, -29), 29, "SSL_CERTIFICATE_EXPIRY_WARNING"},
		{end.Add(time.Second), 0, "SSL_CERTIFICATE_EXPIRED"},
	} {
		o := schema.Object{"certificate": schema.Object{"certificate": file(t, "rsa.pem")}, "key": schema.Sensitive}
		if err := kindOf(t, "sslkeyandcertificate").Derive(o, c.now); err != nil {
			t.Fatal(err)
		}
		got := o["certificate"].(schema.Object)
		if got["days_until_expire"] != c.days || got["expiry_status"] != c.status {
			t.Errorf("%v: got %v, %v", c.now, got["days_until_expire"], got["expiry_status"])
		}
	}
}

func TestTakesBackACertificateThatWasRead(t *testing.T) {
	k := kindOf(t, "sslkeyandcertificate")
	stored := certificateOf(t, file(t, "rsa.pem"), file(t, "rsa.key"))
	if err := k.Derive(stored, issued.AddDate(20, 0, 0)); err != nil { // it has expired by then
		t.Fatal(err)
	}
	next, err := k.Normalise(k.Redact(stored))
	if err != nil {
		t.Fatal(err)
	}
	k.KeepSecrets(next, stored)
	if err := k.Check(next); err != nil {
		t.Error(err)
	}
}

func TestKeysUnderAPassphraseAreDecrypted(t *testing.T) {
	pem := file(t, "rsa.pem")
	want, err := DecodeKeyPair(pem, file(t, "rsa.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"encrypted.key", "encrypted_3des.key", "encrypted_traditional.key"} {
		plain, err := DecryptKey(file(t, name), "opensesame")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := DecodeKeyPair(pem, plain); err != nil || !bytes.Equal(got.KeyDER, want.KeyDER) {
			t.Errorf("%s becomes %s, %v", name, plain, err)
		}
	}
	for name, want := range map[string]error{"encrypted.key": errPassphrase, "encrypted_traditional.key": errPassphrase,
		"encrypted_scrypt.key": errScheme} {
		if _, err := DecryptKey(file(t, name), "sesame"); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
}

func TestRefusesACertificateThatCannotServe(t *testing.T) {
	pem, key := file(t, "rsa.pem"), file(t, "rsa.key")
	cut := strings.Replace(pem, "\nMII", "\nNII", 1)
	for what, c := range map[string]struct {
		object schema.Object
		want   string
	}{
		"the key of another": {
			schema.Object{"certificate": schema.Object{"certificate": pem}, "key": file(t, "ec.key")},
			`sslkeyandcertificate: key: is not that of the certificate; give the one that it was made with`,
		},
		"a key that is broken": {
			schema.Object{"certificate": schema.Object{"certificate": pem},
				"key": strings.Replace(key, "\nMII", "\nNII", 1)},
			`sslkeyandcertificate: key: holds no private key that can be read; give it as PEM, RSA or EC`,
		},
		"a certificate for a key": {
			schema.Object{"certificate": schema.Object{"certificate": pem}, "key": pem},
			`sslkeyandcertificate: key: holds no private key that can be read; give it as PEM, RSA or EC`,
		},
		"no key": {
			schema.Object{"certificate": schema.Object{"certificate": pem}},
			`sslkeyandcertificate: key: is required; give the private key as PEM`,
		},
		"a key that is no PEM": {
			schema.Object{"certificate": schema.Object{"certificate": pem}, "key": "secret"},
			`sslkeyandcertificate: key: is not PEM; give the private key that belongs to the certificate`,
		},
		"a key under a passphrase": {
			schema.Object{"certificate": schema.Object{"certificate": pem}, "key": file(t, "encrypted.key")},
			`sslkeyandcertificate: key: is encrypted: give key_passphrase, too`,
		},
		"a key for a certificate": {
			schema.Object{"certificate": schema.Object{"certificate": key}, "key": key},
			`sslkeyandcertificate: certificate.certificate: holds no certificate; give PEM`,
		},
		"a broken certificate": {
			schema.Object{"certificate": schema.Object{"certificate": cut}, "key": key},
			`sslkeyandcertificate: certificate.certificate: certificate 1 of the PEM: x509: malformed certificate`,
		},
		"nothing": {
			schema.Object{"certificate": schema.Object{}},
			`sslkeyandcertificate: certificate.certificate: is required; give PEM, or self_signed true and a subject to have one made`,
		},
		"a format that is not PEM": {
			schema.Object{"certificate": schema.Object{"certificate": pem}, "key": key, "format": "SSL_PKCS12"},
			`sslkeyandcertificate: format: SSL_PKCS12 cannot be read; give SSL_PEM`,
		},
		"PEM in base64": {
			schema.Object{"certificate": schema.Object{"certificate": pem}, "key": key, "certificate_base64": true},
			`sslkeyandcertificate: certificate_base64: cannot be true; give the PEM as it is`,
		},
		"a key in base64": {
			schema.Object{"certificate": schema.Object{"certificate": pem}, "key": key, "key_base64": true},
			`sslkeyandcertificate: key_base64: cannot be true; give the PEM as it is`,
		},
		"an order without a subject": {
			schema.Object{"certificate": schema.Object{"self_signed": true}},
			`sslkeyandcertificate: certificate.subject.common_name: is required to make a self-signed certificate`,
		},
		"an order for no time": {
			schema.Object{"certificate": schema.Object{"self_signed": true, "days_until_expire": int64(0),
				"subject": schema.Object{"common_name": "a"}}},
			`sslkeyandcertificate: certificate.days_until_expire: 0 is out of range; give 1 to 36500`,
		},
	} {
		k := kindOf(t, "sslkeyandcertificate")
		k.Fill(c.object)
		if err := k.Check(c.object); err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", what, err, c.want)
		}
	}
}

func TestTakesACACertificateWithoutAKey(t *testing.T) {
	o := schema.Object{"name": "ca", "type": "SSL_CERTIFICATE_TYPE_CA",
		"certificate": schema.Object{"certificate": file(t, "rsa.pem")}}
	kindOf(t, "sslkeyandcertificate").Fill(o)
	if err := kindOf(t, "sslkeyandcertificate").Check(o); err != nil {
		t.Error(err)
	}
}

func TestGivesTheChainLeafFirstAndEveryKeyAsPKCS8(t *testing.T) {
	for name, algorithm := range map[string][]byte{
		"ec":          {0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01},                   // id-ecPublicKey
		"rsa":         {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05}, // rsaEncryption
		"traditional": {0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05},
	} {
		pair, err := DecodeKeyPair(file(t, "ec.pem")+file(t, "rsa.pem"), file(t, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.ChainDER[0])
		if err != nil || len(pair.ChainDER) != 2 || leaf.Subject.CommonName != "ec.example.com" {
			t.Errorf("%s: a chain of %d, leaf %v, %v", name, len(pair.ChainDER), leaf, err)
		}
		if !bytes.Contains(pair.KeyDER, algorithm) {
			t.Errorf("%s: the key does not say its algorithm, so it is not PKCS #8", name)
		}
	}
}

func TestDecodesNoHalfOfAPair(t *testing.T) {
	for _, c := range [][3]string{
		{"", file(t, "ec.key"), "holds no certificate"}, {file(t, "ec.pem"), "", "key: is no PEM of a private key"},
	} {
		if _, err := DecodeKeyPair(c[0], c[1]); err == nil || err.Error() != c[2] {
			t.Errorf("got %v, want %s", err, c[2])
		}
	}
}

func TestPutsAKeyPairIntoAnOrder(t *testing.T) {
	o := schema.Object{"name": "c", "certificate": schema.Object{"self_signed": true,
		"subject": schema.Object{"common_name": "a"}}}
	kindOf(t, "sslkeyandcertificate").Fill(o)
	SetKeyPair(o, file(t, "ec.pem"), file(t, "ec.key"))
	c, err := schema.Into[SSLKeyAndCertificate](o)
	if err != nil || c.Ordered() || c.Validate() != nil {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestReadsTheAuthoritiesOfAPKIProfile(t *testing.T) {
	o := schema.Object{"name": "p", "ca_certs": []any{schema.Object{"certificate": file(t, "rsa.pem") +
		file(t, "ec.pem")}}}
	k := kindOf(t, "pkiprofile")
	k.Fill(o)
	if err := k.Check(o); err != nil {
		t.Fatal(err)
	}
	if err := k.Derive(o, issued); err != nil {
		t.Fatal(err)
	}
	authority := objects(o["ca_certs"])[0]
	if authority["subject"].(schema.Object)["common_name"] != "www.example.com" ||
		authority["not_after"] != "2036-11-18 00:05:45" {
		t.Errorf("got %v", authority)
	}
	typed, err := schema.Into[PKIProfile](o)
	if err != nil || len(typed.Authorities()) != 2 {
		t.Errorf("got %v, %v", typed, err)
	}
}
