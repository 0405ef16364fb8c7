export type RangeAnswer =
  | { readonly kind: 'whole' }
  | { readonly kind: 'part'; readonly start: number; readonly end: number }
  | { readonly kind: 'unsatisfiable' }

/**
 * Parses a `Range` header (RFC 9110, 14.2). Anything but one range of bytes is ignored, because several ranges would
 * need a multipart response, which no client of artifacts requests. `end` is inclusive.
 */
export function rangeOf(header: string | undefined, size: number): RangeAnswer {
  const found = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '')
  if (found === null || (found[1] === '' && found[2] === '')) return { kind: 'whole' }
  const [, from, to] = found
  if (from === '') {
    const last = Number(to)
    if (last === 0 || size === 0) return { kind: 'unsatisfiable' }
    return { kind: 'part', start: Math.max(0, size - last), end: size - 1 }
  }
  const start = Number(from)
  if (to !== '' && Number(to) < start) return { kind: 'whole' }
  if (start >= size) return { kind: 'unsatisfiable' }
  return { kind: 'part', start, end: to === '' ? size - 1 : Math.min(size - 1, Number(to)) }
}
