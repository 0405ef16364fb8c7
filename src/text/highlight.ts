import { bestWindows } from './best-windows.ts'
import { findHits, type Hit } from './find-hits.ts'
import type { TextRange } from './split-sentences.ts'
import type { KeywordQuery } from './types.ts'

export type HighlightOptions = {
  maxFragments: number
  /** UTF-16 units of text in a fragment, without marks and escapes. */
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
 * Returns the parts of a text that best show why it matched: HTML-escaped, each hit in `<em>…</em>`. A word is marked in
 * the form it has in the text, however it was stemmed or folded. A phrase gets one mark. Returns no fragment if nothing
 * matched. Pass `hits` if they are known already.
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
 * Returns plain text (not escaped) of at most `maxLength` UTF-16 units around the best match: the start of the text if
 * nothing matched, and the whole text if it is short enough.
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

/** Merges hits that overlap or touch into one mark: the pairs of a Chinese word, a phrase and a word of it. */
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
