import { readableFields, type Scope } from '../access/scope.ts'
import { knowsLanguage } from '../embedding/embedder.ts'
import type { LocatedText } from '../text/types.ts'
import type { Parts } from './explain.ts'
import type { FoundDocument } from './found-document.ts'
import { type Candidate, extremesOf, type Fused, fusion, qualityMargin } from './fuse.ts'
import { IdMap } from './id-map.ts'
import type { ChunkText, IndexSource, ResultDocument, ShownChunk } from './index-source.ts'
import { searchLimits as limits } from './limits.ts'
import { nthHighest } from './nth-highest.ts'
import { presentResults, showsDetails } from './present-results.ts'
import { rerankerOf } from './rerank.ts'
import type { VersionColumns } from './search-index.ts'
import type {
  CandidatesToRank,
  LikelyToRank,
  RankedCandidates,
  RankedPage,
  Ranking,
  ScoredCandidate,
  ShownParts,
  ToldCandidate,
} from './search-texts.ts'

type RankingSource = Pick<IndexSource, 'results' | 'versionHeads' | 'chunkTexts'>
type RankedPageSource = Pick<IndexSource, 'results' | 'versionHeads' | 'shownChunks'>
type ReadTexts = (chunkIds: readonly string[]) => Promise<Pick<IdMap<ChunkText>, 'get'>>

type ToldByIndex = Pick<VersionColumns, 'language' | 'publishedAt'>

interface FoundCandidate<Candidate = ScoredCandidate> {
  readonly candidate: Candidate
  readonly document: ResultDocument
}

interface FusedCandidate {
  readonly documentId: string
  readonly candidate: ScoredCandidate
  readonly document: VersionColumns
  readonly title: string | null
  readonly score: number
  readonly fusion: Parts
}

/** With what of its texts was read for its score, none of it where the reader may not see it. */
interface ReadCandidate extends Omit<FusedCandidate, 'title'> {
  readonly rerank: Parts
  readonly title: string
  readonly body: string
  readonly inBody: LocatedText | null
}

/** Candidates with both scores are fused, and the best of them reranked. The scores do not depend on the limit. */
export async function rankCandidates(
  source: RankingSource,
  ranking: CandidatesToRank,
  scope: Scope,
): Promise<RankedCandidates> {
  const fused = fusedCandidates(await documentsOf(source, ranking), ranking)
  const readTexts: ReadTexts = async (chunkIds) => byChunk(await source.chunkTexts(chunkIds))
  const ranked = await reranked(readTexts, fused, ranking, scope)
  return { found: ranked.map(foundOf), texts: textsOfBest(ranked, ranking.textsOf) }
}

/** Of those that were read: what only a long page has is not, so that what the best are does not depend on the limit. */
function textsOfBest(ranked: readonly ReadCandidate[], count: number): readonly string[] {
  let left = count
  return ranked.map(({ title, body }) => {
    const text = left === 0 ? '' : `${title}\n${body}`.trim()
    if (text !== '') left--
    return text
  })
}

/** The same, with their page: nearly all that it shows was read to rank them. */
export async function rankAndPresent(
  source: RankedPageSource,
  ranking: CandidatesToRank,
  shown: ShownParts,
  scope: Scope,
): Promise<RankedPage> {
  const withDetails = showsDetails(shown.fields)
  let known = new IdMap<ShownChunk>()
  const readTexts: ReadTexts = async (chunkIds) => {
    known = byChunk(await source.shownChunks(chunkIds, withDetails, scope))
    return known
  }
  const fused = fusedCandidates(await documentsOf(source, ranking), ranking)
  const ranked = await reranked(readTexts, fused, ranking, scope)
  return presented(source, known, ranked, ranking, shown, scope)
}

/**
 * The same of those that alone can be among the best, by what the index told: documents and texts are read at once. Of those
 * that only their quality can bring there it is read first, as far as what was read leaves room for them.
 */
export async function rankLikely(
  source: Pick<IndexSource, 'shownChunks' | 'results'>,
  ranking: LikelyToRank,
  shown: ShownParts,
  scope: Scope,
): Promise<RankedPage | null> {
  const { extremes, weights, nowMs, model, evidence } = ranking
  const scoreOf = fusion(extremes, weights, nowMs, model.cosines, evidence)
  const asCandidate = candidatesBy(ranking)
  const known = new IdMap<ShownChunk>()
  const fused: FusedCandidate[] = []
  /** False where the store says otherwise of one of them. */
  const readAll = async (candidates: readonly ToldCandidate[]): Promise<boolean> => {
    const chunkIds = candidates.map(({ chunkId }) => chunkId)
    const texts = await source.shownChunks(chunkIds, showsDetails(shown.fields), scope)
    for (const text of texts) known.add(text.chunkId, text)
    return candidates.every((candidate) => {
      const text = known.get(candidate.chunkId)
      if (text === undefined || !isAsTold(text.document, candidate)) return false
      const { keyword, cosine } = candidate
      const score = scoreOf(asCandidate(keyword, cosine, text.document, text.quality))
      fused.push(fusedCandidate(candidate, text.document, text.title, score))
      return true
    })
  }
  if (!(await readAll(ranking.candidates))) return null
  if (ranking.byQuality.length > 0) {
    const scores = Float64Array.from(fused, ({ score }) => score)
    const least = nthHighest(scores, Math.max(limits.rerankMax, ranking.limit))
    const scoreWith: ScoreWith = (one, quality) => scoreOf(asCandidate(one.keyword, one.cosine, one, quality)).score
    const raised = await raisedByQuality(source, ranking, scoreWith, least)
    if (raised === null || !(await readAll(raised))) return null
  }
  const ranked = await reranked(async () => known, fused.sort(byScore), ranking, scope)
  return presented(source, known, ranked, ranking, shown, scope)
}

type ScoreWith = (candidate: ToldCandidate, quality: number | null) => number

/** Those whose quality brings them to the least score that counts. Null where the store says otherwise of one of them. */
async function raisedByQuality(
  source: Pick<IndexSource, 'results'>,
  { byQuality, weights }: LikelyToRank,
  scoreWith: ScoreWith,
  least: number,
): Promise<readonly ToldCandidate[] | null> {
  const possible = byQuality.filter((one) => scoreWith(one, null) + qualityMargin(weights) >= least)
  const read = paired(possible, await source.results(possible.map(({ documentId }) => documentId)))
  if (read.length < possible.length) return null
  if (!read.every(({ candidate, document }) => isAsTold(document, candidate))) return null
  return read.flatMap(({ candidate, document }) => (scoreWith(candidate, document.quality) >= least ? candidate : []))
}

const isAsTold = (document: ToldByIndex, { language, publishedAt }: ToldByIndex): boolean =>
  document.language === language && document.publishedAt === publishedAt

function byChunk<Text extends ChunkText>(texts: readonly Text[]): IdMap<Text> {
  const known = new IdMap<Text>()
  for (const text of texts) known.add(text.chunkId, text)
  return known
}

/** Of the best. */
async function presented(
  source: Pick<IndexSource, 'shownChunks'>,
  known: IdMap<ShownChunk>,
  ranked: readonly ReadCandidate[],
  { query }: Ranking,
  shown: ShownParts,
  scope: Scope,
): Promise<RankedPage> {
  const found = ranked.map(foundOf)
  const shownChunks: IndexSource['shownChunks'] = async (chunkIds, ...asked) => {
    const texts = chunkIds.map((chunkId) => known.get(chunkId))
    const others = chunkIds.filter((_, i) => texts[i] === undefined)
    return [...texts.filter((text) => text !== undefined), ...(await source.shownChunks(others, ...asked))]
  }
  const located = new IdMap<LocatedText>()
  for (const { candidate, inBody } of ranked) if (inBody !== null) located.add(candidate.chunkId, inBody)
  return { found, page: await presentResults({ shownChunks }, { found, query, ...shown }, scope, located) }
}

function fusedCandidates(found: readonly FoundCandidate[], ranking: Ranking): FusedCandidate[] {
  const { weights, model, evidence } = ranking
  const asCandidate = candidatesBy(ranking)
  const candidates = found.map(({ candidate: { keyword, cosine }, document }) =>
    asCandidate(keyword, cosine, document, document.quality),
  )
  const first = candidates.filter((_, i) => !found[i]!.candidate.isFurther)
  const scoreOf = fusion(extremesOf(first), weights, Date.now(), model.cosines, evidence)
  return found
    .map(({ candidate, document }, i) => fusedCandidate(candidate, document, document.title, scoreOf(candidates[i]!)))
    .sort(byScore)
}

const fusedCandidate = (
  candidate: ScoredCandidate,
  document: VersionColumns,
  title: string | null,
  { score, parts }: Fused,
): FusedCandidate => ({ documentId: candidate.documentId, candidate, document, title, score, fusion: parts })

/** Makes candidates as they are fused, by what is known of their documents. What a language means is worked out once. */
export function candidatesBy({ languages, model, isLanguageKnown }: Ranking) {
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
    { language, publishedAt }: ToldByIndex,
    quality: number | null,
  ): Candidate => {
    const { languageKnown, languages } = meaningOf(language)
    return { keyword, cosine, quality, publishedAt, languageKnown, languages }
  }
}

function foundOf({ candidate, score, fusion, rerank }: ReadCandidate): FoundDocument {
  const { documentId, versionId, chunkId, keyword, cosine, others = [], explanation } = candidate
  return {
    documentId,
    best: { chunkId, versionId, score: keyword ?? cosine ?? 0 },
    others,
    score,
    keywordScore: keyword,
    vectorScore: cosine,
    rerankScore: score,
    explanation: explanation === undefined ? null : { ...explanation, fusion, rerank },
  }
}

/**
 * Candidates with their documents, as far as these are there. Where an earlier version was found they have the title and
 * the language of that one: it is what is read.
 */
async function documentsOf(
  source: Pick<RankingSource, 'results' | 'versionHeads'>,
  { candidates, documents }: Pick<CandidatesToRank, 'candidates' | 'documents'>,
): Promise<FoundCandidate[]> {
  const found = paired(candidates, documents ?? (await source.results(candidates.map(({ documentId }) => documentId))))
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

function paired<Candidate extends ScoredCandidate>(
  candidates: readonly Candidate[],
  documents: readonly ResultDocument[],
): FoundCandidate<Candidate>[] {
  const known = new IdMap<ResultDocument>()
  for (const document of documents) known.add(document.documentId, document)
  return candidates.flatMap((candidate) => {
    const document = known.get(candidate.documentId)
    return document === undefined ? [] : [{ candidate, document }]
  })
}

/** The best first, which are read; the others keep their order below. Texts that the reader may not see are not looked at. */
async function reranked(
  readTexts: ReadTexts,
  ranked: readonly FusedCandidate[],
  { text: queryText, query, rerankWeights, limit }: Ranking,
  scope: Scope,
): Promise<ReadCandidate[]> {
  const opened = ranked.map((fused) => {
    const readable = readableFields(scope, fused.document)
    const title = readable?.has('title') ? fused.title : null
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

/** More than the rounding of a score, and less than anybody sees. */
const justBelow = 1e-9

/** Those that only a long page has come after those of every page, with a score just below the last of them where it is higher. */
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
