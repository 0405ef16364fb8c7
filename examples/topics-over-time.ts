/**
 * Topics over time: the topics of everything in English that a key may read, day by day.
 *
 *   TIDEMARK_KEY=… npx node examples/topics-over-time.ts [PICTURE.svg]
 */
import { writeFileSync } from 'node:fs'
import { card, ink, label, shortened } from './picture.ts'
import { analyse, type Document, documentsOf, table } from './tidemark.ts'

interface Topic {
  readonly cluster_id: string
  readonly documents: number
  readonly words: readonly string[]
  readonly central_document_ids: readonly string[]
  /** Documents by day of publication. */
  readonly days: Readonly<Record<string, number>>
  readonly languages: Readonly<Record<string, number>>
}

const topicsShown = 12
const picture = process.argv[2] ?? 'topics-over-time.svg'

// 1. The server computes topics and returns two tables. One language only: a small collection in several languages
// would be grouped by language first.
const run = await analyse('clustering', { min_cluster_size: 5 }, { languages: ['en'] })
const topics = await table<Topic>(run, 'clusters')
const assignments = await table<{ document_id: string; cluster_id: string | null }>(run, 'assignments')

// 2. A document can have several topics. A document without a chunk in any topic has none.
const clustered = new Set(assignments.flatMap((row) => (row.cluster_id === null ? [] : row.document_id)))
const { documents } = run.input!
console.log(`${documents} documents, ${topics.length} topics; ${documents - clustered.size} documents are in none\n`)

// 3. Each topic by its words, its central document, and the day with the most documents.
const shown = topics.toSorted((a, b) => b.documents - a.documents).slice(0, topicsShown)
const central = await documentsOf(shown.map((topic) => topic.central_document_ids[0]!))
const days = daysBetween(shown.flatMap((topic) => Object.keys(topic.days)).sort())
for (const topic of shown) {
  const peak = peakOf(topic)
  const words = topic.words.slice(0, 4).join(', ')
  const when = peak === undefined ? '' : `  (most on ${dayName(peak.day)}: ${peak.documents})`
  console.log(`${String(topic.documents).padStart(4)}  ${words}${when}`)
  console.log(`      "${headline(central.get(topic.central_document_ids[0]!))}"`)
}

// 4. The picture.
if (days.length > 0) {
  writeFileSync(picture, draw())
  console.log(`\nDrawn to ${picture}`)
}

function daysBetween(sorted: readonly string[]): string[] {
  const found: string[] = []
  const dayMs = 86_400_000
  for (let time = Date.parse(sorted[0] ?? ''); time <= Date.parse(sorted.at(-1) ?? ''); time += dayMs) {
    found.push(new Date(time).toISOString().slice(0, 10))
  }
  return found
}

/** Returns undefined if no document has a publication time. */
function peakOf({ days }: Topic): { readonly day: string; readonly documents: number } | undefined {
  return Object.entries(days)
    .map(([day, documents]) => ({ day, documents }))
    .sort((a, b) => b.documents - a.documents || (a.day < b.day ? -1 : 1))[0]
}

function dayName(day: string): string {
  return new Date(day).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

function headline(document: Document | undefined): string {
  return document?.content.title ?? document?.content.body?.split('\n')[0] ?? ''
}

function draw(): string {
  const [left, right, top, rowHeight] = [396, 900, 96, 46]
  const step = (right - left) / days.length
  const most = Math.max(...shown.map((topic) => peakOf(topic)?.documents ?? 0))
  const bottom = top + shown.length * rowHeight
  const shapes = shown.flatMap((topic, row) => {
    const base = top + (row + 1) * rowHeight - 8
    const peak = peakOf(topic)?.day
    const bars = days.flatMap((day, i) => {
      const count = topic.days[day]
      if (count === undefined) return []
      const height = Math.max(2, (count / most) * (rowHeight - 10))
      const corner = `x="${(left + i * step + 2).toFixed(1)}" y="${(base - height).toFixed(1)}"`
      const size = `width="${(step - 4).toFixed(1)}" height="${height.toFixed(1)}"`
      return `<rect ${corner} ${size} rx="2" fill="${day === peak ? ink.sand : ink.sea}" />`
    })
    return [
      `<path d="M28 ${base}H932" stroke="${ink.line}" />`,
      label(shortened(topic.words.slice(0, 4).join(' · '), 46), { x: 28, y: base - 20, weight: 650 }),
      label(shortened(headline(central.get(topic.central_document_ids[0]!)), 58), {
        x: 28,
        y: base - 5,
        size: 11,
        fill: ink.quiet,
      }),
      ...bars,
      label(String(topic.documents), { x: 932, y: base - 6, anchor: 'end', weight: 650, fill: ink.quiet }),
    ]
  })
  const every = Math.ceil(days.length / 10)
  const axis = days.flatMap((day, i) =>
    i % every === 0
      ? label(dayName(day), { x: left + (i + 0.5) * step, y: bottom + 14, size: 11, fill: ink.quiet, anchor: 'middle' })
      : [],
  )
  const largest = shown.length < topics.length ? `the ${shown.length} largest of ` : ''
  const subtitle = `${documents} documents in English, ${largest}${topics.length} topics, by day of publication; the day with the most documents is orange`
  return card(960, bottom + 34, 'Topics over time', subtitle, [...shapes, ...axis])
}
