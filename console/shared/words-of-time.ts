/** A day as it is said here. */
export const dayInWords = (time: string): string =>
  new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

/** A moment on the reader's clock; to the second where moments are told apart. */
export const momentInWords = (time: string, { seconds = false } = {}): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: seconds ? 'medium' : 'short' })
