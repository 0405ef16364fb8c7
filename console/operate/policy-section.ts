import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useId } from 'preact/hooks'
import { ActButton } from './act-button.ts'
import type { Application } from './answers.ts'
import { Field } from './field.ts'
import { FormDialog } from './form-dialog.ts'
import { patchOf } from './patch-of.ts'
import { send } from './send.ts'

type Policy = Application['policy']

export interface PolicyProps {
  readonly application: Application
  readonly path: string
  readonly changed: () => Promise<void>
}

/** Name and limits. The policy is edited as the JSON that it is, because it has a dozen optional parts. */
export function PolicySection({ application, path, changed }: PolicyProps): ComponentChild {
  const id = useId()
  const isEditing = useSignal(false)
  const text = JSON.stringify(application.policy, null, 2)
  const save = async (fields: FormData): Promise<void> => {
    const policy = policyOf(String(fields.get('policy')))
    await send('PATCH', path, { name: String(fields.get('name')).trim(), policy: patchOf(application.policy, policy) })
    await changed()
  }
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'policy' },
    h(
      'div',
      { class: 'section-head' },
      h('h2', { id: 'policy' }, 'Limits'),
      h(
        ActButton,
        {
          needs: 'operator',
          act: () => {
            isEditing.value = true
          },
        },
        'Edit name and limits',
      ),
    ),
    Object.keys(application.policy).length === 0
      ? h('p', null, 'Those that everybody has.')
      : h('pre', { class: 'json', tabindex: 0 }, text),
    isEditing.value
      ? h(
          FormDialog,
          {
            title: 'Name and limits',
            action: 'Save',
            submit: save,
            close: () => {
              isEditing.value = false
            },
          },
          h(Field, { label: 'Name', name: 'name', required: true, maxLength: 200, defaultValue: application.name }),
          h(
            'p',
            { class: 'field' },
            h('label', { for: id }, 'Policy, as JSON'),
            h('textarea', { id, name: 'policy', class: 'code', rows: 12, spellcheck: false, defaultValue: text }),
            h(
              'span',
              { class: 'note' },
              h('a', { href: '/docs#admin.applications.update' }, 'What it can have'),
              ' is in the reference.',
            ),
          ),
        )
      : null,
  )
}

function policyOf(text: string): Policy {
  let policy: unknown
  try {
    policy = JSON.parse(text)
  } catch {
    throw new Error('The policy is no JSON. Look for a missing comma or quotation mark.')
  }
  if (typeof policy !== 'object' || policy === null || Array.isArray(policy)) {
    throw new Error('The policy must be an object, {…}.')
  }
  return policy as Policy
}
