import { connectAlone } from './connections.ts'

/** Where something of a document has been. */
const tables = [
  'document',
  'document_version',
  'document_term',
  'snapshot',
  'fact_set',
  'chunk',
  'chunk_vector',
  'text_chunk',
  'pending_vector',
  'refused_vector',
  'live_item',
  'erasure',
]

/**
 * Frees the rows that were deleted, in tables and indexes, as far as no transaction elsewhere still sees them. A user who
 * may not is told so by a warning of the database, and its own vacuum does it later.
 */
export async function vacuum(url: string): Promise<void> {
  const client = await connectAlone(url)
  try {
    await client.query('set statement_timeout = 0')
    await client.query(`vacuum ${tables.join(', ')}`)
  } finally {
    await client.end()
  }
}
