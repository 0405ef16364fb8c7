/** The words of the index bench all begin with one letter; real ones do not, and how words begin matters to highlights. */
export function spell(term: string): string {
  const rank = Number.parseInt(term.slice(1), 36)
  return String.fromCharCode(0x61 + ((rank * 7) % 26)) + term
}
