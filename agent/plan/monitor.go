package plan

import (
	"crypto/sha256"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

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
		GRPC: GRPCCheck{
			Service: wire.GetGrpc().GetService(), TLS: wire.GetGrpc().GetTls(),
			ServerName: wire.GetGrpc().GetServerName(),
		},
	}
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
		ServerName: wire.GetServerName(),
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
