import { Type } from 'typebox'

/** An `ETag` of ours. A proxy that compresses answers makes it a weak tag, which names the same state. */
const tagPattern = '^(W/)?"[A-Za-z0-9_-]{1,64}"$'

/** The headers of a request that replaces an object that others may have changed since it was read. */
export const IfMatchHeaders = Type.Object({
  'if-match': Type.Optional(
    Type.String({
      pattern: tagPattern,
      description:
        'Addition: the `ETag` of the response your change is based on. If the resource has changed since, nothing is written and the answer is 412 `precondition_failed`. Without the header the last write wins.',
    }),
  ),
})

/** Returns the condition of a change; empty if the caller sent none. */
export function conditionOf(headers: { readonly 'if-match'?: string | undefined }): { readonly ifTag?: string } {
  const named = /"(.*)"/.exec(headers['if-match'] ?? '')?.[1]
  return named === undefined ? {} : { ifTag: named }
}

/** Returns whether `If-None-Match` names this tag. A weak form counts as the same (RFC 9110, 13.1.2). */
export function namesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  return header.trim() === '*' || header.split(',').some((one) => one.trim().replace(/^W\//, '') === tag)
}
