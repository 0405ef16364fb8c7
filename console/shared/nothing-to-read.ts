import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { account, readAccount } from '../app/account.ts'
import { FirstDocuments } from './first-documents.ts'

const everyMs = 5_000

/** Whether there is no document at all that the signed-in application may read. */
export const hasNothingToRead = (): boolean => account.value?.earliest_ingested_at === null

/**
 * Says what to do if there is no readable document. Polls the account, so that the page changes when the first document
 * arrives.
 */
export function NothingToRead(): ComponentChild {
  useEffect(() => {
    const timer = setInterval(() => readAccount().catch(() => {}), everyMs)
    return () => clearInterval(timer)
  }, [])
  const isEntitled = (account.value?.entitlements ?? []).length > 0
  return h(
    'section',
    { class: 'card first-steps', 'aria-labelledby': 'first-steps' },
    h('h2', { id: 'first-steps' }, 'No documents yet'),
    isEntitled
      ? h('p', null, 'To add some, run one of these where the server runs. They appear here as they arrive.')
      : h('p', null, 'This application has no entitlements. An operator grants them under Applications.'),
    isEntitled ? h(FirstDocuments, null) : null,
  )
}
