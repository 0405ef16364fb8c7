import { readableFields, type Scope } from '../../access/scope.ts'
import { knowsLanguage } from '../../embedding/embedder.ts'
import type { LocatedText } from '../../text/types.ts'
import { type Candidate, extremesOf, fusion } from '../fuse/fusion.ts'
import { IdMap } from '../id-map.ts'
import { searchLimits as limits } from '../limits.ts'
import type { Parts } from '../present/explain.ts'
import { foundDocument, type ScoredCandidate } from '../present/found-document.ts'
import { presentResults, showsDetails } from '../present/present-results.ts'
import type { ChunkText, ResultDocument, SearchSource, ShownChunk } from '../search-source.ts'
import type { CandidatesToRank, FoundPage, PresentedPage, Ranked, Ranking, ShownParts } from '../search-texts.ts'
import { rerankerOf } from './reranker.ts'

type RankingSource = Pick<SearchSource, 'results' | 'versionHeads' | 'chunkTexts' | 'shownChunks'>
type ReadTexts = (chunkIds: readonly string[]) => Promise<Pick<IdMap<ChunkText>, 'get'>>

interface FoundCandidate {
  readonly candidate: ScoredCandidate
  readonly document: ResultDocument
}

interface FusedCandidate {
  readonly documentId: string
  readonly candidate: ScoredCandidate
  readonly document: ResultDocument
  readonly score: number
  readonly fusion: Parts
}

/** A candidate with the texts that were read for its score. A text that the caller may not read is empty. */
interface ReadCandidate extends FusedCandidate {
  readonly rerank: Parts
  readonly title: string
  readonly body: string
  readonly inBody: LocatedText | null
}

/**
 * Fuses candidates with both scores and reranks the best of them. The scores do not depend on the limit. If `shown` is
 * given, the page is made from the chunks that the ranking has already read, and a few more.
 */
export async function rankCandidates(
  source: RankingSource,
  ranking: CandidatesToRank,
  shown: ShownParts | null,
  scope: Scope,
): Promise<Ranked> {
  let known = new IdMap<ShownChunk>()
  const readTexts: ReadTexts = async (chunkIds) => {
    if (shown === null) return byChunk(await source.chunkTexts(chunkIds))
    known = byChunk(await source.shownChunks(chunkIds, showsDetails(shown.fields), scope))
    return known
  }
  const fused = fusedCandidates(await documentsOf(source, ranking), ranking)
  const ranked = await reranked(readTexts, fused, ranking, scope)
  const found = ranked.map((one) => foundDocument(one.candidate, one))
  if (shown === null) return { found, texts: textsOfBest(ranked, ranking.textsOf), page: null }
  const page = await presented(source, known, ranked, { found, query: ranking.query, ...shown }, scope)
  return { found, texts: [], page }
}

/**
 * The texts of the best reranked candidates, empty for the others. Extra candidates are not reranked, so the best do
 * not depend on the limit.
 */
function textsOfBest(ranked: readonly ReadCandidate[], count: number): readonly string[] {
  let left = count
  return ranked.map(({ title, body }) => {
    const text = left === 0 ? '' : `${title}\n${body}`.trim()
    if (text !== '') left--
    return text
  })
}

function byChunk<Text extends ChunkText>(texts: readonly Text[]): IdMap<Text> {
  const known = new IdMap<Text>()
  for (const text of texts) known.add(text.chunkId, text)
  return known
}

/** Makes the page. Reads only chunks that the ranking has not read. */
async function presented(
  source: Pick<SearchSource, 'shownChunks'>,
  known: IdMap<ShownChunk>,
  ranked: readonly ReadCandidate[],
  page: FoundPage,
  scope: Scope,
): Promise<PresentedPage> {
  const shownChunks: SearchSource['shownChunks'] = async (chunkIds, ...more) => {
    const texts = chunkIds.map((chunkId) => known.get(chunkId))
    const others = chunkIds.filter((_, i) => texts[i] === undefined)
    return [...texts.filter((text) => text !== undefined), ...(await source.shownChunks(others, ...more))]
  }
  const located = new IdMap<LocatedText>()
  for (const { candidate, inBody } of ranked) if (inBody !== null) located.add(candidate.chunkId, inBody)
  return presentResults({ shownChunks }, page, scope, located)
}

function fusedCandidates(found: readonly FoundCandidate[], ranking: Ranking): FusedCandidate[] {
  const { weights, model, evidence } = ranking
  const asCandidate = candidatesBy(ranking)
  const candidates = found.map(({ candidate: { keyword, cosine }, document }) => asCandidate(keyword, cosine, document))
  const first = candidates.filter((_, i) => !found[i]!.candidate.isExtra)
  const scoreOf = fusion(extremesOf(first), weights, Date.now(), model.cosines, evidence)
  return found
    .map(({ candidate, document }, i) => {
      const { score, parts } = scoreOf(candidates[i]!)
      return { documentId: candidate.documentId, candidate, document, score, fusion: parts }
    })
    .sort(byScore)
}

/**
 * Returns a function that makes the input of the fusion from a candidate and its document. Languages are compared once
 * each.
 */
function candidatesBy({ languages, model, isLanguageKnown }: Ranking) {
  const known = new Map<string | null, Pick<Candidate, 'languageKnown' | 'languages'>>()
  const meaningOf = (language: string | null) => {
    let meaning = known.get(language)
    if (meaning === undefined) {
      const isUnknown = languages === null || language === null
      meaning = {
        languageKnown: isLanguageKnown && knowsLanguage(model, language),
        languages: isUnknown ? 'unknown' : languages.includes(language) ? 'same' : 'other',
      }
      known.set(language, meaning)
    }
    return meaning
  }
  return (
    keyword: number | null,
    cosine: number | null,
    { language, publishedAt, quality }: ResultDocument,
  ): Candidate => {
    const { languageKnown, languages } = meaningOf(language)
    return { keyword, cosine, quality, publishedAt, languageKnown, languages }
  }
}

/**
 * Candidates with their documents, without documents that were removed. If the candidate is an earlier version, the
 * document gets its title and language, because that version is reranked.
 */
async function documentsOf(
  source: Pick<RankingSource, 'results' | 'versionHeads'>,
  { candidates }: CandidatesToRank,
): Promise<FoundCandidate[]> {
  const known = new IdMap<ResultDocument>()
  const documents = await source.results(candidates.map(({ documentId }) => documentId))
  for (const document of documents) known.add(document.documentId, document)
  const found = candidates.flatMap((candidate): FoundCandidate | [] => {
    const document = known.get(candidate.documentId)
    return document === undefined ? [] : { candidate, document }
  })
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

/** Reranks the best candidates; the others follow in their order. Texts that the caller may not read are not used. */
async function reranked(
  readTexts: ReadTexts,
  ranked: readonly FusedCandidate[],
  { text: queryText, query, rerankWeights, limit }: Ranking,
  scope: Scope,
): Promise<ReadCandidate[]> {
  const opened = ranked.map((fused) => {
    const readable = readableFields(scope, fused.document)
    const title = readable?.has('title') ? fused.document.title : null
    return { fused, title, hasBody: readable?.has('body') ?? false }
  })
  const keywordOf = ({ fused }: (typeof opened)[number]) => fused.candidate.keyword
  const first = opened.filter(({ fused }) => !fused.candidate.isExtra)
  const byWords = first.filter((one) => keywordOf(one) !== null).sort((a, b) => keywordOf(b)! - keywordOf(a)!)
  const lowerCaseQuery = queryText.toLowerCase()
  const sameTitle = first.filter(({ title }) => title?.trim().toLowerCase() === lowerCaseQuery)
  const head = new Set([
    ...first.slice(0, limits.rerankMax),
    ...byWords.slice(0, limits.rerankByWordsMax),
    ...sameTitle.slice(0, limits.rerankByTitleMax),
  ])
  const bodies = [...head].filter(({ hasBody }) => hasBody).map(({ fused }) => fused.candidate.chunkId)
  const texts = await readTexts(bodies)
  const rerank = rerankerOf(query, queryText, rerankWeights)
  const read = opened.map((one): ReadCandidate => {
    const { documentId, candidate, document, fusion, score: before } = one.fused
    const isRead = head.has(one)
    const title = (isRead ? one.title : null) ?? ''
    const body = (isRead && one.hasBody ? texts.get(candidate.chunkId)?.text : null) ?? ''
    const { score, parts, inBody } = rerank({ score: before, title, body, language: document.language })
    return { documentId, candidate, document, fusion, rerank: parts, title, body, inBody, score }
  })
  return extrasLast(read.sort(byScore)).slice(0, limit)
}

/** Larger than the rounding error of a score, and too small to be a visible difference. */
const justBelow = 1e-9

/**
 * Puts extra candidates after all others. If an extra candidate has a higher score than the last of the others, its
 * score is lowered to just below that one's.
 */
function extrasLast(ranked: ReadCandidate[]): ReadCandidate[] {
  const last = ranked.findLast(({ candidate }) => !candidate.isExtra)
  if (last === undefined || ranked.every(({ candidate }) => !candidate.isExtra)) return ranked
  const most = Math.max(0, last.score - justBelow)
  const behind = (one: ReadCandidate): ReadCandidate => {
    if (!one.candidate.isExtra || one.score <= most) return one
    const share = most / one.score
    return { ...one, score: most, fusion: scaled(one.fusion, share), rerank: scaled(one.rerank, share) }
  }
  return ranked.map(behind).sort(byScore)
}

export const scaled = (parts: Parts, factor: number): Parts =>
  Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part * factor]))

interface Scored {
  readonly documentId: string
  readonly score: number
}

const byId = (a: Pick<Scored, 'documentId'>, b: Pick<Scored, 'documentId'>): number =>
  a.documentId < b.documentId ? -1 : 1
/** The best first. */
export const byScore = (a: Scored, b: Scored): number => b.score - a.score || byId(a, b)
