package revocation

import (
	"bytes"
	"crypto"
	_ "crypto/sha1"   // which most responders name
	_ "crypto/sha512" // SHA-384, too
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"time"

	"golang.org/x/crypto/ocsp"
)

// statement is what an answer says about one certificate: SingleResponse of RFC 6960 §4.2.1.
type statement struct {
	About      certificateID
	Good       asn1.Flag        `asn1:"tag:0,optional"`
	Revoked    revocation       `asn1:"tag:1,optional"`
	Unknown    asn1.Flag        `asn1:"tag:2,optional"`
	ThisUpdate time.Time        `asn1:"generalized"`
	NextUpdate time.Time        `asn1:"generalized,explicit,tag:0,optional"`
	Extensions []pkix.Extension `asn1:"explicit,tag:1,optional"`
}

type revocation struct {
	At     time.Time       `asn1:"generalized"`
	Reason asn1.Enumerated `asn1:"explicit,tag:0,optional"`
}

// certificateID is CertID of RFC 6960 §4.1.1. A serial number alone names no certificate: each issuer has its own.
type certificateID struct {
	Hash   pkix.AlgorithmIdentifier
	Name   []byte // of the issuer, hashed
	Key    []byte // of the issuer, hashed
	Number *big.Int
}

// hashes are those that a responder may name.
var hashes = map[string]crypto.Hash{
	"1.3.14.3.2.26":          crypto.SHA1,
	"2.16.840.1.101.3.4.2.1": crypto.SHA256,
	"2.16.840.1.101.3.4.2.2": crypto.SHA384,
	"2.16.840.1.101.3.4.2.3": crypto.SHA512,
}

// is tells whether it names the certificate: by its number, and by name and key of its issuer.
func (id certificateID) is(leaf, issuer *x509.Certificate) bool {
	hash, known := hashes[id.Hash.Algorithm.String()]
	if !known || id.Number == nil || id.Number.Cmp(leaf.SerialNumber) != 0 {
		return false
	}
	key, err := keyOf(issuer)
	return err == nil && bytes.Equal(id.Name, hashed(hash, issuer.RawSubject)) && bytes.Equal(id.Key, hashed(hash, key))
}

func hashed(by crypto.Hash, text []byte) []byte {
	sum := by.New()
	sum.Write(text)
	return sum.Sum(nil)
}

// keyOf returns the public key as it is hashed: without its algorithm, and without tag and length.
func keyOf(issuer *x509.Certificate) ([]byte, error) {
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(issuer.RawSubjectPublicKeyInfo, &info); err != nil {
		return nil, err
	}
	return info.Key.RightAlign(), nil
}

// signedPart is ResponseData of RFC 6960 §4.2.1.
type signedPart struct {
	Version    int `asn1:"optional,default:0,explicit,tag:0"`
	Responder  asn1.RawValue
	ProducedAt time.Time `asn1:"generalized"`
	Statements []statement
}

// statementAbout finds what an answer says about the certificate. The answer may be about others, too.
func statementAbout(answer *ocsp.Response, leaf, issuer *x509.Certificate) (*statement, error) {
	var all signedPart
	if _, err := asn1.Unmarshal(answer.TBSResponseData, &all); err != nil {
		return nil, err
	}
	for _, one := range all.Statements {
		if !one.About.is(leaf, issuer) {
			continue
		}
		for _, extension := range one.Extensions {
			if extension.Critical {
				return nil, fmt.Errorf("it has a critical extension that is not known, %s", extension.Id)
			}
		}
		return &one, nil
	}
	return nil, fmt.Errorf("it is about the serial number at another issuer")
}

func (s *statement) status() int {
	switch {
	case bool(s.Good):
		return ocsp.Good
	case bool(s.Unknown):
		return ocsp.Unknown
	default:
		return ocsp.Revoked
	}
}
