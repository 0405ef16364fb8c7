import { type ComponentChild, Fragment, h } from 'preact'
import { go } from '../app/router.ts'
import { ActButton } from './act-button.ts'
import type { Application, Key } from './answers.ts'
import { Field } from './field.ts'
import { FormDialog } from './form-dialog.ts'
import { Head } from './head.ts'
import { keyState } from './key-state.ts'
import { ListStatus } from './list-status.ts'
import { useRead } from './read.ts'
import { send } from './send.ts'
import { Table } from './table.ts'
import { useOpen } from './use-open.ts'
import { counted, moment } from './words.ts'

/** Lists every application, what it reads, and whether it has a key. */
export function ApplicationsView(): ComponentChild {
  const { body, fault } = useRead<{ applications: readonly Application[] }>('/admin/v1/applications')
  const keys = useRead<{ keys: readonly Key[] }>('/admin/v1/keys').body?.keys ?? null
  const creating = useOpen()
  const applications = body?.applications ?? []
  const create = async (fields: FormData): Promise<void> => {
    const created = await send<Application>('POST', '/admin/v1/applications', {
      name: String(fields.get('name')).trim(),
    })
    go(`/operate/applications/${encodeURIComponent(created.application_id)}`)
  }
  return h(
    Fragment,
    null,
    h(
      Head,
      { title: 'Applications', path: '/admin/v1/applications' },
      h(ActButton, { needs: 'operator', act: creating.open, isMain: true }, 'New application'),
    ),
    h(
      ListStatus,
      { fault, isKnown: body !== null, isEmpty: applications.length === 0 },
      'No applications yet. Create one, choose what it can read, and give it a key.',
    ),
    applications.length === 0
      ? null
      : h(Table<Application>, {
          label: 'Applications',
          keyOf: ({ application_id: id }) => id,
          rows: applications,
          columns: [
            {
              title: 'Name',
              cell: ({ application_id: id, name }) => [
                h('a', { href: `/operate/applications/${encodeURIComponent(id)}`, dir: 'auto' }, name),
                h('small', null, id),
              ],
            },
            { title: 'Can read', cell: ({ entitlements }) => datasetsInWords(entitlements) },
            { title: 'Active keys', isNumber: true, cell: ({ application_id: id }) => activeKeys(keys, id) },
            { title: 'Updated', cell: ({ updated_at: at }) => moment(at) },
          ],
        }),
    creating.isOpen
      ? h(
          FormDialog,
          {
            title: 'New application',
            action: 'Create',
            submit: create,
            close: creating.close,
          },
          h(Field, {
            label: 'Name',
            name: 'name',
            required: true,
            maxLength: 200,
            note: 'A display name. You can change it later.',
          }),
        )
      : null,
  )
}

function activeKeys(keys: readonly Key[] | null, applicationId: string): string {
  if (keys === null) return '…'
  const own = keys.filter((key) => key.application_id === applicationId)
  return String(own.filter((key) => !['revoked', 'expired'].includes(keyState(key))).length)
}

function datasetsInWords(entitlements: Application['entitlements']): ComponentChild {
  const names = [...new Set(entitlements.flatMap(({ datasets }) => datasets))]
  if (names.length === 0) return h('span', { class: 'bad-number' }, 'nothing')
  const shown = names.slice(0, 4).join(', ')
  const more = names.length > 4 ? ` and ${names.length - 4} more` : ''
  return [
    h('span', { dir: 'auto' }, `${shown}${more}`),
    h('small', null, counted(entitlements.length, 'entry', 'entries')),
  ]
}
