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

/** A candidate with the texts that were read for its score; a text that the reader may not see is empty. */
interface ReadCandidate extends FusedCandidate {
  readonly rerank: Parts
  readonly title: string
  readonly body: string
  readonly inBody: LocatedText | null
}

/**
 * Fuses candidates with both scores and reranks the best of them. The scores do not depend on the limit. The page needs
 * little more than the ranking has read already.
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
 * The texts of the best reranked candidates. Candidates that only a long page has are not reranked, so the best do not
 * depend on the limit.
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

/** The page of the best. Reads only chunks that were not read before. */
async function presented(
  source: Pick<SearchSource, 'shownChunks'>,
  known: IdMap<ShownChunk>,
  ranked: readonly ReadCandidate[],
  page: FoundPage,
  scope: Scope,
): Promise<PresentedPage> {
  const shownChunks: SearchSource['shownChunks'] = async (chunkIds, ...asked) => {
    const texts = chunkIds.map((chunkId) => known.get(chunkId))
    const others = chunkIds.filter((_, i) => texts[i] === undefined)
    return [...texts.filter((text) => text !== undefined), ...(await source.shownChunks(others, ...asked))]
  }
  const located = new IdMap<LocatedText>()
  for (const { candidate, inBody } of ranked) if (inBody !== null) located.add(candidate.chunkId, inBody)
  return presentResults({ shownChunks }, page, scope, located)
}

function fusedCandidates(found: readonly FoundCandidate[], ranking: Ranking): FusedCandidate[] {
  const { weights, model, evidence } = ranking
  const asCandidate = candidatesBy(ranking)
  const candidates = found.map(({ candidate: { keyword, cosine }, document }) => asCandidate(keyword, cosine, document))
  const first = candidates.filter((_, i) => !found[i]!.candidate.isFurther)
  const scoreOf = fusion(extremesOf(first), weights, Date.now(), model.cosines, evidence)
  return found
    .map(({ candidate, document }, i) => {
      const { score, parts } = scoreOf(candidates[i]!)
      return { documentId: candidate.documentId, candidate, document, score, fusion: parts }
    })
    .sort(byScore)
}

/**
 * Makes the input of the fusion from a candidate and its document. The comparison of languages is computed once for
 * each language.
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
 * Candidates with their documents, if these still exist. A candidate that is an earlier version has the title and the
 * language of that version, because that is the text that is reranked.
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

/** Reranks the best candidates; the others follow in their order. Texts that the reader may not see are not read. */
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
  const first = opened.filter(({ fused }) => !fused.candidate.isFurther)
  const byWords = first.filter((one) => keywordOf(one) !== null).sort((a, b) => keywordOf(b)! - keywordOf(a)!)
  const asked = queryText.toLowerCase()
  const sameTitle = first.filter(({ title }) => title?.trim().toLowerCase() === asked)
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
  return furtherBehind(read.sort(byScore)).slice(0, limit)
}

/** More than the rounding error of a score, and less than a visible difference. */
const justBelow = 1e-9

/**
 * Puts candidates that only a long page has after those of every page. A higher score is lowered to just below the last
 * of these.
 */
function furtherBehind(ranked: ReadCandidate[]): ReadCandidate[] {
  const last = ranked.findLast(({ candidate }) => !candidate.isFurther)
  if (last === undefined || ranked.every(({ candidate }) => !candidate.isFurther)) return ranked
  const most = Math.max(0, last.score - justBelow)
  const behind = (one: ReadCandidate): ReadCandidate => {
    if (!one.candidate.isFurther || one.score <= most) return one
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
