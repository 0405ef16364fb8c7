export const moment = (time: string): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

export const count = (number: number): string => Math.round(number).toLocaleString()

export const counted = (number: number, one: string, many = `${one}s`): string =>
  `${count(number)} ${Math.round(number) === 1 ? one : many}`

/** Rounds to two significant digits below 100: 0.031, 3.1, 310. */
export const rate = (number: number): string => (number >= 100 ? count(number) : String(Number(number.toPrecision(2))))

/** Binary units, as in the server's messages. */
const sizes = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

export function size(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(sizes.length - 1, Math.floor(Math.log2(bytes) / 10))
  return `${rate(bytes / 1024 ** power)} ${sizes[power]}`
}

const units = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** Formats a duration in the largest unit of which it has at least one. */
export function span(seconds: number): string {
  const found = units.find(([, length]) => seconds >= length)
  return found === undefined ? counted(Math.max(0, seconds), 'second') : counted(seconds / found[1], found[0])
}

/** Formats the duration of a request. */
export const latency = (seconds: number): string => (seconds < 1 ? `${rate(seconds * 1000)} ms` : `${rate(seconds)} s`)

export const ago = (time: string, now = Date.now()): string => `${span((now - Date.parse(time)) / 1000)} ago`
