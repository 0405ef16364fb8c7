/**
 * The layers of folders in src, lowest first. A folder may import itself and the layers below it, but not the other
 * folders of its layer. docs/architecture.md draws them.
 */
export const layers: readonly (readonly string[])[] = [
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
