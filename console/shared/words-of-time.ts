/** A day as it is said here. */
export const dayInWords = (time: string): string =>
  new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

/** A moment as it is said here, in the time of the reader. */
export const momentInWords = (time: string): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
