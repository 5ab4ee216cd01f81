package kinds

import (
	"fmt"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// The modes of ssl_client_certificate_mode.
const (
	NoClientCertificate      = "SSL_CLIENT_CERTIFICATE_NONE"
	RequestClientCertificate = "SSL_CLIENT_CERTIFICATE_REQUEST"
	RequireClientCertificate = "SSL_CLIENT_CERTIFICATE_REQUIRE"
)

var _ = schema.Enum("ClientCertificateMode",
	NoClientCertificate, RequestClientCertificate, RequireClientCertificate)

// SSLClientCertificateAction says what follows from the certificate of a client.
type SSLClientCertificateAction struct {
	CloseConnection bool                     `json:"close_connection" default:"false"`
	Headers         []SSLClientRequestHeader `json:"headers" items:"32"`
}

// SSLClientRequestHeader is a field that tells servers something about the certificate of the client.
type SSLClientRequestHeader struct {
	Name  string `json:"request_header" required:"true"`
	Value string `json:"request_header_value" enum:"HTTPPolicyVar" required:"true"`
}

// ClientCertificates is what an application profile says about the certificates of clients.
type ClientCertificates struct {
	Mode          string
	PKIProfileRef string
	Action        SSLClientCertificateAction
	Path          string // of the fields: "http_profile."
}

// ClientCertificates returns what a profile says about the certificates of clients. A nil profile asks for none.
func (p *ApplicationProfile) ClientCertificates() ClientCertificates {
	switch {
	case p == nil:
	case p.Type == "APPLICATION_PROFILE_TYPE_HTTP" && p.HTTP != nil:
		wanted := ClientCertificates{Mode: p.HTTP.ClientCertificateMode, PKIProfileRef: p.HTTP.PKIProfileRef,
			Path: "http_profile."}
		if p.HTTP.ClientCertificateAction != nil {
			wanted.Action = *p.HTTP.ClientCertificateAction
		}
		return wanted
	case p.Type != "APPLICATION_PROFILE_TYPE_HTTP" && p.TCP != nil:
		return ClientCertificates{Mode: p.TCP.ClientCertificateMode, PKIProfileRef: p.TCP.PKIProfileRef,
			Path: "tcp_app_profile."}
	}
	return ClientCertificates{Mode: NoClientCertificate, Path: "http_profile."}
}

func (a *SSLClientCertificateAction) check(field string) *schema.FieldError {
	if a == nil {
		return nil
	}
	for i, header := range a.Headers {
		at := fmt.Sprintf("%s.headers[%d].", field, i)
		if problem := checkFieldName(at+"request_header", header.Name); problem != nil {
			return problem
		}
		if why := unchangeable[strings.ToLower(header.Name)]; why != "" {
			return refuse(at+"request_header", "%s cannot be changed: %s", header.Name, why)
		}
		if !strings.HasPrefix(header.Value, "HTTP_POLICY_VAR_SSL_") {
			return refuse(at+"request_header_value", "%s says nothing about TLS: use HTTP_POLICY_VAR_SSL_*, or an "+
				"hdr_action of an HTTP policy", header.Value)
		}
	}
	return nil
}
