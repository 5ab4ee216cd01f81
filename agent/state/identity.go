package state

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

const identityName = "identity"

// Identity is what identifies this engine to its controller. The key was made here, and never leaves this machine.
type Identity struct {
	EngineUUID  string
	Key         crypto.Signer
	Certificate *x509.Certificate
	Authorities []*x509.Certificate // the controller's CA certificates
}

// HasAuthority tells whether the CA with this SHA-256 fingerprint signs for the fleet that this identity belongs to.
func (i *Identity) HasAuthority(fingerprint [sha256.Size]byte) bool {
	for _, authority := range i.Authorities {
		if sha256.Sum256(authority.Raw) == fingerprint {
			return true
		}
	}
	return false
}

// SaveIdentity replaces the identity on disk, in one file so that key and certificate always belong together.
func (d *Dir) SaveIdentity(identity *Identity) error {
	key, err := x509.MarshalPKCS8PrivateKey(identity.Key)
	if err != nil {
		return fmt.Errorf("the engine's key: %w", err)
	}
	body := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY",
		Headers: map[string]string{"Engine": identity.EngineUUID}, Bytes: key})
	for _, certificate := range append([]*x509.Certificate{identity.Certificate}, identity.Authorities...) {
		body = append(body, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})...)
	}
	return d.write(identityName, body)
}

// Identity reads the identity back: ErrAbsent when this agent never joined, *CorruptError when it must join again.
func (d *Dir) Identity() (*Identity, error) {
	body, err := d.read(identityName)
	if err != nil {
		return nil, err
	}
	identity, err := parseIdentity(body)
	if err != nil {
		return nil, d.moveAside(identityName, err.Error())
	}
	return identity, nil
}

func parseIdentity(body []byte) (*Identity, error) {
	block, rest := pem.Decode(body)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, errors.New("it holds no private key")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("its key cannot sign")
	}
	certificates, err := parseCertificates(rest)
	if err != nil {
		return nil, err
	}
	if len(certificates) < 2 {
		return nil, errors.New("it lacks the engine's certificate or the CA's")
	}
	return &Identity{
		EngineUUID: block.Headers["Engine"], Key: signer, Certificate: certificates[0], Authorities: certificates[1:],
	}, nil
}

func parseCertificates(body []byte) ([]*x509.Certificate, error) {
	var certificates []*x509.Certificate
	for block, rest := pem.Decode(body); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certificates = append(certificates, certificate)
	}
	return certificates, nil
}
