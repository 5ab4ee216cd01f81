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
	"time"
)

const selfSignedLifetime = 5 * 365 * 24 * time.Hour

// KeyType is what a self-signed certificate is made of.
type KeyType int

// The key types of the built-in certificates.
const (
	RSA2048 KeyType = iota
	ECP256
)

// SelfSigned makes a certificate and its key, both PEM, for the built-in System-Default-* objects.
func SelfSigned(commonName string, keyType KeyType, now time.Time) (certificatePEM, keyPEM []byte, err error) {
	key, err := newKey(keyType)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate %s: %w", commonName, err)
	}
	template := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: commonName},
		DNSNames:              []string{commonName},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(selfSignedLifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate %s: %w", commonName, err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate %s: %w", commonName, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), nil
}

func newKey(keyType KeyType) (crypto.Signer, error) {
	if keyType == ECP256 {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	return rsa.GenerateKey(rand.Reader, 2048)
}
