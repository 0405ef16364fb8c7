import { useSignal } from '@preact/signals'
import { type ComponentChild, Fragment, h } from 'preact'
import type { ViewProps } from '../app/view-props.ts'
import { pathSegment } from '../shared/path-segment.ts'
import { ActButton } from './act-button.ts'
import type { Key } from './answers.ts'
import { Field } from './field.ts'
import { FormDialog } from './form-dialog.ts'
import { Head } from './head.ts'
import { KeyTable } from './key-table.ts'
import { ListStatus } from './list-status.ts'
import { LiveTasks } from './live-tasks.ts'
import { useRead } from './read.ts'
import { SecretDialog } from './secret-dialog.ts'
import { send } from './send.ts'
import { Table } from './table.ts'
import { useOpen } from './use-open.ts'
import { moment } from './words.ts'

interface Collector {
  readonly collector_id: string
  readonly name: string
  readonly datasets: readonly string[] | null
  readonly created_at: string
}

/** Lists collectors, their keys, and the tasks that live queries give them. */
export function CollectorsView({ place }: ViewProps): ComponentChild {
  const collectors = useRead<{ collectors: readonly Collector[] }>('/admin/v1/collectors')
  const keys = useRead<{ keys: readonly Key[] }>('/admin/v1/keys')
  const found = collectors.body?.collectors ?? []
  const names = new Map(found.map((one) => [one.collector_id, one.name]))
  const own = (keys.body?.keys ?? []).filter((key) => key.collector_id !== null)
  const creating = useOpen()
  const deleting = useSignal<Collector | null>(null)
  const secret = useSignal<string | null>(null)
  const reload = async (): Promise<void> => {
    await Promise.all([collectors.reload(), keys.reload()])
  }
  const create = async (fields: FormData): Promise<void> => {
    const datasets = String(fields.get('datasets'))
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '')
    const created = await send<{ collector_key: string }>('POST', '/admin/v1/collectors', {
      name: String(fields.get('name')).trim(),
      ...(datasets.length > 0 && { datasets: [...new Set(datasets)] }),
    })
    secret.value = created.collector_key
    await reload()
  }
  const remove = async ({ collector_id: id }: Collector, fields: FormData): Promise<void> => {
    await send('DELETE', `/admin/v1/collectors/${pathSegment(id)}${fields.get('force') === null ? '' : '?force=true'}`)
    await reload()
  }
  const { value: target } = deleting
  return h(
    Fragment,
    null,
    h(
      Head,
      { title: 'Collectors', path: '/admin/v1/collectors' },
      h(
        ActButton,
        {
          needs: 'operator',
          isMain: true,
          act: creating.open,
        },
        'New collector',
      ),
    ),
    h(
      ListStatus,
      { fault: collectors.fault ?? keys.fault, isKnown: collectors.body !== null, isEmpty: found.length === 0 },
      'No collectors yet. Create one and give its key to the program that collects.',
    ),
    found.length === 0
      ? null
      : h(Table<Collector>, {
          label: 'Collectors',
          keyOf: ({ collector_id: id }) => id,
          rows: found,
          columns: [
            {
              title: 'Name',
              cell: ({ collector_id: id, name }) => [h('span', { dir: 'auto' }, name), h('small', null, id)],
            },
            { title: 'Writes to', cell: ({ datasets }) => datasets?.join(', ') ?? 'all datasets' },
            { title: 'Created', cell: ({ created_at: at }) => moment(at) },
            {
              title: 'Actions',
              isTools: true,
              cell: (one) =>
                h(
                  'div',
                  { class: 'row-tools' },
                  h(
                    ActButton,
                    {
                      needs: 'operator',
                      of: one.name,
                      act: () => {
                        deleting.value = one
                      },
                    },
                    'Delete',
                  ),
                ),
            },
          ],
        }),
    own.length === 0
      ? null
      : h(
          'section',
          { 'aria-labelledby': 'collector-keys' },
          h('h2', { id: 'collector-keys' }, 'Collector keys'),
          h(KeyTable, {
            label: 'Collector keys',
            keys: own,
            changed: reload,
            more: [
              {
                title: 'Collector',
                cell: ({ collector_id: id }) => h('span', { dir: 'auto' }, names.get(id!) ?? id),
              },
            ],
          }),
        ),
    h(LiveTasks, { place, collectors: names }),
    creating.isOpen
      ? h(
          FormDialog,
          {
            title: 'New collector',
            action: 'Create',
            submit: create,
            close: creating.close,
          },
          h(Field, { label: 'Name', name: 'name', required: true, maxLength: 200 }),
          h(Field, {
            label: 'Datasets it writes to',
            name: 'datasets',
            note: 'Comma-separated IDs. Leave empty for all datasets.',
          }),
        )
      : null,
    target === null
      ? null
      : h(
          FormDialog,
          {
            title: `Delete ${target.name}`,
            action: 'Delete',
            isDangerous: true,
            submit: (fields) => remove(target, fields),
            close: () => {
              deleting.value = null
            },
          },
          h('p', null, 'Its keys stop working immediately. Documents it sent are kept.'),
          h(
            'label',
            { class: 'check' },
            h('input', { type: 'checkbox', name: 'force' }),
            'Delete even if it has active keys or live tasks',
          ),
        ),
    secret.value === null
      ? null
      : h(SecretDialog, {
          title: 'Collector key',
          secret: secret.value,
          close: () => {
            secret.value = null
          },
        }),
  )
}
