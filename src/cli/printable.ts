/**
 * What cannot be seen, moves the cursor, or changes the direction of the text around it: with these, names that others
 * choose could make a terminal show something else than what is said.
 */
const unseen = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

const escaped = (text: string): string =>
  text.replaceAll(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** With escapes instead, as JSON has them too: what is JSON stays the same JSON. Newlines and tabs are the caller's own. */
export const printable = (text: string): string => text.replaceAll(unseen, escaped)

/** The same for what must not begin a new line, such as the name of a file. */
export const printableOnOneLine = (text: string): string => printable(text).replaceAll(/[\n\t]/g, escaped)
