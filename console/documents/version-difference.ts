import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { addressOf } from '../app/address-of.ts'
import { inWords } from '../app/call-api.ts'
import { go } from '../app/router.ts'
import { useApi } from '../app/use-api.ts'
import type { ViewProps } from '../app/view-props.ts'
import { pathSegment } from '../shared/path-segment.ts'
import { momentInWords } from '../shared/words-of-time.ts'
import type { Content, Version } from './document-types.ts'
import type { Piece, Row } from './text-difference.ts'

/** The number of versions to choose from. The API has older ones. */
const versionsMax = 100
/** This many unchanged rows are shown around a changed one. */
const contextRows = 1

export interface VersionDifferenceProps extends Pick<ViewProps, 'place'> {
  readonly documentId: string
  /** The number of versions, including those that cannot be chosen here. */
  readonly count: number
}

/**
 * Shows two versions side by side with their differences marked: by default the current version and the one before it.
 */
export function VersionDifference({ documentId, count, place }: VersionDifferenceProps): ComponentChild {
  const path = `/v1/documents/${pathSegment(documentId)}`
  const listed = useApi<{ versions: readonly Version[] }>({
    path: `${path}/versions`,
    query: { limit: versionsMax },
  })
  const versions = listed.body.value?.versions ?? []
  const newId = place.query.get('new') ?? versions[0]?.version_id ?? null
  const oldId = place.query.get('old') ?? versions[1]?.version_id ?? null
  const read = (id: string | null) => (id === null ? null : { path: `${path}/content`, query: { version_id: id } })
  const older = useApi<Content>(read(oldId))
  const newer = useApi<Content>(read(newId))
  if (listed.body.value !== null && versions.length < 2) return null
  const choose = (changes: Record<string, string>): void =>
    go(addressOf(place.path, { old: oldId ?? '', new: newId ?? '', ...changes }), { replace: true })
  const fault = listed.fault.value ?? older.fault.value ?? newer.fault.value
  return h(
    'section',
    { class: 'card versions', 'aria-labelledby': 'versions' },
    h('h2', { id: 'versions' }, `Versions: ${count}`),
    fault === null ? null : h('p', { class: 'notice bad', role: 'alert' }, fault),
    versions.length === 0
      ? null
      : h(
          'div',
          { class: 'version-choice' },
          h(Choice, { words: 'Before', count, versions, chosen: oldId, choose: (old) => choose({ old }) }),
          h(Choice, { words: 'After', count, versions, chosen: newId, choose: (id) => choose({ new: id }) }),
        ),
    older.body.value === null || newer.body.value === null
      ? h('p', { class: 'note', role: 'status' }, fault === null ? 'Loading …' : '')
      : h(Difference, { older: older.body.value, newer: newer.body.value }),
  )
}

interface ChoiceProps {
  readonly words: string
  readonly count: number
  readonly versions: readonly Version[]
  readonly chosen: string | null
  readonly choose: (versionId: string) => void
}

function Choice({ words, count, versions, chosen, choose }: ChoiceProps): ComponentChild {
  return h(
    'label',
    null,
    h('span', null, words),
    h(
      'select',
      {
        value: chosen ?? '',
        onChange: (event: Event) => choose((event.currentTarget as HTMLSelectElement).value),
      },
      versions.map(({ version_id, is_current, created_at }, i) =>
        h(
          'option',
          { key: version_id, value: version_id },
          `${count - i}: ${momentInWords(created_at, { seconds: true })}${is_current ? ' (current)' : ''}`,
        ),
      ),
    ),
  )
}

function Difference({ older, newer }: { readonly older: Content; readonly newer: Content }): ComponentChild {
  const rows = useSignal<readonly (Row & { readonly isSame: boolean })[] | null>(null)
  const fault = useSignal<string | null>(null)
  const isExpanded = useSignal(false)
  useEffect(() => {
    rows.value = null
    // Loads the comparison when it is first needed.
    import('./text-difference.ts').then(
      ({ differenceOf, isSame }) => {
        const found = differenceOf(textOf(older), textOf(newer), newer.language)
        rows.value = found.map((row) => ({ ...row, isSame: isSame(row) }))
      },
      (error: unknown) => {
        fault.value = inWords(error)
      },
    )
  }, [older.version_id, newer.version_id])
  if (fault.value !== null) return h('p', { class: 'notice bad', role: 'alert' }, fault.value)
  const all = rows.value
  if (all === null) return h('p', { class: 'note' }, 'Comparing …')
  if (all.every(({ isSame }) => isSame)) return h('p', { class: 'note' }, 'Both versions have the same text.')
  const isNear = (i: number): boolean =>
    all.slice(Math.max(0, i - contextRows), i + contextRows + 1).some(({ isSame }) => !isSame)
  const shown = all.filter(({ isSame }, i) => isExpanded.value || !isSame || isNear(i))
  const hidden = all.length - shown.length
  return h(
    'div',
    null,
    h(
      'div',
      { class: 'difference', role: 'table', 'aria-label': 'What changed' },
      shown.map(({ before, after, isSame }, i) =>
        h(
          'div',
          { key: i, role: 'row', class: isSame ? 'same' : 'changed' },
          h('div', { role: 'cell', dir: 'auto', class: 'before' }, piecesOf(before, 'del')),
          h('div', { role: 'cell', dir: 'auto', class: 'after' }, piecesOf(after, 'ins')),
        ),
      ),
    ),
    hidden > 0
      ? h(
          'button',
          {
            type: 'button',
            class: 'quiet-button',
            onClick: () => {
              isExpanded.value = true
            },
          },
          `Show ${hidden} unchanged paragraph${hidden === 1 ? '' : 's'}`,
        )
      : null,
  )
}

const textOf = ({ title, body }: Content): string => [title, body].filter(Boolean).join('\n')

const piecesOf = (pieces: readonly Piece[] | null, mark: 'del' | 'ins'): ComponentChild =>
  pieces?.map(({ text, isChanged }, i) => (isChanged ? h(mark, { key: i }, text) : text)) ?? null
