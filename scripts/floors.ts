/**
 * The places of src, from the ground up: a place knows itself and the floors below it, and places of one floor do not
 * know each other. docs/architecture.md draws them.
 */
export const floors: readonly (readonly string[])[] = [
  ['small rules'],
  ['text', 'turns', 'threads', 'outbound'],
  ['access'],
  ['http'],
  ['account', 'operator', 'ingest', 'changes', 'embedding', 'analysis', 'feeds', 'mirror', 'mcp'],
  ['catalog', 'live'],
  ['search', 'export'],
  ['worker', 'storage'],
  ['compose'],
  ['cli'],
  ['main'],
]
