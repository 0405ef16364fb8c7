/**
 * Characters that are invisible, move the cursor, or change text direction. Names chosen by others could use them to
 * make a terminal show false output.
 */
const unseen = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

const escaped = (text: string): string =>
  text.replaceAll(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Replaces such characters with JSON escapes, so that JSON keeps its meaning. Keeps newlines and tabs. */
export const printable = (text: string): string => text.replaceAll(unseen, escaped)

/** Also escapes line breaks, for text such as file names. */
export const printableOnOneLine = (text: string): string => printable(text).replaceAll(/[\n\t]/g, escaped)
