/** Where parts tell an operator what they should know: fields, and a sentence. */
export interface Log {
  info(fields: object, sentence: string): void
  warn(fields: object, sentence: string): void
  error(fields: object, sentence: string): void
}
