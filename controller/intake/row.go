// Package intake takes records of requests and connections from engines, and makes rows of the record store of them:
// with the names of objects, and with the names that Avi's clients know. What an engine sends is foreign: only its uuid
// is certain, because that is in its certificate.
//
// row.go is pure: a record becomes a row. server.go holds the streams, credit.go says who may send, and takes no more
// than the store does.
package intake

import (
	"cmp"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/weir-lb/weir/api/record"
	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// from says where a record comes from, and what the numbers in it stand for.
type from struct {
	engine     string // uuid
	engineName string
	process    uint64
	worker     uint32
	services   map[uint32]named
	servers    map[uint32]server
}

// named is a virtual service with its uuid.
type named struct {
	uuid string
	Service
}

type server struct {
	id, hostname, pool, poolName string
	atServicePort                bool // its port is that of the listener
}

// fields collects the fields of a row. Those without a value are left out.
type fields []wire.Field

func (f *fields) text(name, value string) {
	if value != "" {
		*f = append(*f, wire.Field{Name: name, Value: value})
	}
}

// number adds a number in the form that the store takes: of more than 53 bits, the nearest one that a float has.
func (f *fields) number(name string, value uint64) {
	const exact = 1 << 53
	text := strconv.FormatUint(value, 10)
	if value > exact {
		text = query.FormatNumber(float64(value))
	}
	*f = append(*f, wire.Field{Name: name, Value: text})
}

func (f *fields) isTrue(name string, value bool) {
	if value {
		f.text(name, query.True)
	}
}

// micros adds a time: name_us in microseconds, and name in milliseconds, rounded half up.
func (f *fields) micros(name string, value time.Duration) {
	f.number(name, millis(value))
	f.number(name+"_us", uint64(value.Microseconds()))
}

func millis(value time.Duration) uint64 {
	return uint64((value + time.Millisecond/2) / time.Millisecond)
}

// rowOf makes a row of a record.
func rowOf(r record.Record, of from) wire.Row {
	service := of.services[r.Service]
	f := make(fields, 0, 64)
	f.origin(r, of, service)
	f.client(r)
	f.tls(r)
	if r.Server != record.None {
		f.server(r, of.servers[r.Server])
	}
	kind := query.Requests
	if r.Kind == record.Request {
		f.request(r)
	} else {
		kind = query.Connections
		f.connection(r)
	}
	return wire.Row{Time: r.End, Type: kind, Scope: scopeOf(service), Fields: f}
}

// scopeOf is the tenant that sees the records of a virtual service. Those of one that nobody knows any more are for
// administrators.
func scopeOf(service named) string {
	if service.Tenant == "" {
		return adminTenant
	}
	return service.Tenant
}

const adminTenant = "admin"

// requestID names a record whose request has no name of its own: the data plane numbers the records of each worker, and
// the process tells apart the numbers of two data planes of an engine.
func requestID(of from, sequence uint64) string {
	return fmt.Sprintf("%s-%d-%s.%d", of.engine, of.worker, strconv.FormatUint(of.process/uint64(time.Microsecond), 36),
		sequence)
}

func (f *fields) origin(r record.Record, of from, service named) {
	names := r.Names()
	f.text("request_id", cmp.Or(names.ID, requestID(of, r.Sequence)))
	f.text("user_id", names.User)
	f.number("log_id", r.Sequence)
	f.service(of, service, r.Class)
	f.number(query.WeightField, uint64(r.Weight))
	f.text("significant_log", strings.Join(r.Reasons.Names(), " "))
	var filters []string
	for i := range 16 {
		if r.Filters&(1<<i) == 0 {
			continue
		}
		name := strconv.Itoa(i) // deleted since
		if i < len(service.Filters) {
			name = service.Filters[i]
		}
		filters = append(filters, name)
	}
	f.text("client_log_filter_name", strings.Join(filters, query.NameSeparator))
	f.isTrue("udf", r.Filters != 0 || r.Flags&(record.Scripted|record.Logged) != 0)
	rules := r.Rules()
	for _, of := range rulesOfRecords {
		f.text(of.field, strings.Join(rules.Names[of.list], query.NameSeparator))
	}
	f.text("request_state", record.CauseName(r.Cause))
	f.text("start_timestamp", r.End.Add(-r.Total).UTC().Format(time.RFC3339Nano))
	f.micros("total_time", r.Total)
}

func (f *fields) service(of from, service named, class record.Class) {
	f.text("virtualservice", service.uuid)
	f.text("vs_name", service.Name)
	f.text("tenant", scopeOf(service))
	f.text("service_engine", of.engineName)
	f.text("service_engine_uuid", of.engine)
	f.number("vcpu_id", uint64(of.worker))
	f.text("class", classNames[class])
}

var classNames = map[record.Class]string{record.Significant: query.Significant, record.Filtered: query.Filtered,
	record.All: query.Every}

func (f *fields) client(r record.Record) {
	f.address("client_ip", r.Client.Addr())
	f.number("client_src_port", uint64(r.Client.Port()))
	f.address("source_ip", r.Source)
	f.address("vs_ip", r.VIP.Addr())
	f.number("client_dest_port", uint64(r.VIP.Port()))
	if r.ClientRTT > 0 {
		f.micros("client_rtt", r.ClientRTT)
		f.number("client_rtt_age_ms", uint64(r.ClientRTTAge.Milliseconds()))
	}
}

func (f *fields) address(name string, address netip.Addr) {
	if address.IsValid() && !address.IsUnspecified() {
		f.text(name, address.String())
	}
}

func (f *fields) tls(r record.Record) {
	f.text("sni_hostname", string(r.Texts[record.ServerName]))
	f.text("ssl_client_subject", string(r.Texts[record.ClientSubject]))
	f.text("ssl_client_fault", string(r.Texts[record.ClientFault]))
	if r.TLSVersion != 0 {
		f.text("ssl_version", tlsVersion(r.TLSVersion))
	}
	if r.Suite != 0 {
		f.text("ssl_cipher", tls.CipherSuiteName(r.Suite))
	}
	if r.Group != 0 {
		f.text("ssl_group", groupName(r.Group))
	}
	f.isTrue("ssl_session_reused", r.Flags&record.Resumed != 0)
	if r.Alert != 0 {
		f.text("ssl_alert", tls.AlertError(r.Alert-1).Error())
	}
	var suites []string
	for offered := r.Offered(); len(offered) >= 2; offered = offered[2:] {
		suites = append(suites, tls.CipherSuiteName(binary.BigEndian.Uint16(offered)))
	}
	f.text("client_cipher_list", strings.Join(suites, " "))
}

// tlsVersion is a version as Avi writes it.
func tlsVersion(version uint16) string {
	return strings.ReplaceAll(tls.VersionName(version), "TLS 1.", "TLSv1.")
}

// groupName is the IANA name of a group.
func groupName(group uint16) string {
	switch tls.CurveID(group) {
	case tls.CurveP256:
		return "secp256r1"
	case tls.CurveP384:
		return "secp384r1"
	case tls.CurveP521:
		return "secp521r1"
	case tls.X25519:
		return "x25519"
	}
	return tls.CurveID(group).String()
}

func (f *fields) server(r record.Record, to server) {
	f.text("pool", to.pool)
	f.text("pool_name", to.poolName)
	f.text("server_name", to.id)
	if to.hostname != "" {
		(*f)[len(*f)-1].Value = to.hostname
	}
	if address, err := netip.ParseAddrPort(to.id); err == nil {
		f.address("server_ip", address.Addr())
		port := address.Port()
		if to.atServicePort && r.VIP.IsValid() {
			port = r.VIP.Port()
		}
		f.number("server_dest_port", uint64(port))
	}
	if r.ServerLocal.IsValid() {
		f.address("server_conn_src_ip", r.ServerLocal.Addr())
		f.number("server_src_port", uint64(r.ServerLocal.Port()))
	}
	if r.Connect > 0 {
		f.number("conn_est_time_be", millis(r.Connect))
		f.number("connect_us", uint64(r.Connect.Microseconds()))
	}
	f.number("servers_tried", uint64(r.ServersTried))
	f.micros("server_rtt", r.ServerRTT)
}

func (f *fields) connection(r record.Record) {
	protocol := "PROTOCOL_TCP"
	if r.Kind == record.Session {
		protocol = "PROTOCOL_UDP"
	}
	f.text("protocol", protocol)
	f.number("rx_bytes", r.RequestBytes)
	f.number("tx_bytes", r.ResponseBytes)
	f.number("server_rx_bytes", r.ServerResponseBytes)
	f.isTrue("connection_ended", true)
	f.text("cut", strings.Join(cutRules(r), " "))
}

func (f *fields) request(r record.Record) {
	f.text("method", methodOf(r))
	f.text("http_version", map[uint8]string{10: "1.0", 11: "1.1", 20: "2.0"}[r.HTTP])
	f.text("host", string(r.Texts[record.Host]))
	f.text("uri_path", string(r.Texts[record.Path]))
	f.text("uri_query", string(r.Texts[record.Query]))
	agent := string(r.Texts[record.UserAgent])
	f.text("user_agent", agent)
	browser, os, device := readUserAgent(agent)
	f.text("client_browser", browser)
	f.text("client_os", os)
	f.text("client_device", device)
	f.text("referer", string(r.Texts[record.Referer]))
	f.text("xff", string(r.Texts[record.ForwardedFor]))
	f.text("cut", strings.Join(append(cutTexts(r.Flags), cutRules(r)...), " "))
	f.text("protocol", protocolOf(r.Flags))
	if r.Flags&record.Scripted != 0 {
		_, said := r.Said()
		f.text("datascript_log", said)
	}
	f.response(r)
	f.trace(r)
}

// rulesOfRecords are the fields with the names of rules that acted.
var rulesOfRecords = []struct {
	field string
	list  record.RuleList
}{
	{"network_security_policy_rule_name", record.ConnectionRules}, {"vh_match_rule", record.HostRules},
	{"http_security_policy_rule_name", record.SecurityRules}, {"http_request_policy_rule_name", record.RequestRules},
	{"http_response_policy_rule_name", record.ResponseRules}, {"jwt_authn_rule_name", record.AuthenticationRules},
	{"jwt_authz_rule_name", record.AuthorizationRules},
}

// cutRules names the fields that have only some of the rules.
func cutRules(r record.Record) (names []string) {
	rules := r.Rules()
	for _, of := range rulesOfRecords {
		if rules.Cut[of.list] {
			names = append(names, of.field)
		}
	}
	return names
}

func (f *fields) trace(r record.Record) {
	if r.Flags&record.Traced == 0 {
		return
	}
	f.text("trace_id", hex.EncodeToString(r.Trace[:]))
	span := hex.EncodeToString(r.Span[:])
	if r.Flags&record.OwnSpan != 0 {
		f.text("weir_span_id", span)
		client, _ := r.Said()
		span = hex.EncodeToString(client)
	}
	f.text("span_id", span)
	f.isTrue("trace_sampled", r.Flags&record.Sampled != 0)
}

func (f *fields) response(r record.Record) {
	f.number("response_code", uint64(r.Status))
	f.number("server_response_code", uint64(r.ServerStatus))
	if r.GRPCStatus > 0 {
		f.number("grpc_status", uint64(r.GRPCStatus)-1)
	}
	if r.Status >= 100 && r.Status < 600 {
		f.text("response_class", strconv.Itoa(int(r.Status/100))+"xx")
	}
	f.text("response_content_type", string(r.Texts[record.ContentType]))
	f.isTrue("local_response", r.Flags&record.Local != 0)
	f.isTrue("server_connection_reused", r.Flags&record.ServerReused != 0)
	f.isTrue("persistence_used", r.Flags&record.Persisted != 0)
	f.number("request_length", r.RequestBytes)
	f.number("response_length", r.ResponseBytes)
	f.number("server_response_length", r.ServerResponseBytes)
	f.isTrue("cache_hit", r.Flags&record.CacheHit != 0)
	f.isTrue("cacheable", r.Flags&record.Cacheable != 0)
	f.text("compression", record.Compressions[r.Flags.Compression()])
	if r.Flags.Compression() == record.Compressed && r.ServerResponseBytes > 0 {
		saved := r.ServerResponseBytes - min(r.ResponseBytes, r.ServerResponseBytes)
		f.number("compression_percentage", uint64(100*float64(saved)/float64(r.ServerResponseBytes)))
	}
	f.number("wait_us", uint64(r.Wait.Microseconds()))
	f.micros("app_response_time", r.App)
	f.micros("data_transfer_time", r.Transfer)
	first := r.Wait + r.ServerRTT + r.App
	f.number("response_time_first_byte", millis(first))
	f.number("response_time_last_byte", millis(first+r.Transfer))
	f.text("all_request_headers", string(r.Texts[record.RequestHeaders]))
	f.text("all_response_headers", string(r.Texts[record.ResponseHeaders]))
}

func methodOf(r record.Record) string {
	if int(r.Method) < len(record.Methods) {
		return record.Methods[r.Method]
	}
	return string(r.Texts[record.OtherMethod])
}

// cutTexts names the fields of which a record holds only the beginning.
func cutTexts(flags record.Flags) (names []string) {
	for _, one := range []struct {
		flag  record.Flags
		field string
	}{
		{record.HostCut, "host"}, {record.PathCut, "uri_path"}, {record.QueryCut, "uri_query"},
		{record.UserAgentCut, "user_agent"}, {record.RefererCut, "referer"}, {record.ForwardedForCut, "xff"},
		{record.HeadersCut, "headers"},
	} {
		if flags&one.flag != 0 {
			names = append(names, one.field)
		}
	}
	return names
}

func protocolOf(flags record.Flags) string {
	switch {
	case flags&record.GRPC != 0:
		return "grpc"
	case flags&record.WebSocket != 0:
		return "websocket"
	case flags&record.Tunnel != 0:
		return "tunnel"
	}
	return ""
}
