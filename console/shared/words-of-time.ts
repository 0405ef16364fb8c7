/** A day as it is said here. */
export const dayInWords = (time: string): string =>
  new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium', timeZone: 'UTC' })
