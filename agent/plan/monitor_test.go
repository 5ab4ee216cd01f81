package plan

import (
	"crypto/tls"
	"strings"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

func TestMonitorsThatFindTheSameHaveTheSameContent(t *testing.T) {
	content := func(kind enginev1.MonitorType, uuid, name, host string, timeout uint32) Content {
		return monitorOf(&enginev1.HealthMonitor{
			Uuid: uuid, Name: name, Type: kind, ReceiveTimeoutMs: timeout, Dns: &enginev1.DnsCheck{Name: host},
		}).Content
	}
	dns, script := enginev1.MonitorType_MONITOR_TYPE_DNS, enginev1.MonitorType_MONITOR_TYPE_EXTERNAL
	one := content(dns, "hm-1", "one", "a.example", 4)
	for name, c := range map[string]struct {
		got  Content
		same bool
	}{
		"another object":   {content(dns, "hm-2", "two", "a.example", 4), true},
		"another question": {content(dns, "hm-1", "one", "b.example", 4), false},
		"less time":        {content(dns, "hm-1", "one", "a.example", 3), false},
		"another type":     {content(enginev1.MonitorType_MONITOR_TYPE_UDP, "hm-1", "one", "a.example", 4), false},
	} {
		if (c.got == one) != c.same {
			t.Errorf("%s: the same is %v", name, !c.same)
		}
	}
	if content(script, "hm-1", "one", "", 4) == content(script, "hm-1", "two", "", 4) {
		t.Error("scripts know the name of their monitor, and share their checks under two names")
	}
}

func TestReadsWhatEachTypeOfMonitorDoes(t *testing.T) {
	read := monitorOf(&enginev1.HealthMonitor{
		Name: "ours", Apart: true,
		Udp: &enginev1.UdpCheck{Request: "hi", ResponseContains: "ho", MaintenanceContains: "away"},
		Dns: &enginev1.DnsCheck{Name: "a.example", RecordType: 28, AnyCode: true,
			Answer: enginev1.DnsAnswer_DNS_ANSWER_NOT_NEEDED, AnswerContains: "::1"},
		External: &enginev1.ExternalCheck{Script: "echo", Arguments: []string{"a"},
			Variables: map[string]string{"B": "2", "A": "1"}},
		Sip:         &enginev1.SipCheck{Tcp: true, ResponseContains: "SIP/2.0 200"},
		Radius:      &enginev1.RadiusCheck{Username: "u", Password: "p", SharedSecret: "s"},
		Smtp:        &enginev1.SmtpCheck{Domain: "d", Sender: "s@d", Recipients: []string{"r@d"}, Mail: "hi"},
		ImapFolder:  "INBOX",
		Ftp:         &enginev1.FtpCheck{Filename: "f", Active: true},
		Ldap:        &enginev1.LdapCheck{BaseDn: "dc=d", Scope: 3, Attributes: []string{"cn"}, Filter: "(a=b)"},
		Credentials: &enginev1.Credentials{Username: "me", Password: "mine"},
		Http:        &enginev1.HttpCheck{SearchedBytes: 4096, Login: enginev1.HttpLogin_HTTP_LOGIN_NTLM},
		Grpc:        &enginev1.GrpcCheck{Service: "x", Tls: true},
	})
	expect(t, read.SIP, SIPCheck{TCP: true, Contains: "SIP/2.0 200"})
	expect(t, read.RADIUS, RADIUSCheck{Username: "u", Password: "p", Secret: "s"})
	expect(t, read.SMTP, SMTPCheck{Domain: "d", Sender: "s@d", Recipients: []string{"r@d"}, Mail: "hi"})
	expect(t, read.FTP, FTPCheck{Filename: "f", Active: true})
	expect(t, read.LDAP, LDAPCheck{BaseDN: "dc=d", Scope: LDAPSub, Attributes: []string{"cn"}, Filter: "(a=b)"})
	expect(t, read.Login, Login{Username: "me", Password: "mine"})
	expect(t, read.HTTP, HTTPCheck{Searched: 4096, Login: NTLMLogin})
	expect(t, read.GRPC, GRPCCheck{Service: "x", TLS: true})
	if read.IMAPFolder != "INBOX" {
		t.Errorf("got %+v", read)
	}
	expect(t, read.UDP, UDPCheck{Request: "hi", Contains: "ho", MaintenanceContains: "away"})
	expect(t, read.DNS, DNSCheck{Name: "a.example", Record: 28, AnyCode: true, Answer: DNSAnswerNotNeeded,
		Contains: "::1"})
	expect(t, read.External, ExternalCheck{Script: "echo", Arguments: []string{"a"}, Variables: []string{"A=1", "B=2"}})
	if read.Name != "ours" || !read.Apart {
		t.Errorf("got %+v", read)
	}
}

func TestMonitorTLSTakesTheVersionsFromTheFirstToTheLast(t *testing.T) {
	for name, c := range map[string]struct {
		versions []dataplanev1.TlsVersion
		want     MonitorTLS
	}{
		"any": {nil, MonitorTLS{MinVersion: tls.VersionTLS10}},
		"some": {[]dataplanev1.TlsVersion{4, 2}, MonitorTLS{MinVersion: tls.VersionTLS11,
			MaxVersion: tls.VersionTLS13}},
		"one": {[]dataplanev1.TlsVersion{3}, MonitorTLS{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := monitorTLSOf(&enginev1.HealthMonitor{Tls: &enginev1.MonitorTls{Versions: c.versions}})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, got, c.want)
		})
	}
}

func TestRefusesAMonitorWithACertificateThatIsNone(t *testing.T) {
	for field, broken := range map[string]*enginev1.MonitorTls{
		"pki_profile_ref":             {CaCertsDer: [][]byte{{1}}},
		"ssl_key_and_certificate_ref": {ChainDer: [][]byte{{1}}, KeyPkcs8Der: []byte{1}},
	} {
		_, findings := Read(&enginev1.Plan{Resources: []*enginev1.Resource{
			monitorResource(&enginev1.HealthMonitor{Tls: broken})}})
		if len(findings) != 1 || !strings.HasPrefix(findings[0].Message, field) {
			t.Errorf("%s: got %v", field, findings)
		}
	}
}
