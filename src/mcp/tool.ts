import { type Static, type TProperties, Type } from 'typebox'
import { strict } from '../platform/validation.ts'
import type { Api } from './api.ts'
import { tokenLimits } from './token-budget.ts'

/** A tool of the Model Context Protocol. The routes that it calls enforce entitlements and rate limits. */
export interface Tool {
  readonly name: string
  readonly title: string
  /** For the agent: when to use the tool, and how to continue from its answer. */
  readonly description: string
  readonly input: object
  /** True if the tool creates something; otherwise it only reads. */
  readonly creates: boolean
  /** True if its answers have a field `quoted`. */
  readonly quotes: boolean
  /** Returns the answer, which is sent as JSON and takes at most `tokens`. */
  run(input: never, api: Api, tokens: number): Promise<object>
}

const budget = {
  max_tokens: Type.Optional(
    Type.Integer({
      minimum: tokenLimits.min,
      maximum: tokenLimits.max,
      default: tokenLimits.default,
      description:
        'The maximum size of the response. What does not fit is listed by ID, or continues at `next_offset`.',
    }),
  ),
}

export function tool<const Fields extends TProperties>(
  about: Omit<Tool, 'input' | 'creates' | 'run'> & { readonly creates?: true; readonly fields: Fields },
  run: (input: Static<ReturnType<typeof Type.Object<Fields>>>, api: Api, tokens: number) => Promise<object>,
): Tool {
  const { fields, creates = false, ...others } = about
  return { ...others, creates, input: Type.Object({ ...fields, ...budget }, strict), run: run as Tool['run'] }
}

/** A parameter with a list of codes. */
export const codes = (description: string) =>
  Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 128, pattern: '^[^,]*$' }), {
      minItems: 1,
      maxItems: 50,
      description,
    }),
  )

export const time = (description: string) =>
  Type.Optional(
    Type.String({ format: 'date-time', description: `${description} RFC 3339, such as 2026-11-15T00:00:00Z.` }),
  )

export const cursor = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 4096, description }))

export const listLength = (most: number, fallback: number) =>
  Type.Integer({ minimum: 1, maximum: most, default: fallback, description: 'The maximum number.' })
