package plan

import (
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"time"
)

// Pool is the servers of one pool, and who checks them.
type Pool struct {
	UUID           string
	Servers        []Server
	Monitors       []*Monitor // empty: its servers are not checked
	MinUp          int        // how many of them must pass; 0: all
	ServerName     string     // in TLS; empty: each server's own
	HTTP2          bool       // its servers speak HTTP/2
	UseServicePort bool       // requests and connections go to the port of their listener
	AppendPort     AppendPort // whether the host in checks has the port
	MinServers     int        // how many of them must be up; at least 1
	Backup         string     // the uuid of the pool that takes over; empty: none does

	TasksInterval time.Duration // how often the data plane hears at most how many tasks servers have; 0: never
}

// AppendPort is whether a host has the port of its server. Values that this agent does not know are the first.
type AppendPort int32

const (
	AppendUnusual AppendPort = 0 // other ports than 80 and 443
	AppendAlways  AppendPort = 1
	AppendNever   AppendPort = 2
)

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

// State is what health monitors say about a server.
type State struct {
	Up    bool
	Tasks Tasks
}

// Tasks is how many tasks a server has, as it said last.
type Tasks struct {
	Report uint32 // the number of that report; 0: there was none
	Known  bool
	Count  uint32
}

// Monitor is one way of checking servers.
type Monitor struct {
	UUID       string
	Name       string
	Content    Content
	Type       MonitorType
	Interval   time.Duration // at least a millisecond
	Timeout    time.Duration // of a check; at least a millisecond
	Successes  int           // in a row bring a server up; at least 1
	Failures   int           // in a row bring it down; at least 1
	Port       uint16        // 0: the server's
	Quickstart bool          // a new server is up after one success
	Apart      bool          // pools do not share its checks of a server
	HTTP       HTTPCheck     // of HTTP and HTTPS
	TCP        TCPCheck
	UDP        UDPCheck
	DNS        DNSCheck
	External   ExternalCheck
	GRPC       GRPCCheck
	SIP        SIPCheck
	RADIUS     RADIUSCheck
	SMTP       SMTPCheck
	IMAPFolder string // empty: none is selected
	FTP        FTPCheck
	LDAP       LDAPCheck
	Login      Login // empty: the monitor does not log in
	TLS        MonitorTLS
}

// Login is a user, as who a monitor logs in.
type Login struct{ Username, Password string }

// MonitorTLS is how a monitor uses TLS.
type MonitorTLS struct {
	ServerName  string // SNI; empty: that of the pool, or the server's name
	MinVersion  uint16
	MaxVersion  uint16
	Suites      []uint16         // below TLS 1.3; empty: any
	Authorities *x509.CertPool   // nil: the server's certificate is not verified
	Certificate *tls.Certificate // what the monitor presents; nil: nothing
}

// Content is a digest of what a monitor does. Monitors with the same content find the same.
type Content [32]byte

// MonitorType is the protocol of a check. A protocol that this engine does not know keeps the controller's number.
type MonitorType int32

const (
	HTTP     MonitorType = 1
	HTTPS    MonitorType = 2
	TCP      MonitorType = 3
	Ping     MonitorType = 4
	UDP      MonitorType = 5
	DNS      MonitorType = 6
	External MonitorType = 7
	SIP      MonitorType = 8
	RADIUS   MonitorType = 9
	SMTP     MonitorType = 10
	SMTPS    MonitorType = 11
	POP3     MonitorType = 12
	POP3S    MonitorType = 13
	IMAP     MonitorType = 14
	IMAPS    MonitorType = 15
	FTP      MonitorType = 16
	FTPS     MonitorType = 17
	LDAP     MonitorType = 18
	LDAPS    MonitorType = 19
	GRPC     MonitorType = 130
)

// HTTPCheck is a request and the expected response.
type HTTPCheck struct {
	Request             string // request line, and headers after it
	Exact               bool   // the request is sent as it is, without an added Host or User-Agent
	Body                string
	Classes             []uint32 // of the status: 2 for 2xx; empty: any
	Contains            string   // the response does, in the part that is searched
	MaintenanceCodes    []uint32
	MaintenanceContains string
	Searched            int // bytes of the response
	Login               HTTPLogin
}

// HTTPLogin is how the user of a monitor reaches an HTTP server.
type HTTPLogin int32

const (
	NoHTTPLogin HTTPLogin = 0
	BasicLogin  HTTPLogin = 1
	NTLMLogin   HTTPLogin = 2
)

// GRPCCheck is a call of the standard health service of gRPC.
type GRPCCheck struct {
	Service string // empty: the server as a whole
	TLS     bool
}

// TCPCheck is what to send over a connection, and the expected answer.
type TCPCheck struct {
	Request             string
	Contains            string
	MaintenanceContains string
	HalfOpen            bool // the server's SYN-ACK is enough, and is answered with a reset
}

// UDPCheck is a datagram, and the expected answer.
type UDPCheck struct {
	Request             string
	Contains            string // empty: no answer is needed
	MaintenanceContains string
}

// DNSCheck is a question, and the expected answer.
type DNSCheck struct {
	Name     string
	Record   uint16 // the type in the question
	AnyCode  bool   // false: NOERROR
	Answer   DNSAnswer
	Contains string // a record of the answer does; an address is one; empty: no matter what
}

// DNSAnswer is what has to be in the answer section.
type DNSAnswer int32

const (
	DNSAnswerOfType    DNSAnswer = 1 // a record of the type of the question
	DNSAnswerOfAnyType DNSAnswer = 2
	DNSAnswerNotNeeded DNSAnswer = 3
)

// ExternalCheck is a script that writes something if the server works.
type ExternalCheck struct {
	Script    string
	Arguments []string // after the server's address and port
	Variables []string // of its environment: "NAME=value"
}

// SIPCheck is a request for the options of a server, and a text in its answer.
type SIPCheck struct {
	TCP      bool // false: UDP
	Contains string
}

// RADIUSCheck is a user that a server accepts.
type RADIUSCheck struct{ Username, Password, Secret string }

// SMTPCheck is a mail. Without a sender or recipients none is sent.
type SMTPCheck struct {
	Domain     string // in EHLO; empty: this machine's name
	Sender     string
	Recipients []string
	Mail       string
}

// FTPCheck is a file to get.
type FTPCheck struct {
	Filename string
	Active   bool // the server opens the connection for the file
}

// LDAPCheck is a search.
type LDAPCheck struct {
	BaseDN     string
	Scope      LDAPScope
	Attributes []string
	Filter     string // empty: every entry
}

// LDAPScope is where a search looks.
type LDAPScope int32

const (
	LDAPBase LDAPScope = 1
	LDAPOne  LDAPScope = 2
	LDAPSub  LDAPScope = 3
)
