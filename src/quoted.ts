/** What a caller made up may be as long as its whole request. */
export const shownCharactersMax = 200

export const shortened = (text: string): string =>
  text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text

/** A value as an error or a question names it: as JSON writes it, on one line. */
export const quoted = (text: string): string => JSON.stringify(shortened(text))
