/**
 * The one word for each thing a caller can do: in usage counters, metrics, logs and as operationId in OpenAPI.
 * A route without one of these does not start.
 */
export const operations = [
  'account.read',
  'documents.read',
  'documents.content',
  'documents.versions',
  'documents.snapshots',
  'documents.batchGet',
  'documents.browse',
  'users.read',
  'users.documents',
  'classifications.list',
  'changes.read',
  'collector.documents',
  'admin.datasets.put',
  'admin.datasets.list',
  'admin.classifications.put',
  'admin.classifications.list',
  'admin.profiles.put',
  'admin.profiles.list',
  'admin.applications.create',
  'admin.applications.list',
  'admin.applications.read',
  'admin.applications.update',
  'admin.entitlements.put',
  'admin.keys.create',
  'admin.keys.list',
  'admin.keys.listAll',
  'admin.keys.revoke',
  'admin.keys.rotate',
  'admin.collectors.create',
  'admin.collectors.list',
  'admin.usage.read',
  'admin.audit.list',
  'metrics.read',
  'pages.landing',
  'pages.docs',
  'pages.asset',
  'openapi.read',
  'health.live',
  'health.ready',
] as const
export type Operation = (typeof operations)[number]

/** Operations with a daily quota, and the name the quota has in a policy. */
export const quotaOperations = {
  'search.default': 'search',
  'search.history': 'search_history',
  'search.keyword': 'search_keyword',
  'search.vector': 'search_vector',
  'search.hybrid': 'search_hybrid',
  'changes.read': 'changes',
} as const
