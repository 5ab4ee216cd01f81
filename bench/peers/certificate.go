package peers

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Certificate is the one that every proxy of a row shows, and the servers behind it where they speak TLS.
type Certificate struct {
	Certificate, Key []byte // PEM
	File             string // both, one behind the other
}

// MakeCertificate makes a self-signed one: "ec" on P-256, "rsa" with 2048 bits.
func MakeCertificate(kind, dir string) (Certificate, error) {
	key, err := makeKey(kind)
	if err != nil {
		return Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench.weir.example"},
		DNSNames:  []string{"bench.weir.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return Certificate{}, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Certificate{}, err
	}
	c := Certificate{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
		File:        filepath.Join(dir, kind+".pem"),
	}
	return c, os.WriteFile(c.File, bytes.Join([][]byte{c.Certificate, c.Key}, nil), 0o600)
}

func makeKey(kind string) (crypto.Signer, error) {
	if kind == "rsa" {
		return rsa.GenerateKey(rand.Reader, 2048)
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}
