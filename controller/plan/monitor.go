package plan

import (
	"fmt"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
	"github.com/weir-lb/weir/controller/model"
)

var monitorTypes = map[string]enginev1.MonitorType{
	"HEALTH_MONITOR_HTTP":  enginev1.MonitorType_MONITOR_TYPE_HTTP,
	"HEALTH_MONITOR_HTTPS": enginev1.MonitorType_MONITOR_TYPE_HTTPS,
	"HEALTH_MONITOR_TCP":   enginev1.MonitorType_MONITOR_TYPE_TCP,
	"HEALTH_MONITOR_PING":  enginev1.MonitorType_MONITOR_TYPE_PING,

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
		Http:             httpCheck(from),
	}
	if kind == enginev1.MonitorType_MONITOR_TYPE_TCP {
		compiled.Tcp = tcpCheck(from)
	}
	if kind == enginev1.MonitorType_MONITOR_TYPE_GRPC {
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
