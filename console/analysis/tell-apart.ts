interface Texts {
  readonly subjectIds: readonly string[]
  readonly documentIds: readonly string[]
}

/**
 * Posts may share a title, and a long document has several parts. Returns the words that tell each apart; null where
 * the title alone does.
 */
export function tellApart(
  { subjectIds, documentIds }: Texts,
  titleAt: (node: number) => string,
  factsAt: (node: number) => readonly string[],
): (node: number) => string | null {
  const alike = Map.groupBy(documentIds.keys(), titleAt)
  return (node) => {
    const [id, others] = [documentIds[node]!, alike.get(titleAt(node))!]
    if (others.length === 1) return null
    const parts = others
      .filter((other) => documentIds[other] === id)
      .sort((a, b) => (subjectIds[a]! < subjectIds[b]! ? -1 : 1))
    const isOneDocument = parts.length === others.length
    const number = parts.length === 1 ? [] : [`part ${parts.indexOf(node) + 1} of ${parts.length}`]
    return [...(isOneDocument ? [] : factsAt(node)), ...number].join(' · ')
  }
}
