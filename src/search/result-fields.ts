import type { FieldPermission } from '../access/scope.ts'
import { columnPermissions } from './column-permissions.ts'

/** The descriptive fields of a result that a request can choose among. */
export const resultFields = [
  'title',
  'body',
  'content_type',
  'language',
  'published_at',
  'status',
  'url',
  'external_id',
  'region',
  'author',
  'topics',
  'tags',
] as const
export type ResultField = (typeof resultFields)[number]

/** Which permissions open a field of a result: any one of them. The others come with every document. */
export const openedBy: Partial<Record<ResultField, readonly FieldPermission[]>> = {
  title: ['title'],
  body: ['body'],
  author: columnPermissions.author,
  topics: columnPermissions.topics,
  tags: columnPermissions.tags,
}
