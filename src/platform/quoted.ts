/** Limits how much of a caller's text is repeated, because it may be as long as the whole request. */
export const shownCharactersMax = 200

export const shortened = (text: string): string =>
  text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text

/** Keys and tokens: a readable prefix and 40 characters. A part of a key that is long enough counts, too. */
const secret = /\b(tm[a-z]_[0-9a-z]{4})[0-9a-z]{8,}/g

/**
 * Quotes a value for an error or a question, as JSON, on one line. A key that was pasted in place of its ID is
 * shortened to the part that lists show.
 */
export const quoted = (text: string): string => JSON.stringify(shortened(text.replace(secret, '$1…')))
