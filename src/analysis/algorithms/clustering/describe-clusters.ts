import { foldAccents } from '../../../text/fold-word.ts'
import { baseLanguage } from '../../../text/stem-word.ts'
import { isStopWord } from '../../../text/stop-words.ts'
import type { InputDocument } from '../../algorithm.ts'
import type { Nodes } from '../knn-graph/cosine.ts'
import type { Vocabulary } from './vocabulary.ts'

/** A chunk of the input, with what is needed to describe its cluster. */
export interface ClusteredRow {
  readonly chunkId: string
  readonly documentId: string
  readonly versionId: string
  readonly document: InputDocument
  /** Word numbers from the `Vocabulary`, each once. */
  readonly words: Uint32Array
  /** Its node number, the same for equal vectors; null for a vector without direction. */
  node: number | null
}

export interface Cluster {
  readonly clusterId: string
  readonly rows: readonly ClusteredRow[]
  readonly documents: ReadonlyMap<string, InputDocument>
  readonly words: readonly string[]
  readonly centralDocumentIds: readonly string[]
}

const wordsMax = 10
const centralMax = 5
/** A word in a single chunk says nothing about a topic. */
const chunksOfWordMin = 2

/** Describes clusters. The ID of each is that of its most central chunk. */
export function describeClusters(
  members: readonly (readonly ClusteredRow[])[],
  others: readonly ClusteredRow[],
  nodes: Nodes,
  vocabulary: Vocabulary,
): Cluster[] {
  const wordsOf = characteristicWords([...members, others], vocabulary)
  return members.map((rows, i) => {
    const central = byCentrality(rows, nodes)
    const centralDocumentIds = [...new Set(central.map(({ documentId }) => documentId))].slice(0, centralMax)
    const documents = new Map(rows.map(({ documentId, document }) => [documentId, document]))
    return { clusterId: central[0]!.chunkId, rows, documents, words: wordsOf[i]!, centralDocumentIds }
  })
}

/** Sorts by similarity to the mean direction of the cluster. */
function byCentrality(rows: readonly ClusteredRow[], { vectors, dimensions }: Nodes): ClusteredRow[] {
  const vectorOf = (row: ClusteredRow) => vectors.subarray(row.node! * dimensions, (row.node! + 1) * dimensions)
  const lengthOf = (vector: Float32Array) => Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  const mean = new Float64Array(dimensions)
  const lengths = rows.map((row) => lengthOf(vectorOf(row)))
  for (const [i, row] of rows.entries()) {
    for (const [at, value] of vectorOf(row).entries()) mean[at]! += value / lengths[i]!
  }
  return rows
    .map((row, i) => {
      let product = 0
      for (const [at, value] of vectorOf(row).entries()) product += value * mean[at]!
      return { row, similarity: product / lengths[i]! }
    })
    .sort((a, b) => b.similarity - a.similarity || (a.row.chunkId < b.row.chunkId ? -1 : 1))
    .map(({ row }) => row)
}

/**
 * Class-based tf-idf (c-TF-IDF, as in BERTopic): the weight of a word is its share in the class, reduced by its
 * frequency in all classes. Words are counted by stem, as the number of chunks that contain them, and shown in their
 * most frequent form in the class.
 */
function characteristicWords(
  classes: readonly (readonly ClusteredRow[])[],
  vocabulary: Vocabulary,
): (readonly string[])[] {
  const counted = classes.map((rows) => {
    const stems = new Map<number, { chunks: number; readonly forms: Map<number, number> }>()
    for (const { words } of rows) {
      const seen = new Set<number>()
      for (const word of words) {
        const stem = vocabulary.stemOf(word)
        const own = stems.get(stem) ?? { chunks: 0, forms: new Map<number, number>() }
        stems.set(stem, own)
        own.forms.set(word, (own.forms.get(word) ?? 0) + 1)
        if (!seen.has(stem)) own.chunks++
        seen.add(stem)
      }
    }
    return stems
  })
  const chunksPerStem = new Map<number, number>()
  for (const stems of counted) {
    for (const [stem, { chunks }] of stems) chunksPerStem.set(stem, (chunksPerStem.get(stem) ?? 0) + chunks)
  }
  const average = classes.reduce((sum, rows) => sum + rows.length, 0) / classes.length
  return counted.map((stems, i) =>
    [...stems]
      .filter(([, { chunks }]) => chunks >= chunksOfWordMin)
      .map(([stem, { chunks, forms }]) => ({
        weight: chunks * Math.log1p(average / chunksPerStem.get(stem)!),
        form: mostFrequentForm(forms, vocabulary),
      }))
      .sort((a, b) => b.weight - a.weight || (a.form < b.form ? -1 : 1))
      .filter(isNoStopWordOf(classes[i]!))
      .slice(0, wordsMax)
      .map(({ form }) => form),
  )
}

/**
 * Returns a filter that drops stop words of all languages of the cluster. Names carry them into texts of other
 * languages, such as `de` into English.
 */
function isNoStopWordOf(rows: readonly ClusteredRow[]): (word: { readonly form: string }) => boolean {
  const languages = new Set(rows.flatMap(({ document }) => baseLanguage(document.language) ?? []))
  return ({ form }) => {
    const folded = foldAccents(form)
    return ![...languages].some((language) => isStopWord(folded, language))
  }
}

function mostFrequentForm(forms: ReadonlyMap<number, number>, vocabulary: Vocabulary): string {
  const [first] = [...forms]
    .map(([word, count]) => ({ form: vocabulary.formOf(word), count }))
    .sort((a, b) => b.count - a.count || (a.form < b.form ? -1 : 1))
  return first!.form
}
