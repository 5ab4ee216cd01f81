/** What the analytics policy of a virtual service says of records of all requests. */
export interface FullLogs {
  enabled?: boolean
  /** Minutes; 0: for ever. */
  duration?: number
  /** Records a second of each engine; 0: no limit. */
  throttle?: number
}

export const minutes = 30
const throttleOf = (logs: FullLogs | undefined) => logs?.throttle ?? 10

/** Whether keeping all for some minutes would keep no less than what is set. The time of what is set may be over, so as many minutes begin anew. */
export function canKeep(logs: FullLogs | undefined): boolean {
  const duration = logs?.duration ?? minutes
  return !logs?.enabled || (duration > 0 && duration <= minutes)
}

export function saysKeeping(logs: FullLogs | undefined): string {
  const throttle = throttleOf(logs)
  const above = throttle === 0 ? 'without a limit' : `above ${throttle} a second of an engine, one record stands for several`
  if (canKeep(logs)) return `They can keep all for ${minutes} minutes; ${above}.`
  return logs?.duration === 0 ? `This service has them keep all; ${above}.` : `This service has them keep all for ${logs?.duration} minutes from when it was last written; ${above}.`
}
