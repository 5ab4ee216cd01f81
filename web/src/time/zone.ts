// Times are written in the zone of the browser, or in UTC (?zone=utc). The frame sets it before a page is drawn.

let zone: string | undefined

export function setZone(name: string) {
  zone = name === 'utc' ? 'UTC' : undefined
}

/** "UTC", or undefined for the zone of the browser, as Intl takes it. */
export function zoneNow(): string | undefined {
  return zone
}

/** How the zone is written beside a time: "UTC", "GMT+1". */
export function zoneName(atMs: number): string {
  if (zone) return zone
  const parts = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts(atMs)
  return parts.find((part) => part.type === 'timeZoneName')?.value ?? ''
}
