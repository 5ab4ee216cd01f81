package rest

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/store"
)

// portalCertificates are used when the system configuration names none.
var portalCertificates = []string{"System-Default-Portal-Cert-EC256", "System-Default-Portal-Cert"}

// portal gives each handshake the certificate that the system configuration names at that moment.
type portal struct {
	store *store.Store

	mutex  sync.Mutex
	parsed map[int64]*tls.Certificate // by revision of the object; at most maxParsed
}

const maxParsed = 8

func (p *portal) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	var failure error
	for _, record := range configuredCertificates(p.store.View()) {
		certificate, err := p.parse(record)
		if err == nil {
			err = hello.SupportsCertificate(certificate)
		}
		if err == nil {
			return certificate, nil
		}
		failure = errors.Join(failure, fmt.Errorf("%s: %w", record.Name, err))
	}
	if failure == nil {
		failure = errors.New("the portal has no certificate")
	}
	return nil, failure
}

// Fingerprint is the SHA-256 of the certificate that clients see first, in hex: how they recognise this controller.
func (a *API) Fingerprint() (string, error) {
	for _, record := range configuredCertificates(a.store.View()) {
		certificate, err := new(portal).parse(record)
		if err != nil {
			return "", fmt.Errorf("portal certificate %s: %w", record.Name, err)
		}
		return fmt.Sprintf("%x", sha256.Sum256(certificate.Certificate[0])), nil
	}
	return "", errors.New("the portal has no certificate")
}

func configuredCertificates(view *store.View) []*store.Record {
	var found []*store.Record
	if config, ok := view.Get("systemconfiguration", "default"); ok {
		settings, _ := config.Object["portal_configuration"].(schema.Object)
		refs, _ := settings["sslkeyandcertificate_refs"].([]any)
		for _, ref := range refs {
			uuid := strings.TrimPrefix(text(ref), schema.RefPath("sslkeyandcertificate", ""))
			if record, ok := view.Get("sslkeyandcertificate", uuid); ok {
				found = append(found, record)
			}
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, name := range portalCertificates {
		if record, ok := view.ByName("sslkeyandcertificate", "admin", name); ok {
			found = append(found, record)
		}
	}
	return found
}

func (p *portal) parse(record *store.Record) (*tls.Certificate, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if known := p.parsed[record.Revision]; known != nil {
		return known, nil
	}
	body, _ := record.Object["certificate"].(schema.Object)
	certificate, err := tls.X509KeyPair([]byte(text(body["certificate"])), []byte(text(record.Object["key"])))
	if err != nil {
		return nil, err
	}
	if len(p.parsed) >= maxParsed || p.parsed == nil {
		p.parsed = map[int64]*tls.Certificate{}
	}
	p.parsed[record.Revision] = &certificate
	return &certificate, nil
}
