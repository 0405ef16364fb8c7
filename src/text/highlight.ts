import { bestWindows } from './best-windows.ts'
import { findHits, type Hit } from './find-hits.ts'
import type { TextRange } from './split-sentences.ts'
import type { KeywordQuery } from './types.ts'

export type HighlightOptions = {
  maxFragments: number
  /** UTF-16 units of text in a fragment, marks and escapes not counted. */
  fragmentLength: number
}

const DEFAULT_OPTIONS: HighlightOptions = { maxFragments: 3, fragmentLength: 160 }

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * The parts of a text that show best why it matched: HTML-escaped, each hit in `<em>…</em>`. A word is marked as it
 * stands in the text, however it was stemmed or folded; a phrase gets one mark. Nothing matched: no fragment. `hits` is
 * for callers that know them already.
 */
export function highlight(
  text: string,
  language: string | null,
  query: KeywordQuery,
  options: Partial<HighlightOptions> = {},
  hits: readonly Hit[] = findHits(text, language, query),
): string[] {
  const { maxFragments, fragmentLength } = { ...DEFAULT_OPTIONS, ...options }
  const marks = mergeHits(hits)
  return bestWindows(text, hits, maxFragments, fragmentLength).map((window) => markFragment(text, window, marks))
}

/**
 * Plain text (not escaped) of at most `maxLength` UTF-16 units around the best match; the start of the text when
 * nothing in it matched, the whole text when it is short enough.
 */
export function summarise(
  text: string,
  language: string | null,
  query: KeywordQuery,
  maxLength: number,
  known?: readonly Hit[],
): string {
  const whole = text.trim()
  if (whole.length <= maxLength) return whole
  const hits = known ?? findHits(text, language, query)
  const start = text.length - text.trimStart().length
  const [window] = bestWindows(text, hits.length > 0 ? hits : [{ start, end: start, clause: 0 }], 1, maxLength)
  return window === undefined ? '' : text.slice(window.start, window.end)
}

/** Hits that overlap or touch become one mark: the pairs of a Chinese word, a phrase and a word of it. */
function mergeHits(hits: readonly Hit[]): TextRange[] {
  const marks: TextRange[] = []
  for (const { start, end } of hits) {
    const last = marks.at(-1)
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end)
    else marks.push({ start, end })
  }
  return marks
}

function markFragment(text: string, { start, end }: TextRange, marks: readonly TextRange[]): string {
  let html = ''
  let done = start
  for (const mark of marks) {
    if (mark.end <= start) continue
    if (mark.start >= end) break
    const from = Math.max(mark.start, start)
    const to = Math.min(mark.end, end)
    html += `${escapeHtml(text.slice(done, from))}<em>${escapeHtml(text.slice(from, to))}</em>`
    done = to
  }
  return html + escapeHtml(text.slice(done, end))
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/gu, (character) => ESCAPES[character]!)
}
