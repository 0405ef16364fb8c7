import { useSignal } from '@preact/signals'
import { type ComponentChild, Fragment, h } from 'preact'
import { entitlementInWords } from '../account/entitlement-words.ts'
import { go } from '../app/router.ts'
import type { ViewProps } from '../app/view-props.ts'
import { pathSegment } from '../shared/path-segment.ts'
import { ActButton } from './act-button.ts'
import type { Application, Dataset, Key } from './answers.ts'
import { EntitlementEditor } from './entitlement-editor.ts'
import { Field } from './field.ts'
import { FormDialog } from './form-dialog.ts'
import { Head } from './head.ts'
import { KeyTable } from './key-table.ts'
import { ListStatus } from './list-status.ts'
import { PolicySection } from './policy-section.ts'
import { type Read, type Tagged, useRead } from './read.ts'
import { SecretDialog } from './secret-dialog.ts'
import { send } from './send.ts'
import { useOpen } from './use-open.ts'

/** Shows one application: its entitlements, keys and limits. */
export function ApplicationView({ params }: ViewProps): ComponentChild {
  const path = `/admin/v1/applications/${pathSegment(params.application_id!)}`
  const application = useRead<Application>(path)
  const { body, fault } = application
  return h(
    Fragment,
    null,
    h(Head, { title: body?.name ?? 'Application', path }),
    h(
      'p',
      { class: 'note' },
      h('a', { href: '/operate/applications' }, 'All applications'),
      ` · ${params.application_id}`,
    ),
    h(ListStatus, { fault, isKnown: body !== null, isEmpty: false }),
    body === null
      ? null
      : [
          h(Access, { key: 'read', application: { body, tag: application.tag }, path, changed: application.reload }),
          h(Keys, { key: 'keys', path }),
          h(PolicySection, {
            key: 'policy',
            application: { body, tag: application.tag },
            path,
            changed: application.reload,
          }),
          h(DeleteApplication, { key: 'end', application: body, path }),
        ],
  )
}

function Access({
  application,
  path,
  changed,
}: {
  readonly application: Tagged<Application>
  readonly path: string
  readonly changed: Read<Application>['reload']
}): ComponentChild {
  const { entitlements } = application.body
  const datasets = useRead<{ datasets: readonly Dataset[] }>('/admin/v1/datasets').body?.datasets ?? null
  const editing = useOpen()
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'may-read' },
    h(
      'div',
      { class: 'section-head' },
      h('h2', { id: 'may-read' }, 'Access'),
      editing.isOpen
        ? null
        : h(
            ActButton,
            {
              needs: 'operator',
              act: editing.open,
            },
            'Edit entitlements',
          ),
    ),
    editing.isOpen
      ? h(EntitlementEditor, {
          application,
          path,
          datasets: datasets?.map(({ dataset_id: id }) => id) ?? null,
          saved: changed,
          close: editing.close,
        })
      : entitlements.length === 0
        ? h('p', null, 'No entitlements: it can read nothing.')
        : h(
            'ol',
            { class: 'entries' },
            entitlements.map((entry) => h('li', { key: entry.entitlement_id }, entitlementInWords(entry))),
          ),
  )
}

function Keys({ path }: { readonly path: string }): ComponentChild {
  const { body, fault, reload } = useRead<{ keys: readonly Key[] }>(`${path}/keys`)
  const creating = useOpen()
  const secret = useSignal<string | null>(null)
  const keys = body?.keys ?? []
  const create = async (fields: FormData): Promise<void> => {
    const [name, day] = [String(fields.get('name')).trim(), String(fields.get('day'))]
    const created = await send<{ api_key: string }>('POST', `${path}/keys`, {
      ...(name !== '' && { name }),
      ...(day !== '' && { expires_at: `${day}T00:00:00Z` }),
    })
    secret.value = created.api_key
    await reload()
  }
  return h(
    'section',
    { 'aria-labelledby': 'keys' },
    h(
      'div',
      { class: 'section-head' },
      h('h2', { id: 'keys' }, 'Keys'),
      h(
        ActButton,
        {
          needs: 'operator',
          act: creating.open,
        },
        'New key',
      ),
    ),
    h(
      ListStatus,
      { fault, isKnown: body !== null, isEmpty: keys.length === 0 },
      'No keys yet. The application needs one to read anything.',
    ),
    keys.length === 0 ? null : h(KeyTable, { label: 'Keys', keys, changed: reload }),
    creating.isOpen
      ? h(
          FormDialog,
          {
            title: 'New key',
            action: 'Create key',
            submit: create,
            close: creating.close,
          },
          h(Field, {
            label: 'Name',
            name: 'name',
            maxLength: 200,
            note: 'Who or what uses it.',
          }),
          h(Field, { label: 'Expires on (UTC)', name: 'day', type: 'date', note: 'Leave empty for no expiry.' }),
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

function DeleteApplication({
  application,
  path,
}: {
  readonly application: Application
  readonly path: string
}): ComponentChild {
  const deleting = useOpen()
  const remove = async (fields: FormData): Promise<void> => {
    await send('DELETE', `${path}${fields.get('force') === null ? '' : '?force=true'}`)
    go('/operate/applications')
  }
  return h(
    'section',
    null,
    h(
      ActButton,
      {
        needs: 'operator',
        act: deleting.open,
      },
      'Delete this application',
    ),
    deleting.isOpen
      ? h(
          FormDialog,
          {
            title: `Delete ${application.name}`,
            action: 'Delete',
            isDangerous: true,
            submit: remove,
            close: deleting.close,
          },
          h('p', null, 'Its keys stop working immediately and its subscriptions are deleted. The audit log is kept.'),
          h(
            'label',
            { class: 'check' },
            h('input', { type: 'checkbox', name: 'force' }),
            'Delete even if it has active keys, runs or subscriptions',
          ),
        )
      : null,
  )
}
