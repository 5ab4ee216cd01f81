package plan

import (
	"fmt"
	"strings"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
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

	"HEALTH_MONITOR_WEIR_GRPC": enginev1.MonitorType_MONITOR_TYPE_GRPC,
}

const millisecondsPerSecond = 1000

// healthMonitor converts a monitor; nil: engines cannot run it, and a finding says so.
func healthMonitor(from *model.HealthMonitor, report *report) *enginev1.HealthMonitor {
	kind, known := monitorTypes[from.Type]
	if !known {
		report.warn(about("healthmonitor", from.Identity, from.Named), "type",
			"engines cannot run %s yet: servers are not checked by it", from.Type)
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
		Http:             httpCheck(from),
	}
	switch kind {
	case enginev1.MonitorType_MONITOR_TYPE_TCP:
		compiled.Tcp = tcpCheck(from)
	case enginev1.MonitorType_MONITOR_TYPE_UDP:
		compiled.Udp = udpCheck(from.UDP)
	case enginev1.MonitorType_MONITOR_TYPE_DNS:
		compiled.Dns = dnsCheck(from.DNS)
	case enginev1.MonitorType_MONITOR_TYPE_EXTERNAL:
		compiled.External = externalCheck(from.External)
	case enginev1.MonitorType_MONITOR_TYPE_GRPC:
		compiled.Grpc = grpcCheck(from)
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
	if check == nil {
		return nil
	}
	compiled := &enginev1.HttpCheck{
		Request:             check.Request,
		ExactRequest:        check.ExactRequest,
		Body:                check.RequestBody,
		ResponseClasses:     responseClasses(check.ResponseCodes),
		ResponseContains:    check.Response,
		MaintenanceCodes:    check.MaintenanceCodes,
		MaintenanceContains: check.MaintenanceResponse,
	}
	if check.SSLAttributes != nil {
		compiled.ServerName = check.SSLAttributes.ServerName
	}
	return compiled
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
