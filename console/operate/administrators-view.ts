import { useSignal } from '@preact/signals'
import { type ComponentChild, Fragment, h } from 'preact'
import { useId } from 'preact/hooks'
import type { Role } from '../app/self.ts'
import { ActButton } from './act-button.ts'
import { Field } from './field.ts'
import { FormDialog } from './form-dialog.ts'
import { Head } from './head.ts'
import { keyState } from './key-state.ts'
import { ListStatus } from './list-status.ts'
import { useRead } from './read.ts'
import { SecretDialog } from './secret-dialog.ts'
import { send } from './send.ts'
import { state } from './state.ts'
import { Table } from './table.ts'
import { useOpen } from './use-open.ts'
import { ago, moment } from './words.ts'

interface Token {
  readonly token_id: string
  readonly name: string
  readonly role: Role
  readonly prefix: string
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly last_used_at: string | null
}

const rolesInWords: Readonly<Record<Role, string>> = {
  viewer: 'Viewer: sees everything except secrets',
  operator: 'Operator: also does everyday work',
  owner: 'Owner: everything, including these tokens and erasures',
}

/** Lists the people who operate this instance. The audit log names them. */
export function AdministratorsView(): ComponentChild {
  const { body, fault, reload } = useRead<{ tokens: readonly Token[] }>('/admin/v1/tokens')
  const tokens = body?.tokens ?? []
  const creating = useOpen()
  const revoking = useSignal<Token | null>(null)
  const secret = useSignal<string | null>(null)
  const id = useId()
  const create = async (fields: FormData): Promise<void> => {
    const day = String(fields.get('day'))
    const created = await send<{ admin_token: string }>('POST', '/admin/v1/tokens', {
      name: String(fields.get('name')).trim(),
      role: fields.get('role'),
      ...(day !== '' && { expires_at: `${day}T00:00:00Z` }),
    })
    secret.value = created.admin_token
    await reload()
  }
  const { value: revoked } = revoking
  return h(
    Fragment,
    null,
    h(
      Head,
      { title: 'Administrators', path: '/admin/v1/tokens' },
      h(
        ActButton,
        {
          needs: 'owner',
          isMain: true,
          act: creating.open,
        },
        'New administrator',
      ),
    ),
    h(
      ListStatus,
      { fault, isKnown: body !== null, isEmpty: tokens.length === 0 },
      'No personal tokens yet. Everyone signs in with the instance token, so the audit log cannot tell them apart.',
    ),
    tokens.length === 0
      ? null
      : h(Table<Token>, {
          label: 'Administrators',
          keyOf: (token) => token.token_id,
          rows: tokens,
          columns: [
            {
              title: 'Name',
              cell: ({ name, prefix }) => [h('span', { dir: 'auto' }, name), h('small', null, `${prefix}…`)],
            },
            { title: 'Role', cell: ({ role }) => role },
            { title: 'State', cell: (token) => state(keyState(token)) },
            {
              title: 'Last used',
              cell: ({ last_used_at: at }) => (at === null ? 'never' : h('span', { title: moment(at) }, ago(at))),
            },
            { title: 'Expires', cell: ({ expires_at: at }) => (at === null ? 'never' : moment(at)) },
            {
              title: 'Actions',
              isTools: true,
              cell: (token) =>
                ['revoked', 'expired'].includes(keyState(token))
                  ? null
                  : h(
                      'div',
                      { class: 'row-tools' },
                      h(
                        ActButton,
                        {
                          needs: 'owner',
                          of: `token ${token.name}`,
                          act: () => {
                            revoking.value = token
                          },
                        },
                        'Revoke',
                      ),
                    ),
            },
          ],
        }),
    creating.isOpen
      ? h(
          FormDialog,
          {
            title: 'New administrator',
            action: 'Create token',
            submit: create,
            close: creating.close,
          },
          h(Field, {
            label: 'Name',
            name: 'name',
            required: true,
            maxLength: 200,
            note: 'Shown in the audit log.',
          }),
          h(
            'p',
            { class: 'field' },
            h('label', { for: id }, 'Role'),
            h(
              'select',
              { id, name: 'role' },
              Object.entries(rolesInWords).map(([role, words]) => h('option', { key: role, value: role }, words)),
            ),
          ),
          h(Field, { label: 'Expires on (UTC)', name: 'day', type: 'date', note: 'Leave empty for no expiry.' }),
        )
      : null,
    revoked === null
      ? null
      : h(
          FormDialog,
          {
            title: `Revoke token ${revoked.name}`,
            action: 'Revoke',
            isDangerous: true,
            submit: async () => {
              await send('POST', `/admin/v1/tokens/${revoked.token_id}/revoke`)
              await reload()
            },
            close: () => {
              revoking.value = null
            },
          },
          h('p', null, 'It stops working immediately. This cannot be undone.'),
        ),
    secret.value === null
      ? null
      : h(SecretDialog, {
          title: 'New admin token',
          secret: secret.value,
          close: () => {
            secret.value = null
          },
        }),
  )
}
