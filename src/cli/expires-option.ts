import { InvalidArgumentError, Option } from 'commander'
import { dayMs, formatTime, parseTime } from '../platform/time.ts'

/** Returns an example that is always in the future. */
const example = (): string => `${formatTime(Date.now() + 365 * dayMs).slice(0, 10)}T00:00:00Z`

export const expiresOption = (): Option =>
  new Option('--expires <time>', `when it expires, such as ${example()} (default: never)`).argParser((text) => {
    const time = parseTime(text)
    if (time !== null && time > Date.now()) return time
    throw new InvalidArgumentError(`It must be a time in the future, such as ${example()}.`)
  })
