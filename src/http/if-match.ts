import { Type } from '../schema-types.ts'

/** Of a tag as answers have it. Proxies that compress make a weak one of it, which names the same state. */
const tagPattern = '^(W/)?"[A-Za-z0-9_-]{1,64}"$'

/** The headers of what replaces something that others may have changed since it was read. */
export const IfMatchHeaders = Type.Object({
  'if-match': Type.Optional(
    Type.String({
      pattern: tagPattern,
      description:
        'Addition: the `ETag` of the response your change is based on. If the resource has changed since, nothing is written and the answer is 412 `precondition_failed`. Without the header the last write wins.',
    }),
  ),
})

/** The condition of a change; nothing where the caller named none. */
export function conditionOf(headers: { readonly 'if-match'?: string | undefined }): { readonly ifTag?: string } {
  const named = /"(.*)"/.exec(headers['if-match'] ?? '')?.[1]
  return named === undefined ? {} : { ifTag: named }
}
