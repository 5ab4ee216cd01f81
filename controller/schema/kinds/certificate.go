package kinds

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

const (
	certificateTime   = "2006-01-02 15:04:05"
	expiryWarningDays = 30
	brokenKey         = "holds no private key that can be read; give it as PEM, RSA or EC"
)

// KeyPair is a certificate as a TLS server needs it.
type KeyPair struct {
	ChainDER [][]byte // leaf first
	KeyDER   []byte   // PKCS #8
}

// DecodeKeyPair turns the PEM of a stored object into DER. It does not check again that certificate and key fit: the
// write has checked that, and the check costs half a millisecond for each certificate at each revision.
func DecodeKeyPair(certificatePEM, keyPEM string) (*KeyPair, error) {
	chain := blocks(certificatePEM, "CERTIFICATE")
	if len(chain) == 0 {
		return nil, errors.New("holds no certificate")
	}
	key, err := keyDER(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	return &KeyPair{ChainDER: chain, KeyDER: key}, nil
}

// blocks returns the PEM blocks of a type, in order.
func blocks(text, kind string) [][]byte {
	var found [][]byte
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == kind {
			found = append(found, block.Bytes)
		}
	}
	return found
}

// keyDER turns older forms of a private key into PKCS #8.
func keyDER(text string) ([]byte, error) {
	if plain := blocks(text, "PRIVATE KEY"); len(plain) > 0 {
		return plain[0], nil
	}
	if rsa := blocks(text, "RSA PRIVATE KEY"); len(rsa) > 0 {
		key, err := x509.ParsePKCS1PrivateKey(rsa[0])
		if err != nil {
			return nil, err
		}
		return x509.MarshalPKCS8PrivateKey(key)
	}
	if ec := blocks(text, "EC PRIVATE KEY"); len(ec) > 0 {
		key, err := x509.ParseECPrivateKey(ec[0])
		if err != nil {
			return nil, err
		}
		return x509.MarshalPKCS8PrivateKey(key)
	}
	return nil, errors.New("is no PEM of a private key")
}

// checkKeyPair checks that a TLS server can use the certificate with the key. It returns the leaf. Who has a passphrase
// has decrypted the key before.
func checkKeyPair(certificatePEM, keyPEM string) (*x509.Certificate, *schema.FieldError) {
	leaf, problem := parseLeaf(certificatePEM)
	if problem != nil {
		return nil, problem
	}
	if block, _ := pem.Decode([]byte(keyPEM)); block == nil {
		return nil, &schema.FieldError{
			Field:   "key",
			Problem: "is not PEM; give the private key that belongs to the certificate",
		}
	}
	if IsEncryptedKey(keyPEM) {
		return nil, &schema.FieldError{Field: "key", Problem: "is encrypted: give key_passphrase, too"}
	}
	der, err := keyDER(keyPEM)
	if err != nil {
		return nil, &schema.FieldError{Field: "key", Problem: brokenKey}
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, &schema.FieldError{Field: "key", Problem: brokenKey}
	}
	if !belongs(key, leaf) {
		return nil, &schema.FieldError{
			Field:   "key",
			Problem: "is not that of the certificate; give the one that it was made with",
		}
	}
	return leaf, nil
}

func belongs(key any, leaf *x509.Certificate) bool {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return false
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(leaf.PublicKey)
}

// parseLeaf reads the whole chain and returns its first certificate.
func parseLeaf(text string) (*x509.Certificate, *schema.FieldError) {
	var leaf *x509.Certificate
	for i, der := range blocks(text, "CERTIFICATE") {
		parsed, err := x509.ParseCertificate(der)
		if err != nil {
			problem := fmt.Sprintf("certificate %d of the PEM: %v", i+1, err)
			return nil, &schema.FieldError{Field: "certificate.certificate", Problem: problem}
		}
		if leaf == nil {
			leaf = parsed
		}
	}
	if leaf == nil {
		return nil, &schema.FieldError{Field: "certificate.certificate", Problem: "holds no certificate; give PEM"}
	}
	return leaf, nil
}

// deriveCertificate sets the fields that the PEM contains. An order has no PEM yet, so nothing is set.
func deriveCertificate(o schema.Object, now time.Time) *schema.FieldError {
	certificate, _ := o["certificate"].(schema.Object)
	text, _ := certificate["certificate"].(string)
	if text == "" {
		return nil
	}
	leaf, problem := parseLeaf(text)
	if problem != nil {
		return problem
	}
	if params, ok := describeKey(leaf); ok {
		o["key_params"] = params
	}
	describeCertificate(certificate, leaf, now)
	deriveOCSP(o, leaf.OCSPServer)
	return nil
}

func describeCertificate(o schema.Object, leaf *x509.Certificate, now time.Time) {
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
func describeName(name pkix.Name) schema.Object {
	o := schema.Object{}
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

// signatureName returns openssl's name of an algorithm if it differs from Go's.
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

// describeKey describes RSA and EC keys whose size or curve has a name.
func describeKey(leaf *x509.Certificate) (schema.Object, bool) {
	switch key := leaf.PublicKey.(type) {
	case *rsa.PublicKey:
		size := fmt.Sprintf("SSL_KEY_%d_BITS", key.N.BitLen())
		params := schema.Object{"key_size": size, "exponent": int64(key.E)}
		return schema.Object{"algorithm": "SSL_KEY_ALGORITHM_RSA", "rsa_params": params},
			slices.Contains(rsaKeySizes, size)
	case *ecdsa.PublicKey:
		curve, ok := curves[key.Curve]
		return schema.Object{"algorithm": "SSL_KEY_ALGORITHM_EC", "ec_params": schema.Object{"curve": curve}}, ok
	}
	return nil, false
}

var curves = map[elliptic.Curve]string{
	elliptic.P256(): "SSL_KEY_EC_CURVE_SECP256R1",
	elliptic.P384(): "SSL_KEY_EC_CURVE_SECP384R1",
	elliptic.P521(): "SSL_KEY_EC_CURVE_SECP521R1",
}
