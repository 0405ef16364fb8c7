import { useSignal } from '@preact/signals'
import { type ComponentChild, Fragment, h } from 'preact'
import { ActButton } from './act-button.ts'
import type { Key } from './answers.ts'
import { Field } from './field.ts'
import { FormDialog } from './form-dialog.ts'
import { keyState } from './key-state.ts'
import { SecretDialog } from './secret-dialog.ts'
import { send } from './send.ts'
import { state } from './state.ts'
import { type Column, Table } from './table.ts'
import { ago, moment } from './words.ts'

export interface KeyTableProps {
  readonly label: string
  readonly keys: readonly Key[]
  readonly changed: () => Promise<void>
  /** More columns, for a list with the keys of several owners. */
  readonly more?: readonly Column<Key>[]
}

type OpenDialog = { readonly key: Key; readonly what: 'rotate' | 'revoke' } | null

/** Lists keys with their state. A working key can be replaced or revoked. */
export function KeyTable({ label, keys, changed, more = [] }: KeyTableProps): ComponentChild {
  const dialog = useSignal<OpenDialog>(null)
  const secret = useSignal<string | null>(null)
  const close = (): void => {
    dialog.value = null
  }
  const rotate = async (key: Key, fields: FormData): Promise<void> => {
    const created = await send<{ api_key: string }>('POST', `/admin/v1/keys/${key.key_id}/rotate`, {
      grace_seconds: Math.round(Number(fields.get('hours')) * 3600),
    })
    secret.value = created.api_key
    await changed()
  }
  const revoke = async (key: Key): Promise<void> => {
    await send('POST', `/admin/v1/keys/${key.key_id}/revoke`)
    await changed()
  }
  const chosen = dialog.value
  return h(
    Fragment,
    null,
    h(Table<Key>, {
      label,
      keyOf: ({ key_id: id }) => id,
      rows: [...keys].sort((a, b) => b.created_at.localeCompare(a.created_at)),
      columns: [
        ...more,
        {
          title: 'Key',
          cell: ({ name, prefix }) => [h('span', { dir: 'auto' }, name ?? 'Unnamed'), h('small', null, `${prefix}…`)],
        },
        { title: 'State', cell: (key) => state(keyState(key)) },
        {
          title: 'Last used',
          cell: ({ last_used_at: at }) => (at === null ? 'never' : h('span', { title: moment(at) }, ago(at))),
        },
        { title: 'Created', cell: ({ created_at: at }) => moment(at) },
        { title: 'Expires', cell: ({ expires_at: at }) => (at === null ? 'never' : moment(at)) },
        {
          title: 'Actions',
          isTools: true,
          cell: (key) =>
            ['revoked', 'expired'].includes(keyState(key))
              ? null
              : h(
                  'div',
                  { class: 'row-tools' },
                  (['rotate', 'revoke'] as const).map((what) =>
                    h(
                      ActButton,
                      {
                        key: what,
                        needs: 'operator',
                        of: `key ${key.name ?? key.prefix}`,
                        act: () => {
                          dialog.value = { key, what }
                        },
                      },
                      what === 'rotate' ? 'Rotate' : 'Revoke',
                    ),
                  ),
                ),
        },
      ],
    }),
    chosen?.what === 'rotate'
      ? h(
          FormDialog,
          {
            title: 'Rotate key',
            action: 'Create new key',
            submit: (fields) => rotate(chosen.key, fields),
            close,
          },
          h(
            'p',
            null,
            'A new key replaces ',
            h('code', null, `${chosen.key.prefix}…`),
            '. The old key keeps working for a while so that its users can switch.',
          ),
          h(Field, {
            label: 'Hours until the old key stops working',
            name: 'hours',
            type: 'number',
            min: 0,
            max: 8760,
            step: 'any',
            value: 24,
            required: true,
          }),
        )
      : null,
    chosen?.what === 'revoke'
      ? h(
          FormDialog,
          { title: 'Revoke key', action: 'Revoke', isDangerous: true, submit: () => revoke(chosen.key), close },
          h('p', null, h('code', null, `${chosen.key.prefix}…`), ' stops working immediately. This cannot be undone.'),
        )
      : null,
    secret.value === null
      ? null
      : h(SecretDialog, {
          title: 'New key',
          secret: secret.value,
          close: () => {
            secret.value = null
          },
        }),
  )
}
