package rest

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"

	"github.com/weir-lb/weir/controller/admit"
	"github.com/weir-lb/weir/controller/store"
)

// portal chooses the certificate of each handshake. The system configuration at that time names the certificates.
type portal struct {
	store *store.Store

	mutex  sync.Mutex
	parsed map[*store.Record]*tls.Certificate // at most maxParsed; objects of one commit have the same revision
}

const maxParsed = 8

var errPortal = errors.New("the portal has no certificate that it can use")

// certificate returns a certificate for the name that the client asks for. If there is none, it returns the first
// certificate that the client's algorithms allow: the client may accept it nevertheless.
func (p *portal) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	certificate, err := p.certificateFor(hello)
	if err != nil && hello.ServerName != "" {
		nameless := *hello
		nameless.ServerName = ""
		certificate, err = p.certificateFor(&nameless)
	}
	return certificate, err
}

func (p *portal) certificateFor(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	failure := errPortal
	for _, record := range admit.PortalCertificates(p.store.View()) {
		certificate, err := p.parse(record)
		if err == nil {
			err = hello.SupportsCertificate(certificate)
		}
		if err == nil {
			return certificate, nil
		}
		failure = fmt.Errorf("%w; %s: %w", failure, record.Name, err)
	}
	return nil, failure
}

// Fingerprint returns the SHA-256 of the preferred certificate, in hex. Operators can compare it with what their client
// shows.
func (a *API) Fingerprint() (string, error) {
	failure := errPortal
	for _, record := range admit.PortalCertificates(a.store.View()) {
		certificate, err := admit.KeyPair(record)
		if err == nil {
			return fmt.Sprintf("%x", sha256.Sum256(certificate.Certificate[0])), nil
		}
		failure = fmt.Errorf("%w; %s: %w", failure, record.Name, err)
	}
	return "", failure
}

func (p *portal) parse(record *store.Record) (*tls.Certificate, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if known := p.parsed[record]; known != nil {
		return known, nil
	}
	certificate, err := admit.KeyPair(record)
	if err != nil {
		return nil, err
	}
	if len(p.parsed) >= maxParsed || p.parsed == nil {
		p.parsed = map[*store.Record]*tls.Certificate{}
	}
	p.parsed[record] = certificate
	return certificate, nil
}
