package plan

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

// searchedBytes is how much of a response is searched for texts unless the monitor says otherwise, as in Avi.
const searchedBytes = 2048

func (r *reader) monitor(wire *enginev1.HealthMonitor) *Monitor {
	read := monitorOf(wire)
	var err error
	if read.TLS, err = monitorTLSOf(wire); err != nil {
		r.find(Object{"healthmonitor", wire.GetUuid(), wire.GetName()}, "ssl_attributes", "%v", err)
	}
	return read
}

func monitorOf(wire *enginev1.HealthMonitor) *Monitor {
	return &Monitor{
		UUID: wire.GetUuid(), Name: wire.GetName(), Content: contentOf(wire), Type: MonitorType(wire.GetType()),
		Interval:  milliseconds(max(1, wire.GetSendIntervalMs())),
		Timeout:   milliseconds(max(1, wire.GetReceiveTimeoutMs())),
		Successes: max(1, int(wire.GetSuccessfulChecks())), Failures: max(1, int(wire.GetFailedChecks())),
		Port: uint16(wire.GetMonitorPort()), Quickstart: wire.GetQuickstart(), Apart: wire.GetApart(),
		HTTP:     httpOf(wire.GetHttp()),
		TCP:      tcpOf(wire.GetTcp()),
		UDP:      udpOf(wire.GetUdp()),
		DNS:      dnsOf(wire.GetDns()),
		External: externalOf(wire.GetExternal()),
		GRPC:     GRPCCheck{Service: wire.GetGrpc().GetService(), TLS: wire.GetGrpc().GetTls()},
		SIP:      SIPCheck{TCP: wire.GetSip().GetTcp(), Contains: wire.GetSip().GetResponseContains()},
		RADIUS: RADIUSCheck{
			Username: wire.GetRadius().GetUsername(), Password: wire.GetRadius().GetPassword(),
			Secret: wire.GetRadius().GetSharedSecret(),
		},
		SMTP: SMTPCheck{
			Domain: wire.GetSmtp().GetDomain(), Sender: wire.GetSmtp().GetSender(),
			Recipients: wire.GetSmtp().GetRecipients(), Mail: wire.GetSmtp().GetMail(),
		},
		IMAPFolder: wire.GetImapFolder(),
		FTP:        FTPCheck{Filename: wire.GetFtp().GetFilename(), Active: wire.GetFtp().GetActive()},
		LDAP: LDAPCheck{
			BaseDN: wire.GetLdap().GetBaseDn(), Scope: LDAPScope(wire.GetLdap().GetScope()),
			Attributes: wire.GetLdap().GetAttributes(), Filter: wire.GetLdap().GetFilter(),
		},
		Login: Login{Username: wire.GetCredentials().GetUsername(), Password: wire.GetCredentials().GetPassword()},
	}
}

var tlsVersions = map[dataplanev1.TlsVersion]uint16{
	dataplanev1.TlsVersion_TLS_VERSION_1_0: tls.VersionTLS10,
	dataplanev1.TlsVersion_TLS_VERSION_1_1: tls.VersionTLS11,
	dataplanev1.TlsVersion_TLS_VERSION_1_2: tls.VersionTLS12,
	dataplanev1.TlsVersion_TLS_VERSION_1_3: tls.VersionTLS13,
}

// monitorTLSOf parses what a monitor needs for TLS. Of the accepted versions, it takes those from the first to the
// last.
func monitorTLSOf(wire *enginev1.HealthMonitor) (MonitorTLS, error) {
	from := wire.GetTls()
	read := MonitorTLS{
		ServerName: cmp.Or(from.GetServerName(), wire.GetHttp().GetServerName(), wire.GetGrpc().GetServerName()),
		MinVersion: tls.VersionTLS10,
	}
	for i, version := range from.GetVersions() {
		if number := tlsVersions[version]; i == 0 {
			read.MinVersion, read.MaxVersion = number, number
		} else {
			read.MinVersion, read.MaxVersion = min(read.MinVersion, number), max(read.MaxVersion, number)
		}
	}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if slices.Contains(from.GetCipherSuites(), suite.Name) {
			read.Suites = append(read.Suites, suite.ID)
		}
	}
	for _, der := range from.GetCaCertsDer() {
		authority, err := x509.ParseCertificate(der)
		if err != nil {
			return read, fmt.Errorf("pki_profile_ref: %w", err)
		}
		if read.Authorities == nil {
			read.Authorities = x509.NewCertPool()
		}
		read.Authorities.AddCert(authority)
	}
	if len(from.GetChainDer()) > 0 {
		key, err := x509.ParsePKCS8PrivateKey(from.GetKeyPkcs8Der())
		if err != nil {
			return read, fmt.Errorf("ssl_key_and_certificate_ref: %w", err)
		}
		read.Certificate = &tls.Certificate{Certificate: from.GetChainDer(), PrivateKey: key}
	}
	return read, nil
}

// contentOf leaves out which object the monitor is, unless its checks can tell: a script knows the monitor's name.
func contentOf(wire *enginev1.HealthMonitor) Content {
	content := proto.CloneOf(wire)
	content.Uuid = ""
	if wire.GetType() != enginev1.MonitorType_MONITOR_TYPE_EXTERNAL {
		content.Name = ""
	}
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(content)
	if err != nil { // a text is not UTF-8: no message of the controller has such a text
		bytes = []byte(wire.GetUuid())
	}
	return sha256.Sum256(bytes)
}

func httpOf(wire *enginev1.HttpCheck) HTTPCheck {
	return HTTPCheck{
		Request: wire.GetRequest(), Exact: wire.GetExactRequest(), Body: wire.GetBody(),
		Classes: wire.GetResponseClasses(), Contains: wire.GetResponseContains(),
		MaintenanceCodes: wire.GetMaintenanceCodes(), MaintenanceContains: wire.GetMaintenanceContains(),
		Searched: int(cmp.Or(wire.GetSearchedBytes(), searchedBytes)), Login: HTTPLogin(wire.GetLogin()),
	}
}

func tcpOf(wire *enginev1.TcpCheck) TCPCheck {
	return TCPCheck{
		Request: wire.GetRequest(), Contains: wire.GetResponseContains(),
		MaintenanceContains: wire.GetMaintenanceContains(), HalfOpen: wire.GetHalfOpen(),
	}
}

func udpOf(wire *enginev1.UdpCheck) UDPCheck {
	return UDPCheck{
		Request: wire.GetRequest(), Contains: wire.GetResponseContains(),
		MaintenanceContains: wire.GetMaintenanceContains(),
	}
}

func dnsOf(wire *enginev1.DnsCheck) DNSCheck {
	return DNSCheck{
		Name: wire.GetName(), Record: uint16(wire.GetRecordType()), AnyCode: wire.GetAnyCode(),
		Answer: DNSAnswer(wire.GetAnswer()), Contains: wire.GetAnswerContains(),
	}
}

func externalOf(wire *enginev1.ExternalCheck) ExternalCheck {
	check := ExternalCheck{Script: wire.GetScript(), Arguments: wire.GetArguments()}
	for _, name := range slices.Sorted(maps.Keys(wire.GetVariables())) {
		check.Variables = append(check.Variables, name+"="+wire.GetVariables()[name])
	}
	return check
}
