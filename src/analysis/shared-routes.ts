import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { analysisTypes } from '../access/analysis-types.ts'
import type { Operation } from '../access/operations.ts'
import { policyDefaults } from '../access/policy-defaults.ts'
import { cursorParameter } from '../http/query-parameters.ts'
import { consumerOf } from '../http/route.ts'
import type { Cursors } from '../platform/cursors.ts'
import { type ErrorCode, invalidField } from '../platform/errors.ts'
import { choice, exactPattern, orNull, pageSize } from '../platform/validation.ts'
import { algorithmEntries } from './algorithms.ts'
import { type AnalysisRequest, analysisDisabledError } from './check-request.ts'
import { InputScope } from './input-scope.ts'
import { analysisLimits } from './limits.ts'

/** The options that the routes of runs and subscriptions share. */
export const analysisRoute = (operation: Operation, invalid: ErrorCode, ...errors: ErrorCode[]) =>
  ({ config: { operation, invalid, errors: ['analysis_forbidden', ...errors] }, preHandler: refuseIfDisabled }) as const

/** Also refuses the results of earlier runs, until the policy allows analysis again. */
function refuseIfDisabled(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void {
  done(analysisDisabledError(consumerOf(request)) ?? undefined)
}

export const about = (summary: string, description: string) => ({ tags: ['Analysis'], summary, description })

const named = (types: readonly string[]): string => types.map((type) => `\`${type}\``).join(', ')
const typesWithoutVectors = algorithmEntries.flatMap(([type, { needsVectors }]) => (needsVectors ? [] : [type]))

export const requestFields = {
  analysis_type: choice(analysisTypes, {
    description: `Only the types in \`analysis.types\` of the policy are executed (default: ${named(policyDefaults.analysisTypes)}); runs of other types end \`failed\`.`,
  }),
  embedding_profile_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 128,
      pattern: exactPattern,
      description: `The ID of an active embedding profile: \`GET /v1/account\` lists them. Required for every type except ${named(typesWithoutVectors)}.`,
    }),
  ),
  input_scope: InputScope,
}
const RequestFields = Type.Object(requestFields)

export const answerFields = {
  analysis_type: choice(analysisTypes),
  embedding_profile_id: orNull(Type.String()),
  input_scope: InputScope,
}
const AnswerFields = Type.Object(answerFields)

export const requestOf = (body: Static<typeof RequestFields>): AnalysisRequest => ({
  analysisType: body.analysis_type,
  embeddingProfileId: body.embedding_profile_id ?? null,
  inputScope: body.input_scope,
})

export const answerOf = (request: AnalysisRequest): Static<typeof AnswerFields> => ({
  analysis_type: request.analysisType,
  embedding_profile_id: request.embeddingProfileId,
  input_scope: request.inputScope,
})

/** Lists are ordered by id, newest first, with a signed cursor (keyset paging). */
export const pageParameters = {
  limit: pageSize(analysisLimits.pageMax, analysisLimits.pageDefault),
  cursor: cursorParameter('`next_cursor` of the previous page. Send the same other parameters.'),
}
const PageParameters = Type.Object(pageParameters)
export const nextCursor = Type.Optional(Type.String())

interface PageRequest {
  readonly cursors: Cursors
  /** Identifies the list. A cursor is only valid for the list that issued it. */
  readonly list: string
  readonly applicationId: string
  readonly conditions: readonly unknown[]
  readonly query: Static<typeof PageParameters>
  readonly invalid: ErrorCode
}

/** Reads a page and one item more, which shows whether another page follows. */
export async function readPage<Item>(
  { cursors, list, applicationId, conditions, query, invalid }: PageRequest,
  find: (range: { readonly before: string | null; readonly limit: number }) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
): Promise<{ readonly items: readonly Item[]; readonly next: { next_cursor?: string } }> {
  const { limit = analysisLimits.pageDefault, cursor } = query
  const binding = [list, applicationId, limit, ...conditions]
  const before = await openCursor(cursors, { path: 'cursor', cursor }, binding, invalid)
  const found = await find({ before, limit: limit + 1 })
  const items = found.slice(0, limit)
  const next = found.length > limit ? { next_cursor: cursors.sign(binding, idOf(items.at(-1)!)) } : {}
  return { items, next }
}

export async function openCursor(
  cursors: Cursors,
  given: { readonly path: string; readonly cursor: string | undefined },
  binding: unknown,
  invalid: ErrorCode,
): Promise<string | null> {
  if (given.cursor === undefined) return null
  const opened = await cursors.open<string>(given.cursor, binding)
  if (opened.ok) return opened.position
  const message = 'does not belong to this request: send next_cursor unchanged, with the same parameters'
  throw invalidField(invalid, given.path, message)
}
