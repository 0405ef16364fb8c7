import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { dayInWords } from '../shared/words-of-time.ts'
import { type AnalysedDocument, documentAddress, titleOf } from './read-documents.ts'
import type { ResultProps } from './result-props.ts'
import { counted } from './run-words.ts'
import { useRows } from './use-rows.ts'

interface Member {
  readonly group_id: string
  readonly subject_id: string
  readonly document_id: string
  readonly is_representative: boolean
  readonly similarity: number
  readonly kind: 'exact' | 'near'
}

const shownFirst = 30

const groupsOf = (members: readonly Member[]): readonly (readonly Member[])[] =>
  [...Map.groupBy(members, ({ group_id: id }) => id).values()].sort((a, b) => b.length - a.length)

/** Lists groups of near-identical texts, the largest group first, and the earliest text first in each group. */
export function CopyList({ run, artifact }: ResultProps): ComponentChild {
  const shown = useSignal(shownFirst)
  const { rows, documents, fault } = useRows<Member>(run, artifact, shown.value, (members, count) =>
    groupsOf(members)
      .slice(0, count)
      .flatMap((group) => group.map(({ document_id: id }) => id)),
  )
  if (fault !== null) return h('p', { class: 'notice bad', role: 'alert' }, fault)
  if (rows === null) return h('p', { class: 'note', role: 'status' }, 'Loading copies …')
  if (rows.length === 0) return h('p', { class: 'empty' }, 'No copies found.')
  const groups = groupsOf(rows)
  return [
    h('h2', { key: 'h' }, `${counted(groups.length, 'group')} of copies`),
    h(
      'ol',
      { class: 'copies', key: 'list' },
      groups.slice(0, shown.value).map((group) =>
        h(
          'li',
          { class: 'card', key: group[0]!.group_id },
          h(
            'ul',
            { class: 'titles' },
            group.map((member) =>
              h(MemberLine, { key: member.subject_id, member, document: documents.get(member.document_id) }),
            ),
          ),
        ),
      ),
    ),
    groups.length > shown.value
      ? h(
          'button',
          {
            key: 'more',
            type: 'button',
            class: 'button',
            onClick: () => {
              shown.value += shownFirst
            },
          },
          'More groups',
        )
      : null,
  ]
}

function MemberLine({
  member,
  document,
}: {
  readonly member: Member
  readonly document: AnalysedDocument | undefined
}): ComponentChild {
  const facts = [
    document?.source_platform,
    document?.published_at ? dayInWords(document.published_at) : null,
    member.is_representative
      ? 'earliest'
      : member.kind === 'exact'
        ? 'identical text'
        : `${(member.similarity * 100).toFixed(1)} % similar`,
  ].filter(Boolean)
  return h(
    'li',
    { dir: 'auto', class: member.is_representative ? 'first' : '' },
    document === undefined
      ? h('span', null, titleOf(undefined))
      : h('a', { href: documentAddress(document.id) }, titleOf(document)),
    h('span', { class: 'note' }, facts.join(' · ')),
  )
}
