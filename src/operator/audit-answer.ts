import type { Static } from 'typebox'
import { formatTime } from '../platform/time.ts'
import type { AuditLine } from './operator-store.ts'
import type { AuditAnswer } from './schemas.ts'

/**
 * Stored entries have the internal field names and times. This function converts entries of every version to those of
 * the API.
 */
export const auditAnswer = (line: AuditLine): Static<typeof AuditAnswer> => ({
  audit_id: line.auditId,
  at: formatTime(line.at),
  actor: line.actor,
  action: actionOf(line),
  target: line.target,
  detail: detailOf(line.detail),
})

/** Admin tokens are stored with the keys. */
const actionOf = ({ action, target }: AuditLine): string =>
  target.startsWith('tok_') ? action.replace(/^key\./, 'admin_token.') : action

const detailOf = (detail: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(detail).map(([name, value]) => [snakeCase(name), inApiForm(name, value)]))

function inApiForm(name: string, value: unknown): unknown {
  // The operator wrote this JSON, so its field names are kept.
  if (name === 'labelSchema') return value
  // `by` names the field by which an erasure selects documents.
  if (name === 'by' && typeof value === 'string') return snakeCase(value)
  if (name.endsWith('At') && typeof value === 'number') return formatTime(value)
  if (Array.isArray(value)) return value.map((one) => inApiForm('', one))
  return typeof value === 'object' && value !== null ? detailOf(value as Record<string, unknown>) : value
}

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
