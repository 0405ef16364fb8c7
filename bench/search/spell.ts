/** The words of the index bench all begin with one letter; real ones do not, and how words begin matters to highlights. */
export function spell(term: string): string {
  const rank = Number.parseInt(term.slice(1), 36)
  return letter(rank * 7) + letter(Math.floor(rank / 26) * 5 + rank) + term
}

const letter = (number: number): string => String.fromCharCode(0x61 + (number % 26))
