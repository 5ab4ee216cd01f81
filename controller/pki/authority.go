package pki

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/weir-lb/weir/api/engine/enrollment"
)

const (
	// EngineCertificateLifetime is how long an engine may stay away without having to join again.
	EngineCertificateLifetime = 30 * 24 * time.Hour

	authorityLifetime = 20 * 365 * 24 * time.Hour
	// clockSkew is how far the clock of an engine may be behind that of the controller.
	clockSkew = 10 * time.Minute

	authorityKey     = "authority"
	authorityPurpose = "pki/authority"
)

// ErrRequest says that the authority does not sign a certificate request.
var ErrRequest = errors.New("certificate request refused")

// Vault is the part of the store that keeps small private values.
type Vault interface {
	// Get returns nil if the key does not exist.
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
}

// Authority is the certificate authority of one fleet. Engines trust it and nothing else.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

type storedAuthority struct {
	CertificateDER []byte `json:"certificate_der"`
	SealedKey      []byte `json:"sealed_key"`
}

// OpenAuthority loads the authority from the vault, or creates it at first start.
func OpenAuthority(ctx context.Context, vault Vault, sealer *Sealer, now time.Time) (*Authority, error) {
	value, err := vault.Get(ctx, authorityKey)
	if err != nil {
		return nil, fmt.Errorf("load certificate authority: %w", err)
	}
	if value != nil {
		return loadAuthority(value, sealer)
	}
	authority, err := newAuthority(now)
	if err != nil {
		return nil, fmt.Errorf("create certificate authority: %w", err)
	}
	return authority, authority.save(ctx, vault, sealer)
}

func loadAuthority(value []byte, sealer *Sealer) (*Authority, error) {
	var stored storedAuthority
	if err := json.Unmarshal(value, &stored); err != nil {
		return nil, fmt.Errorf("stored certificate authority is damaged: %w", err)
	}
	certificate, err := x509.ParseCertificate(stored.CertificateDER)
	if err != nil {
		return nil, fmt.Errorf("stored certificate authority is damaged: %w", err)
	}
	keyDER, err := sealer.Open(stored.SealedKey, authorityPurpose)
	if err != nil {
		return nil, fmt.Errorf("key of the certificate authority: %w", err)
	}
	key, err := x509.ParseECPrivateKey(keyDER)
	if err != nil {
		return nil, fmt.Errorf("key of the certificate authority is damaged: %w", err)
	}
	return &Authority{certificate: certificate, key: key}, nil
}

func newAuthority(now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial(),
		Subject:               pkix.Name{CommonName: "Weir fleet"},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLifetime),
		IsCA:                  true,
		MaxPathLenZero:        true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &Authority{certificate: certificate, key: key}, err
}

func (a *Authority) save(ctx context.Context, vault Vault, sealer *Sealer) error {
	keyDER, err := x509.MarshalECPrivateKey(a.key)
	if err != nil {
		return fmt.Errorf("save certificate authority: %w", err)
	}
	value, err := json.Marshal(storedAuthority{
		CertificateDER: a.certificate.Raw,
		SealedKey:      sealer.Seal(keyDER, authorityPurpose),
	})
	if err != nil {
		return fmt.Errorf("save certificate authority: %w", err)
	}
	if err := vault.Put(ctx, authorityKey, value); err != nil {
		return fmt.Errorf("save certificate authority: %w", err)
	}
	return nil
}

// CertificateDER is the certificate that engines pin.
func (a *Authority) CertificateDER() []byte { return a.certificate.Raw }

// Fingerprint is the SHA-256 of CertificateDER, as join tokens carry it.
func (a *Authority) Fingerprint() [sha256.Size]byte { return sha256.Sum256(a.certificate.Raw) }

// Pool returns a pool that verifies the certificates of this authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// IssueEngine signs a certificate request. The common name is the uuid of the engine, the serial number of the subject
// is the Join that it has the certificate from. It uses only the key of the request, and ignores the name in it.
// Errors: those of CheckRequest.
func (a *Authority) IssueEngine(csrDER []byte, engineUUID, join string, now time.Time) ([]byte, error) {
	key, err := CheckRequest(csrDER)
	if err != nil {
		return nil, err
	}
	return a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: engineUUID, SerialNumber: join},
		NotBefore:   now.Add(-clockSkew),
		NotAfter:    now.Add(EngineCertificateLifetime),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, key)
}

// CheckRequest returns the key of a certificate request that IssueEngine can sign. It checks the size of the key first,
// because a signature by a huge key takes long to check, and strangers can send requests. Errors: ErrRequest.
func CheckRequest(csrDER []byte) (key any, err error) {
	request, err := x509.ParseCertificateRequest(csrDER)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if key, isRSA := request.PublicKey.(*rsa.PublicKey); isRSA && (key.N.BitLen() < 2048 || key.N.BitLen() > 8192) {
		return nil, fmt.Errorf("%w: RSA key of %d bits, want 2048 to 8192", ErrRequest, key.N.BitLen())
	}
	if err := request.CheckSignature(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return request.PublicKey, nil
}

// ServerCertificate makes the certificate of the controller for agents, with a new key at each start. The chain
// contains the authority, so that an agent that only knows its fingerprint can verify the chain.
func (a *Authority) ServerCertificate(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("controller certificate: %w", err)
	}
	der, err := a.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: enrollment.ControllerName},
		DNSNames:    []string{enrollment.ControllerName},
		NotBefore:   now.Add(-clockSkew),
		NotAfter:    a.certificate.NotAfter,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &key.PublicKey)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("controller certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: key}, nil
}

func (a *Authority) sign(template *x509.Certificate, publicKey any) ([]byte, error) {
	template.SerialNumber = serial()
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	return x509.CreateCertificate(rand.Reader, template, a.certificate, publicKey, a.key)
}

// serial is 128 random bits. CA/Browser Forum BR §7.1 asks for at least 64.
func serial() *big.Int {
	raw := make([]byte, 16)
	rand.Read(raw)
	raw[0] &= 0x7f
	return new(big.Int).SetBytes(raw)
}
