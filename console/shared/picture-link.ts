import { type ComponentChild, h } from 'preact'
import { safeUrl } from './safe-url.ts'

/** A link to the picture of a document. The content security policy keeps pages from loading pictures of other sites. */
export function PictureLink({ address }: { readonly address: string | null | undefined }): ComponentChild {
  const href = safeUrl(address)
  return href === null ? null : h('a', { href, target: '_blank', rel: 'noreferrer' }, 'Picture')
}
