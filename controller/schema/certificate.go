package schema

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	certificateTime   = "2006-01-02 15:04:05"
	expiryWarningDays = 30
)

// KeyPair is a certificate as a TLS server needs it.
type KeyPair struct {
	ChainDER [][]byte // leaf first
	KeyDER   []byte   // PKCS #8
	Leaf     *x509.Certificate
}

// ParseKeyPair reads PEM. The error is a *FieldError that says which half is wrong, or that they are not one pair.
func ParseKeyPair(certificatePEM, keyPEM string) (*KeyPair, error) {
	pair, problem := parseKeyPair(certificatePEM, keyPEM)
	if problem != nil {
		problem.Kind = "sslkeyandcertificate"
		return nil, problem
	}
	return pair, nil
}

func parseKeyPair(certificatePEM, keyPEM string) (*KeyPair, *FieldError) {
	chain, leaf, problem := parseChain(certificatePEM)
	if problem != nil {
		return nil, problem
	}
	if block, _ := pem.Decode([]byte(keyPEM)); block == nil {
		return nil, &FieldError{Field: "key", Problem: "is not PEM; give the private key that belongs to the certificate"}
	} else if strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "" {
		return nil, &FieldError{Field: "key", Problem: "is encrypted; give it without a passphrase"}
	}
	loaded, err := tls.X509KeyPair([]byte(certificatePEM), []byte(keyPEM))
	if err != nil {
		return nil, &FieldError{Field: "key", Problem: strings.TrimPrefix(err.Error(), "tls: ")}
	}
	key, err := x509.MarshalPKCS8PrivateKey(loaded.PrivateKey)
	if err != nil {
		return nil, &FieldError{Field: "key", Problem: err.Error()}
	}
	return &KeyPair{ChainDER: chain, KeyDER: key, Leaf: leaf}, nil
}

func parseChain(text string) ([][]byte, *x509.Certificate, *FieldError) {
	var chain [][]byte
	var leaf *x509.Certificate
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			problem := fmt.Sprintf("certificate %d of the PEM: %v", len(chain)+1, err)
			return nil, nil, &FieldError{Field: "certificate.certificate", Problem: problem}
		}
		if leaf == nil {
			leaf = parsed
		}
		chain = append(chain, block.Bytes)
	}
	if leaf == nil {
		return nil, nil, &FieldError{Field: "certificate.certificate", Problem: "holds no certificate; give PEM"}
	}
	return chain, leaf, nil
}

// deriveCertificate reads out of the PEM what clients like to see. An order has no PEM yet and derives nothing; a CA
// certificate needs no key.
func deriveCertificate(o Object, now time.Time) *FieldError {
	c, err := Into[SSLKeyAndCertificate](o)
	if err != nil {
		return &FieldError{Problem: err.Error()}
	}
	if c.Ordered() {
		return c.checkOrder()
	}
	leaf, problem := c.leaf()
	if problem != nil {
		return problem
	}
	keyParams, problem := describeKey(leaf)
	if problem != nil {
		return problem
	}
	o["key_params"] = keyParams
	describeCertificate(o["certificate"].(Object), leaf, now)
	return nil
}

func (c *SSLKeyAndCertificate) checkOrder() *FieldError {
	switch {
	case c.Certificate.Subject == nil || c.Certificate.Subject.CommonName == "":
		return &FieldError{Field: "certificate.subject.common_name", Problem: "is required to make a self-signed certificate"}
	case c.Certificate.DaysUntilExpire == 0:
		return &FieldError{Field: "certificate.days_until_expire", Problem: "0 is out of range; give 1 to 36500"}
	}
	return nil
}

func (c *SSLKeyAndCertificate) leaf() (*x509.Certificate, *FieldError) {
	switch {
	case c.Certificate.PEM == "":
		return nil, &FieldError{
			Field:   "certificate.certificate",
			Problem: "is required; give PEM, or self_signed true and a subject to have one made",
		}
	case c.Type == "SSL_CERTIFICATE_TYPE_CA" && c.Key == "":
		_, leaf, problem := parseChain(c.Certificate.PEM)
		return leaf, problem
	case c.Key == "":
		return nil, &FieldError{Field: "key", Problem: "is required; give the private key as PEM"}
	}
	pair, problem := parseKeyPair(c.Certificate.PEM, c.Key)
	if problem != nil {
		return nil, problem
	}
	return pair.Leaf, nil
}

func describeCertificate(o Object, leaf *x509.Certificate, now time.Time) {
	days := int64(leaf.NotAfter.Sub(now).Hours() / 24)
	o["version"] = fmt.Sprint(leaf.Version - 1)
	o["serial_number"] = leaf.SerialNumber.String()
	o["self_signed"] = leaf.CheckSignatureFrom(leaf) == nil || leaf.Issuer.String() == leaf.Subject.String()
	o["subject"] = describeName(leaf.Subject)
	o["issuer"] = describeName(leaf.Issuer)
	o["signature_algorithm"] = signatureName(leaf.SignatureAlgorithm)
	o["not_before"] = leaf.NotBefore.UTC().Format(certificateTime)
	o["not_after"] = leaf.NotAfter.UTC().Format(certificateTime)
	o["fingerprint"] = "SHA1 Fingerprint=" + fingerprint(leaf.Raw) + "\n"
	o["public_key"] = publicKeyPEM(leaf)
	o["days_until_expire"] = max(days, 0)
	o["expiry_status"] = expiryStatus(leaf.NotAfter, now)
	if names := altNames(leaf); len(names) > 0 {
		o["subject_alt_names"] = names
	} else {
		delete(o, "subject_alt_names")
	}
}

func expiryStatus(notAfter, now time.Time) string {
	switch {
	case now.After(notAfter):
		return "SSL_CERTIFICATE_EXPIRED"
	case notAfter.Sub(now) < expiryWarningDays*24*time.Hour:
		return "SSL_CERTIFICATE_EXPIRY_WARNING"
	}
	return "SSL_CERTIFICATE_GOOD"
}

// describeName writes a name as openssl does: "C=US, O=Example, CN=www.example.com".
func describeName(name pkix.Name) Object {
	o := Object{}
	var whole []string
	part := func(short, field string, values []string) {
		if len(values) == 0 {
			return
		}
		o[field] = values[0]
		for _, value := range values {
			whole = append(whole, short+"="+value)
		}
	}
	part("C", "country", name.Country)
	part("ST", "state", name.Province)
	part("L", "locality", name.Locality)
	part("O", "organization", name.Organization)
	part("OU", "organization_unit", name.OrganizationalUnit)
	if name.CommonName != "" {
		part("CN", "common_name", []string{name.CommonName})
	}
	o["distinguished_name"] = strings.Join(whole, ", ")
	return o
}

// signatureName is what openssl calls an algorithm, where that differs from Go.
func signatureName(algorithm x509.SignatureAlgorithm) string {
	names := map[x509.SignatureAlgorithm]string{
		x509.SHA1WithRSA: "sha1WithRSAEncryption", x509.SHA256WithRSA: "sha256WithRSAEncryption",
		x509.SHA384WithRSA: "sha384WithRSAEncryption", x509.SHA512WithRSA: "sha512WithRSAEncryption",
		x509.ECDSAWithSHA1: "ecdsa-with-SHA1", x509.ECDSAWithSHA256: "ecdsa-with-SHA256",
		x509.ECDSAWithSHA384: "ecdsa-with-SHA384", x509.ECDSAWithSHA512: "ecdsa-with-SHA512",
	}
	if name, ok := names[algorithm]; ok {
		return name
	}
	return algorithm.String()
}

func fingerprint(der []byte) string {
	sum := sha1.Sum(der)
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}

func publicKeyPEM(leaf *x509.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: leaf.RawSubjectPublicKeyInfo}))
}

func altNames(leaf *x509.Certificate) []any {
	var names []any
	for _, name := range leaf.DNSNames {
		names = append(names, name)
	}
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

func describeKey(leaf *x509.Certificate) (Object, *FieldError) {
	switch key := leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		size := fmt.Sprintf("SSL_KEY_%d_BITS", key.N.BitLen())
		if slices.Contains(enums["RSAKeySize"], size) {
			return Object{
				"algorithm":  "SSL_KEY_ALGORITHM_RSA",
				"rsa_params": Object{"key_size": size, "exponent": int64(key.E)},
			}, nil
		}
	case *ecdsa.PublicKey:
		curve, ok := map[elliptic.Curve]string{
			elliptic.P256(): "SSL_KEY_EC_CURVE_SECP256R1",
			elliptic.P384(): "SSL_KEY_EC_CURVE_SECP384R1",
			elliptic.P521(): "SSL_KEY_EC_CURVE_SECP521R1",
		}[key.Curve]
		if ok {
			return Object{"algorithm": "SSL_KEY_ALGORITHM_EC", "ec_params": Object{"curve": curve}}, nil
		}
	}
	return nil, &FieldError{
		Field:   "certificate.certificate",
		Problem: "has a key that is neither RSA of 1024, 2048, 3072 or 4096 bits nor on P-256, P-384 or P-521",
	}
}
