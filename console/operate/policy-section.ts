import { type ComponentChild, h } from 'preact'
import { ActButton } from './act-button.ts'
import type { Application } from './answers.ts'
import { fieldsOfPolicy, limitName } from './limits.ts'
import { limitInWords, PolicyForm } from './policy-form.ts'
import type { Tagged } from './read.ts'
import { useOpen } from './use-open.ts'

export interface PolicyProps {
  readonly application: Tagged<Application>
  readonly path: string
  readonly changed: () => Promise<void>
}

/** Shows the name and the limits. */
export function PolicySection({ application, path, changed }: PolicyProps): ComponentChild {
  const editing = useOpen()
  const fields = Object.entries(fieldsOfPolicy(application.body.policy))
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
          act: editing.open,
        },
        'Edit name and limits',
      ),
    ),
    fields.length === 0
      ? h('p', null, 'Defaults.')
      : h(
          'dl',
          { class: 'limits' },
          fields.map(([limit, value]) =>
            h(
              'div',
              { key: limit },
              h('dt', null, limitName(limit)),
              h('dd', { dir: 'auto' }, limitInWords(limit, value)),
            ),
          ),
        ),
    editing.isOpen
      ? h(PolicyForm, {
          first: application,
          path,
          done: changed,
          close: editing.close,
        })
      : null,
  )
}
