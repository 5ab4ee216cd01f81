package kinds

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/weir-lb/weir/controller/schema"
)

// PKIProfile is the certificate authorities that are trusted.
type PKIProfile struct {
	Identity
	Named
	Owned
	Markers     []Marker      `json:"markers"`
	CreatedBy   string        `json:"created_by"`
	CACerts     []Certificate `json:"ca_certs" items:"200"`
	CRLCheck    bool          `json:"crl_check" default:"false"`
	IsFederated bool          `json:"is_federated" default:"false"`
}

func init() {
	schema.Register[PKIProfile](schema.Definition{
		Short:     []string{"pki"},
		Serving:   schema.PartOfService,
		DerivedBy: deriveAuthorities,
		Example:   `  weir pki create internal ca_certs[0].certificate="$(cat ca.pem)"`,
		Kept: []schema.Rule{
			schema.Closes("engines cannot check revocation lists yet", "crls"),
			schema.Closes("engines use the chain that the peer sends", "ignore_peer_chain"),
			schema.NoEffect("certificates that cannot be verified are refused", "allow_pki_errors"),
			schema.NoEffect("engines cannot check revocation lists yet", "validate_only_leaf_crl"),
			schema.NoEffect(computed, ""),
		},
	})
}

// Authorities returns the certificates of a stored object, as DER.
func (p *PKIProfile) Authorities() [][]byte {
	var authorities [][]byte
	for _, authority := range p.CACerts {
		authorities = append(authorities, blocks(authority.PEM, "CERTIFICATE")...)
	}
	return authorities
}

func (p *PKIProfile) Validate() *schema.FieldError {
	switch {
	case p.CRLCheck:
		return &schema.FieldError{
			Field:   "crl_check",
			Problem: "cannot be true: engines cannot check revocation lists yet; give false",
		}
	case len(p.CACerts) == 0:
		return &schema.FieldError{Field: "ca_certs", Problem: "is empty; give at least one certificate of an authority"}
	}
	for i, authority := range p.CACerts {
		if _, problem := parseAuthority(i, authority.PEM); problem != nil {
			return problem
		}
	}
	return nil
}

// deriveAuthorities sets the fields that each PEM contains.
func deriveAuthorities(o schema.Object, now time.Time) *schema.FieldError {
	for i, authority := range objects(o["ca_certs"]) {
		text, _ := authority["certificate"].(string)
		first, problem := parseAuthority(i, text)
		if problem != nil {
			return problem
		}
		describeCertificate(authority, first, now)
	}
	return nil
}

func parseAuthority(position int, text string) (*x509.Certificate, *schema.FieldError) {
	first, problem := parseLeaf(text)
	if problem != nil {
		problem.Field = fmt.Sprintf("ca_certs[%d].certificate", position)
	}
	return first, problem
}
