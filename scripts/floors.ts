/**
 * The folders of src, from the ground up: a folder may import itself and the floors below it, but not the other folders
 * of its floor. docs/architecture.md draws them.
 */
export const floors: readonly (readonly string[])[] = [
  ['platform'],
  ['settings', 'document'],
  ['text', 'fair-queue', 'threads', 'outbound'],
  ['access'],
  ['http'],
  ['account', 'operator', 'ingest', 'changes', 'embedding', 'analysis', 'feeds', 'mirror', 'mcp'],
  ['catalog', 'live'],
  ['search', 'export'],
  ['indexing'],
  ['worker', 'storage', 'tracing'],
  ['compose'],
  ['cli'],
  ['main'],
]
