import { dayMs, formatTime } from '../time.ts'

export interface Greeted {
  readonly address: string
  /** Of a consumer of the sample data. */
  readonly key: string
  readonly sampleSince: number
  /** Signs in with that key, once. */
  readonly signInCode: string
}

export const signInAddress = ({ address, signInCode }: Pick<Greeted, 'address' | 'signInCode'>): string =>
  // Behind the #: browsers send it to nobody, and it is in no log.
  `${address}/sign-in#${signInCode}`

export function greeting(greeted: Greeted): string {
  const { address, key, sampleSince } = greeted
  return `
  Open the sample in a browser; this address signs you in, once, within an hour:
    ${signInAddress(greeted)}

  A consumer key for the sample data: ${key}

  Three commands to try:
${linesToTry(address, key, sampleSince)
  .map((line) => `    ${line}`)
  .join('\n')}

  Ctrl-C stops it; the data stays.
`
}

/**
 * The listing shows what came in within a day unless it is told otherwise: a window around the load shows the sample on
 * any later day too. It is as long as one may be, because the load may have been stopped and done later.
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
