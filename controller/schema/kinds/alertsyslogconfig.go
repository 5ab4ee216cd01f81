package kinds

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// AlertSyslogConfig is where alerts are sent as syslog.
type AlertSyslogConfig struct {
	Identity
	Named
	Owned
	Description    string              `json:"description"`
	SenderHostname string              `json:"sender_hostname"` // empty: that of the controller
	Servers        []AlertSyslogServer `json:"syslog_servers" items:"10"`
}

// AlertSyslogServer is a server that takes syslog.
type AlertSyslogServer struct {
	Server         string `json:"syslog_server" required:"true"`
	Port           uint32 `json:"syslog_server_port" min:"1" max:"65535" default:"514"`
	UDP            bool   `json:"udp" default:"true"` // else TCP
	Format         string `json:"format" enum:"SyslogFormat" default:"SYSLOG_LEGACY"`
	TLS            bool   `json:"tls_enable" default:"false"`
	StrictVerify   bool   `json:"strict_cert_verify" default:"false"` // the name in the certificate, too
	AnonymousAuth  bool   `json:"anon_auth" default:"false"`          // without a certificate of the controller
	PKIProfileRef  string `json:"pkiprofile_ref" ref:"pkiprofile"`    // empty: the authorities of the machine
	CertificateRef string `json:"ssl_key_and_certificate_ref" ref:"sslkeyandcertificate"`
}

// Reveals: alerts are sent there.
func (*AlertSyslogConfig) Reveals() []string { return []string{schema.EventResource} }

func init() {
	schema.Register[AlertSyslogConfig](schema.Definition{
		Columns: []column.Column{column.Of("SERVERS", syslogServers)},
		Example: `  weir alertsyslogconfig create siem syslog_servers[0].syslog_server=10.0.0.9 syslog_servers[0].udp=false ` +
			`syslog_servers[0].format=SYSLOG_RFC5424`,
	})
}

var _ = schema.Enum("SyslogFormat", "SYSLOG_LEGACY", "SYSLOG_RFC5424", "SYSLOG_JSON", "SYSLOG_RFC5425_ENHANCED")

func syslogServers(row column.Row) string {
	text := ""
	for i, server := range column.List(row.Object, "syslog_servers") {
		if i > 0 {
			text += ", "
		}
		text += column.Text(column.At(server, "syslog_server")) + ":" +
			column.Text(column.At(server, "syslog_server_port"))
	}
	return text
}

func (c *AlertSyslogConfig) Validate() *schema.FieldError {
	for i, server := range c.Servers {
		at := fmt.Sprintf("syslog_servers[%d].", i)
		switch {
		case server.TLS && server.UDP:
			return &schema.FieldError{Field: at + "tls_enable", Problem: "is for TCP: set udp to false"}
		case server.TLS && !server.AnonymousAuth && server.CertificateRef == "":
			return &schema.FieldError{Field: at + "anon_auth",
				Problem: "is false, so the controller needs a certificate: give ssl_key_and_certificate_ref, or set anon_auth"}
		}
	}
	return nil
}
