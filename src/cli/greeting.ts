import { dayMs, formatTime } from '../platform/time.ts'

export interface Greeted {
  readonly address: string
  /** An application key for the sample data. */
  readonly key: string
  readonly sampleSince: number
  /** The data folder, or null if there is none. */
  readonly dataDir: string | null
  /** A one-time code that signs in with that key. */
  readonly signInCode: string
}

export const signInAddress = ({ address, signInCode }: Pick<Greeted, 'address' | 'signInCode'>): string =>
  // Browsers do not send the part after # to servers, so the code appears in no log.
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
 * The address of Browse has a time window from the day of the load, because by default Browse lists only the last day.
 * The window has the maximum length, because a load may be stopped and resumed later.
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
