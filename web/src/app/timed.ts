const timed = [/^\/services\/[^/]+/, /^\/pools\//, /^\/engines\//, /^\/(logs|events|security)$/]

/** Tells whether a page is about a range of time, which the frame lets its reader choose. */
export function isTimed(path: string): boolean {
  return timed.some((pattern) => pattern.test(path))
}
