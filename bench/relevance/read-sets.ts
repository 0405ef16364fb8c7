import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Grades } from './measures.ts'

/** A test collection. */
export interface RelevanceSet {
  readonly name: string
  readonly documents: readonly JudgedDocument[]
  /** The queries with at least one relevant document. */
  readonly queries: readonly { readonly text: string; readonly grades: Grades }[]
}

export interface JudgedDocument {
  readonly id: string
  readonly language: string
  readonly title: string
  readonly text: string
}

/**
 * Reads every set below the folder. Sets of one family (`xquad-en`, `xquad-de`) are also pooled into one, at the end of
 * the list.
 */
export function readSets(folder: string): RelevanceSet[] {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
  const sets = names.map((name) => readSet(join(folder, name), name))
  const families = Map.groupBy(sets, ({ name }) => name.split('-')[0]!)
  for (const [family, members] of families) if (members.length > 1) sets.push(pool(`${family} pooled`, members))
  return sets
}

function readSet(folder: string, name: string): RelevanceSet {
  const documents = lines<JudgedDocument>(join(folder, 'documents.jsonl'))
  const judged = new Map<string, Map<string, number>>()
  for (const line of readFileSync(join(folder, 'qrels.tsv'), 'utf8').split('\n')) {
    const [query, document, grade] = line.trim().split('\t')
    if (query === undefined || document === undefined || grade === undefined) continue
    judged.set(query, (judged.get(query) ?? new Map<string, number>()).set(document, Number(grade)))
  }
  const queries = lines<{ id: string; text: string }>(join(folder, 'queries.jsonl')).flatMap(({ id, text }) => {
    const grades = judged.get(id) ?? new Map<string, number>()
    return [...grades.values()].some((grade) => grade > 0) ? [{ text, grades }] : []
  })
  return { name, documents, queries }
}

/**
 * Returns the queries of one set of a family against the documents of another: `en to zh` of `xquad-en` and `xquad-zh`,
 * where a document and its translation have the same ID.
 */
export function directionsTo(set: RelevanceSet, sets: readonly RelevanceSet[]): RelevanceSet[] {
  const [family, language] = set.name.split('-')
  if (language === undefined) return []
  return sets.flatMap((other): RelevanceSet | [] => {
    const [otherFamily, otherLanguage] = other.name.split('-')
    if (otherFamily !== family || otherLanguage === undefined || other.name === set.name) return []
    return { name: `${otherLanguage} to ${language}`, documents: set.documents, queries: other.queries }
  })
}

/** Returns a set with at most this many of its queries, spread over it. */
export function sampled(set: RelevanceSet, limit: number): RelevanceSet {
  const every = Math.max(1, Math.ceil(set.queries.length / Math.max(1, limit)))
  return { ...set, queries: set.queries.filter((_, i) => i % every === 0) }
}

/** IDs are prefixed with the name of their set, so the same paragraph in another language is a miss. */
function pool(name: string, sets: readonly RelevanceSet[]): RelevanceSet {
  return {
    name,
    documents: sets.flatMap((set) => set.documents.map((one) => ({ ...one, id: `${set.name}/${one.id}` }))),
    queries: sets.flatMap((set) =>
      set.queries.map(({ text, grades }) => ({
        text,
        grades: new Map([...grades].map(([id, grade]) => [`${set.name}/${id}`, grade])),
      })),
    ),
  }
}

const lines = <T>(file: string): T[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as T)
