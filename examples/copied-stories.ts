/**
 * Who published a story first, and who copied it: near-identical texts among everything that a key may read.
 *
 *   TIDEMARK_KEY=… npx node examples/copied-stories.ts [PICTURE.svg]
 */
import { writeFileSync } from 'node:fs'
import { card, ink, label, shortened } from './picture.ts'
import { analyse, type Document, documentsOf, table } from './tidemark.ts'

interface Member {
  readonly group_id: string
  readonly document_id: string
  readonly is_representative: boolean
  readonly similarity: number
  readonly kind: 'exact' | 'near'
}

interface Copy {
  readonly document: Document
  readonly kind: Member['kind']
  readonly hours: number
  /** Whether the first source published it again. */
  readonly isRepeated: boolean
}

interface Story {
  readonly original: Document
  readonly copies: readonly Copy[]
}

const hourMs = 3_600_000
const storiesShown = 12
const picture = process.argv[2] ?? 'copied-stories.svg'

// 1. Groups of near-identical chunks. The earliest of each group is its representative.
const run = await analyse('deduplication', { threshold: 0.9 })
const members = await table<Member>(run, 'groups')
const documents = await documentsOf(members.map(({ document_id }) => document_id))
const isTimed = (id: string): boolean => typeof documents.get(id)?.published_at === 'string'

// 2. A story is everything that was copied from one document, from any part of it. Documents without a publication time
// say nothing about who was first.
const originalOf = new Map(
  members.flatMap((one) => (one.is_representative ? [[one.group_id, one.document_id] as const] : [])),
)
const stories = [...Map.groupBy(members, ({ group_id }) => originalOf.get(group_id)!)]
  .filter(([originalId]) => isTimed(originalId))
  .map(([originalId, all]): Story => {
    const original = documents.get(originalId)!
    const copies = [...Map.groupBy(all, ({ document_id }) => document_id)]
      .filter(([id]) => id !== originalId && isTimed(id))
      .map(([id, parts]): Copy => {
        const document = documents.get(id)!
        return {
          document,
          kind: parts.every((part) => part.kind === 'exact') ? 'exact' : 'near',
          hours: (timeOf(document) - timeOf(original)) / hourMs,
          isRepeated: sourceOf(document) === sourceOf(original),
        }
      })
      .sort((a, b) => a.hours - b.hours || (titleOf(a.document) < titleOf(b.document) ? -1 : 1))
    return { original, copies }
  })
  .filter(({ copies }) => copies.length > 0)
  .sort((a, b) => b.copies.length - a.copies.length || timeOf(a.original) - timeOf(b.original))

// 3. Who was first, and how much later the others followed.
console.log(`${run.input!.documents} documents, ${stories.length} stories that were copied\n`)
for (const { original, copies } of stories) {
  console.log(`"${titleOf(original)}", ${sourceOf(original)}`)
  for (const { document, kind, hours, isRepeated } of copies) {
    const who = isRepeated ? 'the same source' : sourceOf(document)
    const wording = kind === 'exact' ? 'word for word' : 'with changes'
    console.log(`   ${delay(hours).padStart(8)}  ${who}, ${wording}: "${titleOf(document)}"`)
  }
}

// 4. The picture.
if (stories.length > 0) {
  writeFileSync(picture, draw(stories.slice(0, storiesShown)))
  console.log(`\nDrawn to ${picture}`)
}

function timeOf({ published_at }: Document): number {
  return Date.parse(published_at ?? '')
}

function titleOf({ content }: Document): string {
  return content.title ?? content.body?.split('\n')[0] ?? ''
}

/** Returns the author on platforms where everybody writes, and otherwise the site. */
function sourceOf({ url, source_platform, author }: Document): string {
  const site = url === null ? source_platform : new URL(url).hostname.replace(/\.example$/, '')
  return (source_platform === 'microblog' ? author?.nickname : null) ?? site
}

function delay(hours: number): string {
  return hours < 1 ? `+${Math.round(hours * 60)} min` : `+${hours.toFixed(hours < 10 ? 1 : 0)} h`
}

function draw(shown: readonly Story[]): string {
  const [left, right, top, rowHeight] = [400, 900, 96, 50]
  const longest = Math.max(...shown.flatMap(({ copies }) => copies.map(({ hours }) => hours)))
  // A scale that gives the first hours the most room.
  const xOf = (hours: number): number =>
    Math.round(left + (right - left) * (Math.log1p(Math.max(0, hours)) / Math.log1p(longest)))
  const bottom = top + shown.length * rowHeight
  const marks = [0, 1, 3, 6, 12, 24, 48, 96, 168, 336].filter((hours) => hours <= longest * 1.05)
  const axis = marks.flatMap((hours) => [
    `<path d="M${xOf(hours)} ${top}V${bottom}" stroke="${ink.line}" />`,
    label(hours === 0 ? 'first' : hours < 48 ? `${hours} h` : `${hours / 24} days`, {
      x: xOf(hours),
      y: bottom + 16,
      size: 11,
      fill: ink.quiet,
      anchor: 'middle',
    }),
  ])
  const rows = shown.flatMap(({ original, copies }, row) => {
    const middle = top + row * rowHeight + 22
    const dots = copies.map(({ kind, hours, isRepeated }) => {
      const colour = isRepeated ? ink.quiet : ink.sand
      const paint = kind === 'exact' ? `fill="${colour}"` : `fill="#fbfdfd" stroke="${colour}" stroke-width="2.5"`
      return `<circle cx="${xOf(hours)}" cy="${middle}" r="6" ${paint} />`
    })
    const names = copies.map(({ document, hours }) => {
      const x = xOf(hours)
      const anchor = x > right - 60 ? 'end' : 'middle'
      return label(sourceOf(document), {
        x: anchor === 'end' ? x + 8 : x,
        y: middle + 20,
        size: 10,
        fill: ink.quiet,
        anchor,
      })
    })
    return [
      `<path d="M${left} ${middle}H${xOf(copies.at(-1)!.hours)}" stroke="${ink.sea}" stroke-width="2" />`,
      label(shortened(titleOf(original), 42), { x: 28, y: middle + 1, weight: 650 }),
      label(sourceOf(original), { x: 28, y: middle + 17, size: 11, fill: ink.quiet }),
      `<circle cx="${left}" cy="${middle}" r="7" fill="${ink.sea}" />`,
      ...dots,
      ...names,
    ]
  })
  const subtitle =
    'Who published a story first, and how much later others (orange) or the same source (grey) did. Rings: some words differ'
  return card(960, bottom + 38, 'Copied stories', subtitle, [...axis, ...rows])
}
