import { Type } from '../schema-types.ts'

/** Of a tag as answers have it. Proxies that compress make a weak one of it, which names the same state. */
const tagPattern = '^(W/)?"[A-Za-z0-9_-]{1,64}"$'

/** The headers of what replaces something that others may have changed since it was read. */
export const IfMatchHeaders = Type.Object({
  'if-match': Type.Optional(
    Type.String({
      pattern: tagPattern,
      description:
        'An addition: the `ETag` of the answer that the change was made from. Where another state stands by now, nothing is changed and it is 412 `precondition_failed`; without the header the last one wins.',
    }),
  ),
})

/** The condition of a change; nothing where the caller named none. */
export function conditionOf(headers: { readonly 'if-match'?: string | undefined }): { readonly ifTag?: string } {
  const named = /"(.*)"/.exec(headers['if-match'] ?? '')?.[1]
  return named === undefined ? {} : { ifTag: named }
}
