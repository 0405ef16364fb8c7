// Created once, because creating a format costs far more than using it, and a list has a date in every row.

const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const second = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** Formats a time. Returns an invalid one unchanged. */
const formatted = (format: Intl.DateTimeFormat, time: string): string => {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : format.format(ms)
}

/** Formats a day in UTC. */
export const dayInWords = (time: string): string => formatted(day, time)

/** Formats a moment in the reader's time zone, optionally with seconds. */
export const momentInWords = (time: string, { seconds = false } = {}): string =>
  formatted(seconds ? second : minute, time)
