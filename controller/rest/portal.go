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

// portal gives each handshake a certificate that the system configuration names at that moment.
type portal struct {
	store *store.Store

	mutex  sync.Mutex
	parsed map[*store.Record]*tls.Certificate // at most maxParsed; objects of one commit have the same revision
}

const maxParsed = 8

var errPortal = errors.New("the portal has no certificate that it could show")

// certificate is one for the name that the client asks for, or else the first that its algorithms allow: the client may
// know it otherwise, or not care.
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

// Fingerprint is the SHA-256 of the certificate that clients see first, in hex: how they recognise this controller.
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
