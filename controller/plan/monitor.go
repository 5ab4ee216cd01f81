package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

var monitorTypes = map[string]enginev1.MonitorType{
	"HEALTH_MONITOR_HTTP":  enginev1.MonitorType_MONITOR_TYPE_HTTP,
	"HEALTH_MONITOR_HTTPS": enginev1.MonitorType_MONITOR_TYPE_HTTPS,
	"HEALTH_MONITOR_TCP":   enginev1.MonitorType_MONITOR_TYPE_TCP,
	"HEALTH_MONITOR_PING":  enginev1.MonitorType_MONITOR_TYPE_PING,

	"HEALTH_MONITOR_UDP":      enginev1.MonitorType_MONITOR_TYPE_UDP,
	"HEALTH_MONITOR_DNS":      enginev1.MonitorType_MONITOR_TYPE_DNS,
	"HEALTH_MONITOR_EXTERNAL": enginev1.MonitorType_MONITOR_TYPE_EXTERNAL,
	"HEALTH_MONITOR_SIP":      enginev1.MonitorType_MONITOR_TYPE_SIP,
	"HEALTH_MONITOR_RADIUS":   enginev1.MonitorType_MONITOR_TYPE_RADIUS,
	"HEALTH_MONITOR_SMTP":     enginev1.MonitorType_MONITOR_TYPE_SMTP,
	"HEALTH_MONITOR_SMTPS":    enginev1.MonitorType_MONITOR_TYPE_SMTPS,
	"HEALTH_MONITOR_POP3":     enginev1.MonitorType_MONITOR_TYPE_POP3,
	"HEALTH_MONITOR_POP3S":    enginev1.MonitorType_MONITOR_TYPE_POP3S,
	"HEALTH_MONITOR_IMAP":     enginev1.MonitorType_MONITOR_TYPE_IMAP,
	"HEALTH_MONITOR_IMAPS":    enginev1.MonitorType_MONITOR_TYPE_IMAPS,
	"HEALTH_MONITOR_FTP":      enginev1.MonitorType_MONITOR_TYPE_FTP,
	"HEALTH_MONITOR_FTPS":     enginev1.MonitorType_MONITOR_TYPE_FTPS,
	"HEALTH_MONITOR_LDAP":     enginev1.MonitorType_MONITOR_TYPE_LDAP,
	"HEALTH_MONITOR_LDAPS":    enginev1.MonitorType_MONITOR_TYPE_LDAPS,

	"HEALTH_MONITOR_WEIR_GRPC": enginev1.MonitorType_MONITOR_TYPE_GRPC,
}

const millisecondsPerSecond = 1000

// healthMonitor converts a monitor; nil: engines cannot run it, and a finding says so.
func healthMonitor(from *model.HealthMonitor, report *report) *enginev1.HealthMonitor {
	kind, known := monitorTypes[from.Type]
	if !known {
		report.warn(aboutMonitor(from), "type", "engines cannot run %s: servers are not checked by it", from.Type)
		return nil
	}
	compiled := &enginev1.HealthMonitor{
		Uuid:             from.UUID,
		Name:             from.Name,
		Type:             kind,
		SendIntervalMs:   from.SendIntervalS * millisecondsPerSecond,
		ReceiveTimeoutMs: from.ReceiveTimeoutS * millisecondsPerSecond,
		SuccessfulChecks: from.SuccessfulChecks,
		FailedChecks:     from.FailedChecks,
		MonitorPort:      from.MonitorPort,
		Quickstart:       !from.DisableQuickstart,
		Apart:            from.AllowDuplicateMonitors,
		Credentials:      credentials(from, report),
		Tls:              monitorTLS(from, report),
	}
	addCheck(from, compiled)
	return compiled
}

func aboutMonitor(from *model.HealthMonitor) subject {
	return about("healthmonitor", from.Identity, from.Named)
}

// addCheck adds what the type of the monitor does.
func addCheck(from *model.HealthMonitor, to *enginev1.HealthMonitor) {
	switch from.Type {
	case "HEALTH_MONITOR_HTTP", "HEALTH_MONITOR_HTTPS":
		to.Http = httpCheck(from)
	case "HEALTH_MONITOR_TCP":
		to.Tcp = tcpCheck(from)
	case "HEALTH_MONITOR_UDP":
		to.Udp = udpCheck(from.UDP)
	case "HEALTH_MONITOR_DNS":
		to.Dns = dnsCheck(from.DNS)
	case "HEALTH_MONITOR_EXTERNAL":
		to.External = externalCheck(from.External)
	case "HEALTH_MONITOR_SIP":
		to.Sip = sipCheck(cmp.Or(from.SIP, usualSIP))
	case "HEALTH_MONITOR_RADIUS":
		to.Radius = &enginev1.RadiusCheck{
			Username: from.RADIUS.Username, Password: from.RADIUS.Password, SharedSecret: from.RADIUS.SharedSecret,
		}
	case "HEALTH_MONITOR_SMTP":
		to.Smtp = smtpCheck(from.SMTP)
	case "HEALTH_MONITOR_SMTPS":
		to.Smtp = smtpCheck(from.SMTPS)
	case "HEALTH_MONITOR_IMAP":
		to.ImapFolder = cmp.Or(from.IMAP, new(kinds.IMAPMonitor)).Folder
	case "HEALTH_MONITOR_IMAPS":
		to.ImapFolder = cmp.Or(from.IMAPS, new(kinds.IMAPMonitor)).Folder
	case "HEALTH_MONITOR_FTP":
		to.Ftp = ftpCheck(from.FTP)
	case "HEALTH_MONITOR_FTPS":
		to.Ftp = ftpCheck(from.FTPS)
	case "HEALTH_MONITOR_LDAP":
		to.Ldap = ldapCheck(from.LDAP)
	case "HEALTH_MONITOR_LDAPS":
		to.Ldap = ldapCheck(from.LDAPS)
	case "HEALTH_MONITOR_WEIR_GRPC":
		to.Grpc = grpcCheck(from)
	}
}

// logsIn are the types that log in whenever the monitor has credentials.
var logsIn = []string{
	"HEALTH_MONITOR_SMTP", "HEALTH_MONITOR_SMTPS", "HEALTH_MONITOR_POP3", "HEALTH_MONITOR_POP3S",
	"HEALTH_MONITOR_IMAP", "HEALTH_MONITOR_IMAPS", "HEALTH_MONITOR_FTP", "HEALTH_MONITOR_FTPS",
	"HEALTH_MONITOR_LDAP", "HEALTH_MONITOR_LDAPS",
}

// credentials are those with which the monitor logs in; nil: it does not.
func credentials(from *model.HealthMonitor, report *report) *enginev1.Credentials {
	if from.Authentication == nil {
		return nil
	}
	switch check := from.Check; {
	case check == nil && !slices.Contains(logsIn, from.Type):
		report.warn(aboutMonitor(from), "authentication", "%s does not log in: has no effect", from.Type)
	case check != nil && check.AuthType == "":
		report.warn(aboutMonitor(from), "authentication", "has no effect without auth_type")
	case check != nil && check.ExactRequest:
		report.warn(aboutMonitor(from), "authentication",
			"exact_http_request is sent as it is, so the monitor does not log in: has no effect")
	default:
		return &enginev1.Credentials{Username: from.Authentication.Username, Password: from.Authentication.Password}
	}
	return nil
}

// monitorTLS says how a monitor uses TLS; nil: it has no settings for that. If an object is missing that these refer
// to, the virtual service is blocked: otherwise servers would be trusted that the operator wants to be verified.
func monitorTLS(from *model.HealthMonitor, report *report) *enginev1.MonitorTls {
	_, settings := from.TLS()
	if settings == nil {
		return nil
	}
	if from.SSLProfile == nil || settings.PKIProfileRef != "" && from.PKIProfile == nil ||
		settings.CertificateRef != "" && from.Certificate == nil {
		report.blocked = true // model has a finding about that
		return nil
	}
	profile := tlsProfile(from.SSLProfile, report)
	compiled := &enginev1.MonitorTls{Versions: profile.GetVersions(), CipherSuites: profile.GetCipherSuites()}
	if from.Check == nil {
		compiled.ServerName = settings.ServerName
	}
	if from.PKIProfile != nil {
		compiled.CaCertsDer = from.PKIProfile.Authorities()
		if from.PKIProfile.CRLCheck || from.PKIProfile.IgnorePeerChain {
			report.warn(about("healthmonitor", from.Identity, from.Named), "pki_profile_ref",
				"monitors look at no list of "+
					"revoked certificates, and use the chain that servers send: crl_check and ignore_peer_chain of %s have no "+
					"effect here", from.PKIProfile.Name)
		}
	}
	if from.Certificate != nil {
		compiled.ChainDer, compiled.KeyPkcs8Der = from.Certificate.ChainDER, from.Certificate.KeyDER
	}
	return compiled
}

// grpcCheck asks for the server as a whole if the monitor has no settings.
func grpcCheck(from *model.HealthMonitor) *enginev1.GrpcCheck {
	if from.GRPC == nil {
		return &enginev1.GrpcCheck{}
	}
	return &enginev1.GrpcCheck{Service: from.GRPC.Service, Tls: from.GRPC.TLS, ServerName: from.GRPC.ServerName}
}

func httpCheck(from *model.HealthMonitor) *enginev1.HttpCheck {
	check := from.Check
	compiled := &enginev1.HttpCheck{
		Request:             check.Request,
		ExactRequest:        check.ExactRequest,
		Body:                check.RequestBody,
		ResponseClasses:     responseClasses(check.ResponseCodes),
		ResponseContains:    check.Response,
		MaintenanceCodes:    check.MaintenanceCodes,
		MaintenanceContains: check.MaintenanceResponse,
		SearchedBytes:       check.ResponseBytes,
	}
	if from.Authentication != nil && !check.ExactRequest {
		compiled.Login = httpLogins[check.AuthType]
	}
	if _, settings := from.TLS(); settings != nil {
		compiled.ServerName = settings.ServerName
	}
	return compiled
}

var httpLogins = map[string]enginev1.HttpLogin{
	"AUTH_BASIC": enginev1.HttpLogin_HTTP_LOGIN_BASIC,
	"AUTH_NTLM":  enginev1.HttpLogin_HTTP_LOGIN_NTLM,
}

// responseClasses turns HTTP_2XX into 2. If HTTP_ANY is among the codes, the list is empty, which allows all classes.
func responseClasses(codes []string) []uint32 {
	var classes []uint32
	for _, code := range codes {
		if code == "HTTP_ANY" {
			return nil
		}
		var class uint32
		if _, err := fmt.Sscanf(code, "HTTP_%dXX", &class); err == nil {
			classes = append(classes, class)
		}
	}
	return classes
}

func tcpCheck(from *model.HealthMonitor) *enginev1.TcpCheck {
	check := from.TCP
	if check == nil {
		return &enginev1.TcpCheck{}
	}
	return &enginev1.TcpCheck{
		Request:             check.Request,
		ResponseContains:    check.Response,
		MaintenanceContains: check.MaintenanceResponse,
		HalfOpen:            check.HalfOpen,
	}
}

func udpCheck(check *kinds.UDPMonitor) *enginev1.UdpCheck {
	return &enginev1.UdpCheck{
		Request: check.Request, ResponseContains: check.Response, MaintenanceContains: check.MaintenanceResponse,
	}
}

// recordTypes are the numbers of records in DNS (RFC 1035 §3.2.2, and later ones).
var recordTypes = map[string]uint32{
	"DNS_RECORD_A": 1, "DNS_RECORD_NS": 2, "DNS_RECORD_CNAME": 5, "DNS_RECORD_SOA": 6, "DNS_RECORD_PTR": 12,
	"DNS_RECORD_HINFO": 13, "DNS_RECORD_MX": 15, "DNS_RECORD_TXT": 16, "DNS_RECORD_RP": 17, "DNS_RECORD_AAAA": 28,
	"DNS_RECORD_SRV": 33, "DNS_RECORD_RRSIG": 46, "DNS_RECORD_DNSKEY": 48, "DNS_RECORD_ANY": 255,
}

var dnsAnswers = map[string]enginev1.DnsAnswer{
	"DNS_QUERY_TYPE": enginev1.DnsAnswer_DNS_ANSWER_OF_TYPE,
	"DNS_ANY_TYPE":   enginev1.DnsAnswer_DNS_ANSWER_OF_ANY_TYPE,
	"DNS_ANY_THING":  enginev1.DnsAnswer_DNS_ANSWER_NOT_NEEDED,
}

func dnsCheck(check *kinds.DNSMonitor) *enginev1.DnsCheck {
	return &enginev1.DnsCheck{
		Name: check.QueryName, RecordType: recordTypes[check.RecordType],
		AnyCode: check.ResponseCode == "RCODE_ANYTHING", Answer: dnsAnswers[check.QueryType],
		AnswerContains: check.ResponseString,
	}
}

// isScript tells whether a monitor runs a script of the operator.
func isScript(monitor *model.HealthMonitor) bool { return monitor.Type == "HEALTH_MONITOR_EXTERNAL" }

// externalCheck takes texts that were checked when they were written.
func externalCheck(check *kinds.ExternalMonitor) *enginev1.ExternalCheck {
	compiled := &enginev1.ExternalCheck{Script: check.Code, Variables: map[string]string{}}
	compiled.Arguments, _ = kinds.Words(check.Parameters)
	assignments, _ := kinds.Words(check.Variables)
	for _, assignment := range assignments {
		name, value, _ := strings.Cut(assignment, "=")
		compiled.Variables[name] = value
	}
	return compiled
}

var usualSIP = schema.Defaults[kinds.SIPMonitor]()

func sipCheck(check *kinds.SIPMonitor) *enginev1.SipCheck {
	return &enginev1.SipCheck{Tcp: check.Transport == "SIP_TCP_PROTO", ResponseContains: check.Response}
}

func smtpCheck(check *kinds.SMTPMonitor) *enginev1.SmtpCheck {
	if check == nil {
		return &enginev1.SmtpCheck{}
	}
	return &enginev1.SmtpCheck{
		Domain: check.DomainName, Sender: check.SenderID, Recipients: check.RecipientIDs, Mail: check.MailData,
	}
}

func ftpCheck(check *kinds.FTPMonitor) *enginev1.FtpCheck {
	return &enginev1.FtpCheck{Filename: check.Filename, Active: check.Mode == "FTP_PORT_MODE"}
}

var ldapScopes = map[string]enginev1.LdapScope{
	"LDAP_BASE_MODE": enginev1.LdapScope_LDAP_SCOPE_BASE,
	"LDAP_ONE_MODE":  enginev1.LdapScope_LDAP_SCOPE_ONE,
	"LDAP_SUB_MODE":  enginev1.LdapScope_LDAP_SCOPE_SUB,
}

func ldapCheck(check *kinds.LDAPMonitor) *enginev1.LdapCheck {
	separates := func(r rune) bool { return r == ',' || unicode.IsSpace(r) }
	return &enginev1.LdapCheck{
		BaseDn: check.BaseDN, Scope: ldapScopes[check.Scope], Filter: check.Filter,
		Attributes: strings.FieldsFunc(check.Attributes, separates),
	}
}
