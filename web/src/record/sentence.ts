// Tells a record as sentences, one for each stage of a request, and its times as parts of a bar.
import { bytes, ms } from '../time/format'
import { type PartName, partNames } from '../time/parts'
import type { Entry } from './ask'

export interface Stage {
  name: string
  text: string
}

export interface Part {
  key: PartName
  name: string
  ms: number
}

export function text(entry: Entry, field: string): string {
  const value = entry[field]
  if (Array.isArray(value)) return value.map(String).join(', ')
  return value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function number(entry: Entry, field: string): number | undefined {
  const value = entry[field]
  const found = typeof value === 'number' ? value : typeof value === 'string' && value !== '' ? Number(value) : NaN
  return Number.isFinite(found) ? found : undefined
}

/** A time in ms: from its field in microseconds where there is one, which is more exact. */
export function timeOf(entry: Entry, name: string): number | undefined {
  const exact = number(entry, `${name}_us`)
  return exact !== undefined ? exact / 1000 : number(entry, name)
}

/** The parts of the total time, in their order. */
export function partsOf(entry: Entry): Part[] {
  const parts: [PartName, string][] = [['client_rtt', 'client_rtt'], ['wait', 'wait'], ['server_rtt', 'server_rtt'], ['app_response', 'app_response_time'], ['transfer', 'data_transfer_time']]
  return parts.flatMap(([key, field]) => {
    const took = timeOf(entry, field)
    return took === undefined ? [] : [{ key, name: partNames[key], ms: took }]
  })
}

/** "GET /pay: 502 after 2.0 s" */
export function headline(entry: Entry): string {
  const what = [text(entry, 'method'), text(entry, 'uri_path') || text(entry, 'protocol') || text(entry, 'event_id') || 'Connection'].filter(Boolean).join(' ')
  const status = text(entry, 'response_code')
  const took = timeOf(entry, 'total_time')
  return `${what}${status && status !== '0' ? `: ${status}` : ''}${took === undefined ? '' : ` after ${ms(took)}`}`
}

export function stagesOf(entry: Entry): Stage[] {
  return [
    { name: 'Client', text: clientOf(entry) },
    { name: 'Request', text: requestOf(entry) },
    { name: 'Engine', text: engineOf(entry) },
    { name: 'Server', text: serverOf(entry) },
    { name: 'Response', text: responseOf(entry) },
    { name: 'Kept', text: keptOf(entry) },
  ].filter((stage) => stage.text !== '')
}

function clientOf(entry: Entry): string {
  const client = address(entry, 'client_ip', 'client_src_port')
  if (!client) return ''
  const version = text(entry, 'ssl_version')
  const cipher = [text(entry, 'ssl_cipher'), text(entry, 'ssl_group')].filter(Boolean).join(', ')
  const tls = version ? ` over ${version}${cipher ? ` (${cipher})` : ''}${truth(entry, 'ssl_session_reused') ? ', session resumed' : ''}` : ''
  const sni = text(entry, 'sni_hostname')
  const failed = text(entry, 'ssl_alert')
  const rtt = timeOf(entry, 'client_rtt')
  const old = number(entry, 'client_rtt_age_ms')
  return [
    `${client} came to ${address(entry, 'vs_ip', 'client_dest_port') || text(entry, 'vs_name')}${tls}${sni ? ` and asked for ${sni}` : ''}.`,
    failed ? `TLS failed with the alert ${failed}${text(entry, 'client_cipher_list') ? `; it offered ${text(entry, 'client_cipher_list')}` : ''}.` : '',
    rtt === undefined ? '' : `The round trip to it took ${ms(rtt)}${old !== undefined && old > 1000 ? `, measured ${ms(old)} before` : ''}.`,
  ].filter(Boolean).join(' ')
}

function requestOf(entry: Entry): string {
  const method = text(entry, 'method')
  if (!method) return ''
  const query = text(entry, 'uri_query')
  const agent = text(entry, 'user_agent')
  const referer = text(entry, 'referer')
  const version = text(entry, 'http_version')
  const sent = number(entry, 'request_length')
  return [
    `${method} ${text(entry, 'host')}${text(entry, 'uri_path')}${query ? `?${query}` : ''}${version ? `, HTTP/${version.replace(/^HTTP\//, '')}` : ''}${sent ? `, ${bytes(sent)}` : ''}.`,
    agent ? `It calls itself ${agent}.` : '',
    referer ? `It came from ${referer}.` : '',
    text(entry, 'cut') ? `Cut off: ${text(entry, 'cut')}.` : '',
  ].filter(Boolean).join(' ')
}

function engineOf(entry: Entry): string {
  const engine = text(entry, 'service_engine')
  if (!engine) return ''
  const wait = timeOf(entry, 'wait')
  const connect = timeOf(entry, 'connect') ?? timeOf(entry, 'conn_est_time_be')
  return [
    `${engine}, worker ${text(entry, 'vcpu_id') || '–'}, served it for ${text(entry, 'vs_name') || text(entry, 'virtualservice')}.`,
    wait === undefined ? '' : `After ${ms(wait)} it was with the server${connect ? `, of which connecting took ${ms(connect)}` : ''}.`,
  ].filter(Boolean).join(' ')
}

function serverOf(entry: Entry): string {
  const server = address(entry, 'server_ip', 'server_dest_port')
  if (!server) return truth(entry, 'local_response') ? 'No server was asked: Weir answered by itself.' : ''
  const tried = number(entry, 'servers_tried')
  const status = text(entry, 'server_response_code')
  const app = timeOf(entry, 'app_response_time')
  const rtt = timeOf(entry, 'server_rtt')
  const pool = text(entry, 'pool_name')
  return [
    `${server}${pool ? ` of pool ${pool}` : ''}${truth(entry, 'server_connection_reused') ? ', over a connection that was open' : ''}${tried !== undefined && tried > 1 ? `, the last of ${tried} that were tried` : ''}.`,
    app === undefined ? '' : `It needed ${ms(app)}${rtt === undefined ? '' : `, and the round trip ${ms(rtt)}`}.`,
    status && status !== '0' ? `It answered ${status}.` : truth(entry, 'local_response') ? 'It did not answer.' : '',
  ].filter(Boolean).join(' ')
}

function responseOf(entry: Entry): string {
  const status = text(entry, 'response_code')
  const state = text(entry, 'request_state')
  const transfer = timeOf(entry, 'data_transfer_time')
  const sent = number(entry, 'response_length') ?? number(entry, 'tx_bytes')
  const parts = [
    status && status !== '0' ? `The client got ${status}${truth(entry, 'local_response') ? ', which Weir made' : ''}${sent === undefined ? '' : `, ${bytes(sent)}`}${transfer === undefined ? '' : `, in ${ms(transfer)}`}.` : sent !== undefined ? `The client got ${bytes(sent)}.` : '',
    state ? `It ended as ${state}.` : '',
  ]
  return parts.filter(Boolean).join(' ')
}

function keptOf(entry: Entry): string {
  const weight = number(entry, 'weight')
  const why = reasons(entry)
  const lost = number(entry, 'lost')
  if (weight === undefined && !why) return ''
  return [
    why ? `Because of ${why}.` : text(entry, 'class') ? `As one of “${text(entry, 'class')}”.` : '',
    weight !== undefined && weight > 1 ? `It stands for ${weight}, itself included.` : '',
    lost ? `${lost} before it were lost: ${text(entry, 'lost_reason')}.` : '',
  ].filter(Boolean).join(' ')
}

/** ADF_RESPONSE_CODE_5XX → response code 5xx */
export function reasons(entry: Entry): string {
  return text(entry, 'significant_log').replaceAll('ADF_', '').replaceAll('_', ' ').toLowerCase()
}

function address(entry: Entry, ip: string, port: string): string {
  const host = text(entry, ip)
  const number = text(entry, port)
  if (!host) return ''
  return number && number !== '0' ? `${host.includes(':') ? `[${host}]` : host}:${number}` : host
}

function truth(entry: Entry, field: string): boolean {
  return entry[field] === true || entry[field] === 'true'
}

