import { type ComponentChild, Fragment, h } from 'preact'
import { health } from '../app/health.ts'
import type { Finding, Indexing } from './answers.ts'
import { FirstSteps } from './first-steps.ts'
import { Head } from './head.ts'
import { ListStatus } from './list-status.ts'
import { type Read, useRead } from './read.ts'
import { state } from './state.ts'
import { Tile } from './tile.ts'
import { Traffic } from './traffic.ts'
import { count, counted, rate, size, span } from './words.ts'

const everyMs = 5_000

/** Shows what needs attention and what to do about it, the search index, and this process's traffic. */
export function OverviewView(): ComponentChild {
  const indexing = useRead<Indexing>('/admin/v1/indexing', {}, everyMs)
  const doctor = useRead<{ findings: readonly Finding[] }>('/admin/v1/findings', {}, 12 * everyMs)
  return h(
    Fragment,
    null,
    h(Head, { title: 'Overview', path: '/admin/v1/indexing' }),
    h(Attention, { indexing, doctor }),
    h(ListStatus, { fault: indexing.fault, isKnown: indexing.body !== null, isEmpty: false }),
    indexing.body === null
      ? null
      : isEmpty(indexing.body)
        ? h(FirstSteps, null)
        : h(Tiles, { indexing: indexing.body }),
    h(Traffic, null),
  )
}

const isEmpty = ({ indexed_documents: indexed, pending_documents: pending }: Indexing): boolean =>
  indexed + pending === 0

/** A problem, and what to do about it. */
interface Problem {
  readonly level: 'warning' | 'failure'
  readonly about: string
  readonly advice: string | null
}

interface AttentionProps {
  readonly indexing: Read<Indexing>
  readonly doctor: Read<{ readonly findings: readonly Finding[] }>
}

function Attention({ indexing, doctor }: AttentionProps): ComponentChild {
  const problems: Problem[] = [
    ...health.value.rows
      .filter(([, isGood]) => !isGood)
      .map(([name, , detail]): Problem => ({ level: 'failure', about: `${name}: ${detail}`, advice: null })),
    ...(indexing.body?.warnings ?? []).map((about): Problem => ({ level: 'warning', about, advice: null })),
    ...(doctor.body?.findings ?? []).flatMap((one): Problem[] =>
      one.state === 'ok' ? [] : [{ level: one.state, about: one.about, advice: one.advice }],
    ),
  ].sort((a, b) => a.level.localeCompare(b.level))
  const isKnown = indexing.body !== null && doctor.body !== null
  return h(
    'section',
    { class: 'card attention', 'aria-labelledby': 'attention' },
    h('h2', { id: 'attention' }, 'What needs attention'),
    doctor.fault === null ? null : h('p', { class: 'fault', role: 'alert' }, doctor.fault),
    problems.length === 0
      ? h('p', { role: 'status' }, isKnown ? 'Nothing. All checks passed.' : 'Checking …')
      : h(
          'ul',
          null,
          problems.map(({ level, about, advice }) =>
            h(
              'li',
              { key: about },
              state(level),
              h(
                'div',
                null,
                h('span', { dir: 'auto' }, about),
                advice === null ? null : h('span', { class: 'note', dir: 'auto' }, advice),
              ),
            ),
          ),
        ),
  )
}

function Tiles({ indexing }: { readonly indexing: Indexing }): ComponentChild {
  const waiting = indexing.pending_documents + indexing.pending_vectors
  const disk = health.value.rows.find(([name]) => name === 'Disk')
  return h(
    'dl',
    { class: 'tiles' },
    h(Tile, {
      name: 'Documents',
      value: count(indexing.indexed_documents),
      note: `${counted(indexing.indexed_chunks, 'chunk')} in the search index`,
    }),
    h(Tile, {
      name: 'Backlog',
      value: waiting === 0 ? 'none' : count(waiting),
      note: waiting === 0 ? 'All documents are searchable' : backlogInWords(indexing),
    }),
    h(Tile, {
      name: 'Search index',
      value: size(indexing.memory_bytes),
      note: `in memory, ${size(indexing.disk_bytes)} on disk`,
    }),
    disk === undefined ? null : h(Tile, { name: 'Disk', ...diskWords(disk[2]) }),
  )
}

/** Splits the server's text about its disk into the size at its start and the rest. */
function diskWords(detail: string): { readonly value: string; readonly note: string } {
  const [, free, rest = ''] = /^(?:only )?([\d.,]+ ?[KMGTP]i?B)(.*)$/.exec(detail) ?? []
  return free === undefined ? { value: '', note: detail } : { value: free, note: rest.trim() }
}

export function backlogInWords(indexing: Indexing): string {
  const { pending_documents: documents, pending_vectors: vectors, oldest_pending_seconds: oldest } = indexing
  const parts = [
    documents > 0
      ? `${counted(documents, 'document')} to index${indexing.documents_per_second === null ? '' : `, ${rate(indexing.documents_per_second)} per second`}`
      : null,
    vectors > 0
      ? `${counted(vectors, 'vector')} to compute${indexing.vectors_per_second === null ? '' : `, ${rate(indexing.vectors_per_second)} per second`}`
      : null,
    indexing.vectors_ready_in_seconds === null ? null : `done in about ${span(indexing.vectors_ready_in_seconds)}`,
    oldest === null ? null : `oldest: ${span(oldest)}`,
  ]
  return parts.filter((part) => part !== null).join('; ')
}
