import { connectAlone } from './connections.ts'

/** The tables that held parts of a document. */
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
 * Frees deleted rows in tables and indexes, except those that a transaction elsewhere still sees. If the user lacks the
 * permission, the database gives a warning, and autovacuum does it later.
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
