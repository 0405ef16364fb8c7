import { type ComponentChild, Fragment, h } from 'preact'
import { type DocumentCounts, documentsOf, useDocumentCounts } from './document-counts.ts'
import { Field } from './field.ts'
import { counted } from './words.ts'

const fieldName = 'confirmed'

/** Says how many documents an erasure of a dataset removes. If there are any, the operator must type the ID. */
export function ConfirmDataset({ id }: { readonly id: string }): ComponentChild {
  const counts = useDocumentCounts([id])
  const documents = documentsOf(counts, id)
  return h(
    Fragment,
    null,
    h('p', { class: 'notice warn', role: 'status' }, inWords(counts, documents)),
    documents === 0
      ? h('input', { type: 'hidden', name: fieldName, value: id })
      : h(Field, {
          label: `Type ${id} to confirm`,
          name: fieldName,
          required: true,
          autocapitalize: 'none',
          defaultValue: '',
        }),
  )
}

function inWords(counts: DocumentCounts, documents: number | null): string {
  if (counts === 'loading') return 'Counting its documents …'
  if (documents === null) return 'The number of documents is not known: the search index is not responding.'
  if (documents === 0) return 'This dataset has no documents in the search index.'
  return `${counted(documents, 'document')} will be erased for good.`
}

/** Throws unless the ID was typed. */
export function requireConfirmation(id: string, fields: FormData): void {
  if (String(fields.get(fieldName)).trim() !== id) throw new Error(`Type ${id} exactly to confirm.`)
}
