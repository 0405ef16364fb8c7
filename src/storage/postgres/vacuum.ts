import { connectAlone } from './connections.ts'

/** The tables whose deleted rows can contain parts of a document, or what an erasure selected. */
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
 * Frees deleted rows in tables and indexes, except those that another transaction can still see. Without the
 * permission, the database only gives a warning, and autovacuum does it later.
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
