package bench

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

// certificate is the one that every proxy of a row shows, and the servers behind it where they speak TLS.
type certificate struct {
	certificatePEM, keyPEM []byte
	file                   string // both, one behind the other
}

// makeCertificate makes a self-signed one: "ec" on P-256, "rsa" with 2048 bits.
func makeCertificate(kind, dir string) (certificate, error) {
	key, err := makeKey(kind)
	if err != nil {
		return certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench.weir.example"}, DNSNames: []string{"bench.weir.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return certificate{}, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return certificate{}, err
	}
	c := certificate{
		certificatePEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		keyPEM:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
		file:           filepath.Join(dir, kind+".pem"),
	}
	return c, os.WriteFile(c.file, bytes.Join([][]byte{c.certificatePEM, c.keyPEM}, nil), 0o600)
}

func makeKey(kind string) (crypto.Signer, error) {
	if kind == "rsa" {
		return rsa.GenerateKey(rand.Reader, 2048)
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}
