import { readableFields, type Scope } from '../access/scope.ts'
import { knowsLanguage } from '../embedding/embedder.ts'
import type { Parts } from './explain.ts'
import { type Candidate, fuse } from './fuse.ts'
import type { ChunkText, IndexSource, ResultDocument } from './index-source.ts'
import { searchLimits as limits } from './limits.ts'
import { rerankerOf } from './rerank.ts'
import type { CandidatesToRank, RankedCandidate, ScoredCandidate } from './search-texts.ts'

type RankingSource = Pick<IndexSource, 'results' | 'versionHeads' | 'chunkTexts'>

interface FusedCandidate extends Candidate {
  readonly chunkId: string
  readonly document: ResultDocument
  readonly score: number
  readonly fusion: Parts
}

/** With what of its texts was read for its score, none of it where the reader may not see it. */
interface ReadCandidate extends FusedCandidate {
  readonly rerank: Parts
  readonly title: string
  readonly body: string
}

/** Candidates with both scores are fused, and the best of them reranked. The scores do not depend on the limit. */
export async function rankCandidates(
  source: RankingSource,
  ranking: CandidatesToRank,
  scope: Scope,
): Promise<RankedCandidate[]> {
  const { languages, model, isLanguageKnown, weights, evidence, limit, explain, textsOf } = ranking
  const candidates = (await documentsOf(source, ranking.candidates)).map(
    ({ document, candidate: { documentId, chunkId, keyword, cosine } }) => ({
      documentId,
      chunkId,
      keyword,
      cosine,
      quality: document.quality,
      publishedAt: document.publishedAt,
      languageKnown: isLanguageKnown && knowsLanguage(model, document.language),
      languages:
        languages === null || document.language === null
          ? ('unknown' as const)
          : languages.includes(document.language)
            ? ('same' as const)
            : ('other' as const),
      document,
    }),
  )
  const fused = fuse(candidates, weights, Date.now(), model.cosines, evidence)
  const ranked = candidates
    .map((candidate, i) => ({ ...candidate, score: fused[i]!.score, fusion: fused[i]!.parts }))
    .sort(byScore)
  return (await reranked(source, ranked, ranking, scope))
    .slice(0, limit)
    .map(({ documentId, score, fusion, rerank, title, body }, i) => ({
      documentId,
      score,
      parts: explain ? { fusion, rerank } : null,
      text: i < textsOf ? `${title}\n${body}`.trim() : null,
    }))
}

/**
 * Candidates with their documents, as far as these are there. Where an earlier version was found they have the title and
 * the language of that one: it is what is read.
 */
async function documentsOf(
  source: RankingSource,
  candidates: readonly ScoredCandidate[],
): Promise<{ readonly candidate: ScoredCandidate; readonly document: ResultDocument }[]> {
  const candidateOf = new Map(candidates.map((candidate) => [candidate.documentId, candidate]))
  const documents = await source.results([...candidateOf.keys()])
  const found = documents.map((document) => ({ candidate: candidateOf.get(document.documentId)!, document }))
  const earlier = found.filter(({ candidate, document }) => candidate.versionId !== document.currentVersionId)
  if (earlier.length === 0) return found
  const heads = await source.versionHeads(earlier.map(({ candidate }) => candidate.versionId))
  const headOf = new Map(heads.map((head) => [head.versionId, head]))
  return found.flatMap(({ candidate, document }) => {
    if (candidate.versionId === document.currentVersionId) return [{ candidate, document }]
    const head = headOf.get(candidate.versionId)
    return head === undefined
      ? []
      : [{ candidate, document: { ...document, title: head.title, language: head.language } }]
  })
}

/** Reads the best of them; the others keep their order below. Texts that the reader may not see are not looked at. */
async function reranked(
  source: RankingSource,
  ranked: readonly FusedCandidate[],
  { text: queryText, query, rerankWeights }: CandidatesToRank,
  scope: Scope,
): Promise<ReadCandidate[]> {
  const opened = ranked.map((one) => {
    const readable = readableFields(scope, one.document)
    return {
      ...one,
      title: readable?.has('title') ? one.document.title : null,
      hasBody: readable?.has('body') ?? false,
    }
  })
  const byWords = opened.filter(({ keyword }) => keyword !== null).sort((a, b) => b.keyword! - a.keyword!)
  const asked = queryText.toLowerCase()
  const sameTitle = opened.filter(({ title }) => title?.trim().toLowerCase() === asked)
  const head = new Set([
    ...opened.slice(0, limits.rerankMax),
    ...byWords.slice(0, limits.rerankByWordsMax),
    ...sameTitle.slice(0, limits.rerankByTitleMax),
  ])
  const texts = new Map<string, ChunkText>()
  const bodies = [...head].filter(({ hasBody }) => hasBody).map(({ chunkId }) => chunkId)
  for (const text of await source.chunkTexts(bodies)) texts.set(text.chunkId, text)
  const rerank = rerankerOf(query, queryText, rerankWeights)
  const read = opened.map((one) => {
    const title = head.has(one) ? (one.title ?? '') : ''
    const body = texts.get(one.chunkId)?.text ?? ''
    const { score, parts } = rerank({ score: one.score, title, body, language: one.document.language })
    return { ...one, title, body, score, rerank: parts }
  })
  return read.sort(byScore)
}

interface Scored {
  readonly documentId: string
  readonly score: number
}

/** The best first. */
export const byScore = (a: Scored, b: Scored): number => b.score - a.score || (a.documentId < b.documentId ? -1 : 1)
