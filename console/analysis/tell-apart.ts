interface Texts {
  readonly subjectIds: readonly string[]
  readonly documentIds: readonly string[]
}

/**
 * Returns a function that gives the words which tell a text from others of the same title: facts of its document, and
 * the number of the part in a long one. It returns null if the title is unique.
 */
export function tellApart(
  { subjectIds, documentIds }: Texts,
  titleAt: (node: number) => string,
  factsAt: (node: number) => readonly string[],
): (node: number) => string | null {
  const sameTitle = Map.groupBy(documentIds.keys(), titleAt)
  return (node) => {
    const [id, others] = [documentIds[node]!, sameTitle.get(titleAt(node))!]
    if (others.length === 1) return null
    const parts = others
      .filter((other) => documentIds[other] === id)
      .sort((a, b) => (subjectIds[a]! < subjectIds[b]! ? -1 : 1))
    const isOneDocument = parts.length === others.length
    const number = parts.length === 1 ? [] : [`part ${parts.indexOf(node) + 1} of ${parts.length}`]
    return [...(isOneDocument ? [] : factsAt(node)), ...number].join(' · ')
  }
}
