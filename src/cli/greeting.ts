import { dayMs, formatTime } from '../platform/time.ts'

export interface Greeted {
  readonly address: string
  /** An application key for the sample data. */
  readonly key: string
  readonly sampleSince: number
  /** The data folder, or null if there is none. */
  readonly dataDir: string | null
  /** A code that signs in with that key, once. */
  readonly signInCode: string
}

export const signInAddress = ({ address, signInCode }: Pick<Greeted, 'address' | 'signInCode'>): string =>
  // After the #: browsers do not send it to servers, so it is in no log.
  `${address}/sign-in#${signInCode}`

export function greeting(greeted: Greeted): string {
  const { address, key, sampleSince, dataDir } = greeted
  const kept = dataDir === null ? '' : ` in ${dataDir}, where other commands find it with --data-dir`
  return `
  Open the sample in a browser; this address signs you in, once, within an hour:
    ${signInAddress(greeted)}

  An application key for the sample data: ${key}

  Three commands to try:
${linesToTry(address, key, sampleSince)
  .map((line) => `    ${line}`)
  .join('\n')}

  Ctrl-C stops it; the data stays${kept}.
`
}

/**
 * Browse lists the last day by default. A window around the load also shows the sample on any later day. It has the
 * greatest allowed length, because a load may be stopped and resumed later.
 */
function linesToTry(address: string, key: string, sampleSince: number): readonly string[] {
  const authorized = `-H 'Authorization: Bearer ${key}'`
  const from = Math.floor(sampleSince / dayMs) * dayMs
  const window = `created_from=${wholeSeconds(from)}&created_to=${wholeSeconds(from + 31 * dayMs)}`
  return [
    `curl -s ${address}/v1/search ${authorized} -H 'Content-Type: application/json' -d '{"query": "tidal power", "mode": "hybrid", "limit": 3, "include_highlights": true}'`,
    `curl -s '${address}/v1/documents/browse?tags=strike&limit=3&${window}' ${authorized}`,
    `curl -s '${address}/v1/changes?limit=5' ${authorized}`,
  ]
}

const wholeSeconds = (timeMs: number): string => formatTime(timeMs).replace('.000', '')
