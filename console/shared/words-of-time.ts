/** A format is made once: that takes fifty times as long as to use it, and a list has a day in every row. */
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const second = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** What is no time is said as it stands. */
const said = (format: Intl.DateTimeFormat, time: string): string => {
  const ms = Date.parse(time)
  return Number.isNaN(ms) ? time : format.format(ms)
}

/** A day as it is said here. */
export const dayInWords = (time: string): string => said(day, time)

/** A moment on the reader's clock; to the second where moments are told apart. */
export const momentInWords = (time: string, { seconds = false } = {}): string => said(seconds ? second : minute, time)
