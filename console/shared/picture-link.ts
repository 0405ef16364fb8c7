import { type ComponentChild, h } from 'preact'
import { safeUrl } from './safe-url.ts'

/** A link to the picture of a document. Pages do not load pictures of other sites; their content policy forbids it. */
export function PictureLink({ address }: { readonly address: string | null | undefined }): ComponentChild {
  const href = safeUrl(address)
  return href === null ? null : h('a', { href, target: '_blank', rel: 'noreferrer' }, 'Picture')
}
