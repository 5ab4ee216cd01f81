/** The parts of the time of a request, by the names that pages, command line, filters and documents have for them. */
export const partNames = {
  client_rtt: 'Client RTT',
  wait: 'Wait',
  server_rtt: 'Server RTT',
  app_response: 'App response',
  transfer: 'Transfer',
} as const

export type PartName = keyof typeof partNames

/** What each part is, for those who ask. */
export const partsSay: Record<PartName, string> = {
  client_rtt: 'the round trip to the client. It is measured on one of eight connections, and is no part of the total of the engine',
  wait: 'from the first byte of the request until Weir has sent it to a server: the request arrives, connections are made',
  server_rtt: 'of the time from then until the first byte of the answer, the round trip to the server',
  app_response: 'the rest of that time: the server works',
  transfer: 'from the first byte of the answer until the client has taken the last one',
}
