package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// Fulfil makes the key and the self-signed certificate that an sslkeyandcertificate object orders, and puts them into
// the object. It does not change an object that has a certificate.
func Fulfil(object schema.Object, now time.Time) error {
	order, err := schema.Into[kinds.SSLKeyAndCertificate](object)
	if err != nil || !order.Ordered() {
		return err
	}
	key, err := newKey(order.KeyParams)
	if err != nil {
		return fmt.Errorf("key of certificate %s: %w", order.Name, err)
	}
	template := leafOf(order, now)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("certificate %s: %w", order.Name, err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("key of certificate %s: %w", order.Name, err)
	}
	kinds.SetKeyPair(object,
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	return nil
}

func leafOf(order *kinds.SSLKeyAndCertificate, now time.Time) *x509.Certificate {
	leaf := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               nameOf(order),
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(time.Duration(order.Certificate.DaysUntilExpire) * 24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range order.Certificate.SubjectAltNames {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	return leaf
}

func nameOf(order *kinds.SSLKeyAndCertificate) pkix.Name {
	subject := order.Certificate.Subject
	if subject == nil || subject.CommonName == "" {
		return pkix.Name{CommonName: order.Name}
	}
	return pkix.Name{
		CommonName:         subject.CommonName,
		Organization:       given(subject.Organization),
		OrganizationalUnit: given(subject.OrganizationUnit),
		Locality:           given(subject.Locality),
		Province:           given(subject.State),
		Country:            given(subject.Country),
	}
}

func given(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

var rsaBits = map[string]int{
	"SSL_KEY_1024_BITS": 1024, "SSL_KEY_2048_BITS": 2048, "SSL_KEY_3072_BITS": 3072, "SSL_KEY_4096_BITS": 4096,
}

var curves = map[string]elliptic.Curve{
	"SSL_KEY_EC_CURVE_SECP256R1": elliptic.P256(),
	"SSL_KEY_EC_CURVE_SECP384R1": elliptic.P384(),
	"SSL_KEY_EC_CURVE_SECP521R1": elliptic.P521(),
}

// newKey makes a key. Without parameters, it is an RSA key with 2,048 bits.
func newKey(params *kinds.KeyParams) (crypto.Signer, error) {
	if params == nil {
		params = &kinds.KeyParams{}
	}
	if params.Algorithm == "SSL_KEY_ALGORITHM_EC" {
		curve := elliptic.P256()
		if params.EC != nil {
			curve = curves[params.EC.Curve]
		}
		return ecdsa.GenerateKey(curve, rand.Reader)
	}
	bits := rsaBits["SSL_KEY_2048_BITS"]
	if params.RSA != nil {
		bits = rsaBits[params.RSA.KeySize]
	}
	return rsa.GenerateKey(rand.Reader, bits)
}
