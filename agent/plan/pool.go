package plan

import (
	"net/netip"
	"time"
)

// Pool is the servers of one pool, and who checks them.
type Pool struct {
	UUID       string
	Servers    []Server
	Monitors   []*Monitor // all must pass; empty: its servers are not checked
	ServerName string     // in TLS; empty: each server's own
}

// Server is one server of a pool.
type Server struct {
	ID       string // unique in its pool
	Address  netip.Addr
	Port     uint16
	Hostname string // empty: none
	Enabled  bool
}

// Member is a server by its pool.
type Member struct{ Pool, Server string }

// Monitor is one way of checking servers.
type Monitor struct {
	UUID       string
	Type       MonitorType
	Interval   time.Duration // at least a millisecond
	Timeout    time.Duration // of a check; at least a millisecond
	Successes  int           // in a row bring a server up; at least 1
	Failures   int           // in a row bring it down; at least 1
	Port       uint16        // 0: the server's
	Quickstart bool          // a new server is up after one success
	HTTP       HTTPCheck     // of HTTP and HTTPS
	TCP        TCPCheck
	GRPC       GRPCCheck
}

// MonitorType is the protocol of a check. A protocol that this engine does not know keeps the controller's number.
type MonitorType int32

const (
	HTTP  MonitorType = 1
	HTTPS MonitorType = 2
	TCP   MonitorType = 3
	Ping  MonitorType = 4
	GRPC  MonitorType = 130
)

// HTTPCheck is a request and the expected response.
type HTTPCheck struct {
	Request             string // request line, and headers after it
	Exact               bool   // the request is sent as it is, without an added Host or User-Agent
	Body                string
	Classes             []uint32 // of the status: 2 for 2xx; empty: any
	Contains            string   // the response does, in its first 2 KiB
	MaintenanceCodes    []uint32
	MaintenanceContains string
	ServerName          string // SNI, of HTTPS
}

// GRPCCheck is a call of the standard health service of gRPC.
type GRPCCheck struct {
	Service    string // empty: the server as a whole
	TLS        bool
	ServerName string // SNI
}

// TCPCheck is what to send over a connection, and the expected answer.
type TCPCheck struct {
	Request             string
	Contains            string
	MaintenanceContains string
	HalfOpen            bool // a connection is enough, and is reset
}
