// The fields of records, by the names that a reader types. The API has Avi's names. tests/laws holds them equal to those of the record
// store (logs/query) and of `weir … --filter` (cmd/weir/fieldnames.go).

export type FieldKind = 'text' | 'words' | 'number' | 'ms' | 'us' | 'bytes' | 'boolean'

export interface Field {
  /** What a reader types before the colon. */
  name: string
  /** The field of the API. */
  field: string
  /** words: text of which a reader seldom knows all, so that a value means "contains". us: in µs, where ms are too coarse. */
  kind: FieldKind
  title: string
}

export interface Kind {
  /** As the parameter type of /api/analytics/logs. */
  type: 0 | 1 | 2
  name: 'requests' | 'connections' | 'events'
  /** The fields by which a reader narrows down. */
  narrow: string[]
  fields: Field[]
  /** What the histogram distinguishes; missing: nothing. */
  stack?: string
  /** Whether a record stands for others, too. */
  isWeighted: boolean
  /** The range that "live" means, in s. */
  liveS: number
}

const shared: Field[] = [
  { name: 'id', field: 'request_id', kind: 'text', title: 'Identity of the record' },
  { name: 'service', field: 'vs_name', kind: 'text', title: 'Virtual service' },
  { name: 'engine', field: 'service_engine', kind: 'text', title: 'Engine' },
  { name: 'worker', field: 'vcpu_id', kind: 'number', title: 'Worker of the engine' },
  { name: 'class', field: 'class', kind: 'text', title: 'Why it was kept: significant, filtered, all' },
  { name: 'reason', field: 'significant_log', kind: 'words', title: 'Why it is significant' },
  { name: 'state', field: 'request_state', kind: 'text', title: 'How it ended' },
  { name: 'client', field: 'client_ip', kind: 'text', title: 'Address of the client' },
  { name: 'client_port', field: 'client_src_port', kind: 'number', title: 'Port of the client' },
  { name: 'vip', field: 'vs_ip', kind: 'text', title: 'Address that the client asked' },
  { name: 'port', field: 'client_dest_port', kind: 'number', title: 'Port that the client asked' },
  { name: 'client_rtt', field: 'client_rtt', kind: 'ms', title: 'Client RTT: the round trip to the client' },
  { name: 'tls', field: 'ssl_version', kind: 'text', title: 'Version of TLS' },
  { name: 'cipher', field: 'ssl_cipher', kind: 'text', title: 'Cipher of TLS' },
  { name: 'group', field: 'ssl_group', kind: 'text', title: 'Key exchange of TLS' },
  { name: 'resumed', field: 'ssl_session_reused', kind: 'boolean', title: 'TLS session resumed' },
  { name: 'sni', field: 'sni_hostname', kind: 'text', title: 'Name in the TLS greeting' },
  { name: 'client_subject', field: 'ssl_client_subject', kind: 'text', title: 'Subject of the certificate that the client showed' },
  { name: 'client_fault', field: 'ssl_client_fault', kind: 'text', title: 'What is wrong with that certificate' },
  { name: 'alert', field: 'ssl_alert', kind: 'text', title: 'Alert of TLS' },
  { name: 'pool', field: 'pool', kind: 'text', title: 'Pool, by its name or uuid' },
  { name: 'server', field: 'server_name', kind: 'text', title: 'Server' },
  { name: 'server_ip', field: 'server_ip', kind: 'text', title: 'Address of the server' },
  { name: 'server_port', field: 'server_dest_port', kind: 'number', title: 'Port of the server' },
  { name: 'tried', field: 'servers_tried', kind: 'number', title: 'Servers that were tried' },
  { name: 'server_rtt', field: 'server_rtt', kind: 'ms', title: 'Server RTT: the round trip to the server' },
  { name: 'total', field: 'total_time', kind: 'ms', title: 'Total time' },
  { name: 'weight', field: 'weight', kind: 'number', title: 'How many it stands for' },
]

/** What one seldom searches stands last. */
const alsoShared: Field[] = [
  { name: 'source', field: 'source_ip', kind: 'text', title: 'Address that the connection came from, where a PROXY header names another client' },
  { name: 'filter', field: 'client_log_filter_name', kind: 'text', title: 'Filter that wanted the record' },
  { name: 'udf', field: 'udf', kind: 'boolean', title: 'A filter, a rule or a DataScript wanted the record' },
  { name: 'network_rule', field: 'network_security_policy_rule_name', kind: 'text', title: 'Rule of the network security policy that let the connection in or barred it' },
  { name: 'virtualservice', field: 'virtualservice', kind: 'text', title: 'uuid of the virtual service' },
  { name: 'tenant', field: 'tenant', kind: 'text', title: 'Tenant' },
  { name: 'service_engine_uuid', field: 'service_engine_uuid', kind: 'text', title: 'uuid of the engine' },
  { name: 'pool_name', field: 'pool_name', kind: 'text', title: 'Name of the pool' },
  { name: 'log_id', field: 'log_id', kind: 'number', title: 'Number of the record at its worker' },
  { name: 'start_timestamp', field: 'start_timestamp', kind: 'text', title: 'When it began' },
  { name: 'client_rtt_us', field: 'client_rtt_us', kind: 'number', title: 'Client RTT in µs' },
  { name: 'client_rtt_age_ms', field: 'client_rtt_age_ms', kind: 'number', title: 'How old the client RTT is, in ms' },
  { name: 'client_cipher_list', field: 'client_cipher_list', kind: 'words', title: 'Ciphers that the client offered' },
  { name: 'server_conn_src_ip', field: 'server_conn_src_ip', kind: 'text', title: 'Address of the engine towards the server' },
  { name: 'server_src_port', field: 'server_src_port', kind: 'number', title: 'Port of the engine towards the server' },
  { name: 'conn_est_time_be', field: 'conn_est_time_be', kind: 'ms', title: 'Time to connect to the server' },
  { name: 'connect_us', field: 'connect_us', kind: 'number', title: 'Time to connect to the server, in µs' },
  { name: 'server_rtt_us', field: 'server_rtt_us', kind: 'number', title: 'Server RTT in µs' },
  { name: 'total_time_us', field: 'total_time_us', kind: 'number', title: 'Total time in µs' },
  { name: 'cut', field: 'cut', kind: 'words', title: 'Fields of which the record has only the beginning' },
  { name: 'lost', field: 'lost', kind: 'number', title: 'Records that are missing' },
  { name: 'lost_reason', field: 'lost_reason', kind: 'words', title: 'Why records are missing' },
]

const ofRequests: Field[] = [
  { name: 'status', field: 'response_code', kind: 'number', title: 'Status' },
  { name: 'statuses', field: 'response_class', kind: 'text', title: 'Class of the status' },
  { name: 'server_status', field: 'server_response_code', kind: 'number', title: 'Status of the server' },
  { name: 'method', field: 'method', kind: 'text', title: 'Method' },
  { name: 'host', field: 'host', kind: 'text', title: 'Host' },
  { name: 'path', field: 'uri_path', kind: 'text', title: 'Path' },
  { name: 'query', field: 'uri_query', kind: 'words', title: 'Query' },
  { name: 'ua', field: 'user_agent', kind: 'words', title: 'User agent' },
  { name: 'referer', field: 'referer', kind: 'words', title: 'Referer' },
  { name: 'user', field: 'user_id', kind: 'text', title: 'Whose the request is' },
  { name: 'xff', field: 'xff', kind: 'words', title: 'X-Forwarded-For' },
  { name: 'version', field: 'http_version', kind: 'text', title: 'Version of HTTP' },
  { name: 'local', field: 'local_response', kind: 'boolean', title: 'Answered by Weir itself' },
  { name: 'wait', field: 'wait_us', kind: 'us', title: 'Wait: until the request was with a server' },
  { name: 'app_response', field: 'app_response_time', kind: 'ms', title: 'App response: what the server needed by itself' },
  { name: 'transfer', field: 'data_transfer_time', kind: 'ms', title: 'Transfer: until the client had the last byte' },
  { name: 'sent', field: 'response_length', kind: 'bytes', title: 'Bytes of the response' },
  { name: 'received', field: 'request_length', kind: 'bytes', title: 'Bytes of the request' },
  { name: 'trace', field: 'trace_id', kind: 'text', title: 'Trace' },
  { name: 'grpc', field: 'grpc_status', kind: 'number', title: 'Status of gRPC' },
  { name: 'browser', field: 'client_browser', kind: 'text', title: 'Browser, guessed from the user agent' },
  { name: 'os', field: 'client_os', kind: 'text', title: 'System, guessed from the user agent' },
  { name: 'device', field: 'client_device', kind: 'text', title: 'Device, guessed from the user agent' },
  { name: 'protocol', field: 'protocol', kind: 'text', title: 'Protocol above HTTP: grpc, websocket, tunnel' },
]

const alsoOfRequests: Field[] = [
  { name: 'host_rule', field: 'vh_match_rule', kind: 'text', title: 'Rule of the child that chose it for the request' },
  { name: 'security_rule', field: 'http_security_policy_rule_name', kind: 'text', title: 'HTTP security rules that acted' },
  { name: 'authn_rule', field: 'jwt_authn_rule_name', kind: 'text', title: 'Rule that said whether the request needs a token' },
  { name: 'authz_rule', field: 'jwt_authz_rule_name', kind: 'text', title: 'Rule that said what its token is good for' },
  { name: 'request_rule', field: 'http_request_policy_rule_name', kind: 'text', title: 'HTTP request rules that acted' },
  { name: 'response_rule', field: 'http_response_policy_rule_name', kind: 'text', title: 'HTTP response rules that acted' },
  { name: 'datascript_log', field: 'datascript_log', kind: 'words', title: 'What DataScripts have logged' },
  { name: 'response_content_type', field: 'response_content_type', kind: 'words', title: 'Content type of the response' },
  { name: 'server_connection_reused', field: 'server_connection_reused', kind: 'boolean', title: 'The connection to the server had served before' },
  { name: 'persistence_used', field: 'persistence_used', kind: 'boolean', title: 'The client returned to its server' },
  { name: 'server_response_length', field: 'server_response_length', kind: 'bytes', title: 'Bytes of the response of the server' },
  { name: 'cache_hit', field: 'cache_hit', kind: 'boolean', title: 'Answered from the cache of the engine' },
  { name: 'cacheable', field: 'cacheable', kind: 'boolean', title: 'The response could be stored' },
  { name: 'compression', field: 'compression', kind: 'text', title: 'Whether the response was compressed, or why not' },
  { name: 'compression_percentage', field: 'compression_percentage', kind: 'number', title: 'By how many percent compression made the response shorter' },
  { name: 'app_response_time_us', field: 'app_response_time_us', kind: 'number', title: 'App response in µs' },
  { name: 'data_transfer_time_us', field: 'data_transfer_time_us', kind: 'number', title: 'Transfer in µs' },
  { name: 'response_time_first_byte', field: 'response_time_first_byte', kind: 'ms', title: 'Until the first byte of the response' },
  { name: 'response_time_last_byte', field: 'response_time_last_byte', kind: 'ms', title: 'Until the last byte of the response' },
  { name: 'span_id', field: 'span_id', kind: 'text', title: 'Span of the client' },
  { name: 'weir_span_id', field: 'weir_span_id', kind: 'text', title: 'Span of the engine' },
  { name: 'trace_sampled', field: 'trace_sampled', kind: 'boolean', title: 'The trace is sampled' },
  { name: 'all_request_headers', field: 'all_request_headers', kind: 'words', title: 'Header fields of the request' },
  { name: 'all_response_headers', field: 'all_response_headers', kind: 'words', title: 'Header fields of the response' },
]

const ofConnections: Field[] = [
  { name: 'protocol', field: 'protocol', kind: 'text', title: 'Protocol' },
  { name: 'received', field: 'rx_bytes', kind: 'bytes', title: 'Bytes from the client' },
  { name: 'sent', field: 'tx_bytes', kind: 'bytes', title: 'Bytes to the client' },
]

const alsoOfConnections: Field[] = [
  { name: 'server_rx_bytes', field: 'server_rx_bytes', kind: 'bytes', title: 'Bytes from the server' },
  { name: 'connection_ended', field: 'connection_ended', kind: 'boolean', title: 'The connection is over' },
]

const ofEvents: Field[] = [
  { name: 'event', field: 'event_id', kind: 'text', title: 'Event' },
  { name: 'type', field: 'obj_type', kind: 'text', title: 'Kind of object' },
  { name: 'object', field: 'obj_name', kind: 'text', title: 'Object' },
  { name: 'uuid', field: 'obj_uuid', kind: 'text', title: 'uuid of the object' },
  { name: 'tenant', field: 'tenant', kind: 'text', title: 'Tenant' },
  { name: 'text', field: 'event_description', kind: 'words', title: 'Description' },
  { name: 'related_uuids', field: 'related_uuids', kind: 'words', title: 'uuids of other objects that it is about' },
]

export const requests: Kind = {
  type: 1, name: 'requests', isWeighted: true, liveS: 900, stack: 'response_class', fields: [...ofRequests, ...shared, ...alsoOfRequests, ...alsoShared],
  narrow: ['status', 'server', 'path', 'method', 'client', 'reason', 'service', 'engine', 'ua', 'tls'],
}

export const connections: Kind = {
  type: 0, name: 'connections', isWeighted: true, liveS: 900, fields: [...ofConnections, ...shared, ...alsoOfConnections, ...alsoShared],
  narrow: ['reason', 'server', 'client', 'state', 'service', 'engine', 'tls', 'alert'],
}

export const events: Kind = { type: 2, name: 'events', isWeighted: false, liveS: 7 * 86_400, fields: ofEvents, narrow: ['event', 'object', 'type'] }

/** A field by what a reader types: its name, or the name in the API. */
export function fieldOf(kind: Kind, name: string): Field | undefined {
  return kind.fields.find((one) => one.name === name) ?? kind.fields.find((one) => one.field === name)
}
